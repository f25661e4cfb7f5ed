import ChatModel
import RoomCore
import RoomProtocol

/// One room's barrage on one lane: the first level of its sampling, and what waits to be shown to its own senders with
/// the sample that it is not in.
final class BarrageIntake {
    var sieve: BarrageSieve
    /// The caller that a window names: any session that has sent something in it.
    var caller: (address: SessionAddress, caller: Caller)?
    /// A timer is set for the end of the window.
    var isScheduled = false
    /// The lane looks at it once a second, because the leader has not answered something.
    var isAwaited = false
    private var echoes: [SessionID: BarrageEchoes] = [:]

    init(perSecond: Int, highPerSecond: Int) {
        sieve = BarrageSieve(perSecond: perSecond, highPerSecond: highPerSecond)
    }

    /// Equal texts of a session are one item. Items without room stay among those that the session is told it was
    /// spared.
    func echo(_ item: BarrageItem, to session: SessionID) { echoes[session, default: BarrageEchoes()].add(item) }

    func takeEchoes() -> [SessionID: [BarrageItem]] {
        guard !echoes.isEmpty else { return [:] }
        defer { echoes = [:] }
        return echoes.mapValues(\.items)
    }
}
