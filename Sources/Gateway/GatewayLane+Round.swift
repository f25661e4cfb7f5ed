import EventLoop
import SessionCore
import Telemetry

/// Once a second the connections for which bytes wait are looked at, a share per turn: how much that is, and of how many.
/// So sending and receiving count nothing, and connections for which nothing waits are not looked at.
extension GatewayLane {
    /// A look at all of them.
    struct Round {
        /// Connections that have not been looked at.
        fileprivate var connections: ContiguousArray<ClientConnection> = []
        fileprivate var queueBytes = 0
        fileprivate var slowSessions = 0
        /// The numbers that were last shown.
        fileprivate var shownQueueBytes = 0
        fileprivate var shownSlowSessions = 0
        fileprivate var isUnderWay = false

        init() {}
    }

    /// How many looks there are between two readings of the clock.
    private static let looksAtATime = 64

    /// Does nothing while a round is under way.
    func beginRound() {
        listening.tick(nowMilliseconds: loop.nowMilliseconds)
        assertAllIsPlanned()
        guard !round.isUnderWay else { return }
        endHandOvers(at: loop.nowMilliseconds)
        publishUses()
        forgetIdleUsers()
        guard !waiting.isEmpty || round.shownQueueBytes != 0 || round.shownSlowSessions != 0 else { return }
        round.isUnderWay = true
        (round.connections, waiting) = (waiting, [])
        (round.queueBytes, round.slowSessions) = (0, 0)
        loop.executeLater { [unowned self] in continueRound() }
    }

    private func continueRound() {
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        repeat {
            for _ in 0..<Self.looksAtATime {
                guard let connection = round.connections.popLast() else { return endRound() }
                look(at: connection)
            }
        } while EventLoop.nowNanoseconds < end
        loop.executeLater { [unowned self] in continueRound() }
    }

    private func endRound() {
        shared.figures.queueBytes.add(round.queueBytes - round.shownQueueBytes)
        shared.figures.slowSessions.add(round.slowSessions - round.shownSlowSessions)
        (round.shownQueueBytes, round.shownSlowSessions) = (round.queueBytes, round.slowSessions)
        round.isUnderWay = false
    }

    private func look(at connection: ClientConnection) {
        connection.count()
        guard connection.staysWaiting() else { return }
        waiting.append(connection)
        let waitingBytes = connection.waitingBytes
        round.queueBytes += waitingBytes
        // A connection that has lost something gets nothing more of rooms, so its queue is nearly empty.
        let hasLost = connection.session?.state.losses.isEmpty == false
        if hasLost || waitingBytes > configuration.sendQueueBytesMax / 2 { round.slowSessions += 1 }
    }
}
