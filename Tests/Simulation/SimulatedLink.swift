import RoomLink

/// The connection between two nodes, over which calls and publications go: ordered and without loss while it lasts; its
/// end comes at both sides, not at the same time, and what was under way is lost with it. As `LinkCore` has it.
final class SimulatedLink {
    enum Message {
        case calls([RoomCall])
        /// What comes on the lane for publications, and what belongs to it.
        case node(NodeMessage)
    }

    /// Counts the connections; what belongs to an earlier one is void.
    private(set) var number = 0
    /// The ends that hold the connection for up, as places in the simulation's list of nodes.
    var ends: Set<Int> = []
    /// How often in a row nothing came through.
    var silentChecks = 0
    /// By receiver: what is under way, oldest first, and when the last of it arrives.
    private var underWay: [Int: [Message]] = [:]
    private var lastArrival: [Int: Duration] = [:]

    /// Both ends find each other.
    func begin(_ a: Int, _ b: Int) {
        number += 1
        ends = [a, b]
        silentChecks = 0
        underWay = [:]
        lastArrival = [:]
    }

    /// Puts a message behind the others. Returns when it arrives.
    func put(_ message: Message, to receiver: Int, at time: Duration) -> Duration {
        underWay[receiver, default: []].append(message)
        let arrival = max(time, lastArrival[receiver] ?? .zero)
        lastArrival[receiver] = arrival
        return arrival
    }

    /// The next one that arrives.
    func take(to receiver: Int) -> Message? {
        guard let next = underWay[receiver]?.first else { return nil }
        underWay[receiver]?.removeFirst()
        return next
    }

    func countUnderWay(to receiver: Int) -> Int { underWay[receiver]?.count ?? 0 }
}
