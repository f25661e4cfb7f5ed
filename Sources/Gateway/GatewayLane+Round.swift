import ChatModel
import EventLoop
import SessionCore
import Telemetry

/// Once a second all connections and sessions of the lane are looked at, a share per turn: whose time is over, and how
/// much waits. So sending and receiving count nothing.
extension GatewayLane {
    /// A look at everything.
    struct Round {
        /// Those that have not been looked at. Their numbers: to touch each of them now would take a while, too.
        fileprivate var connections: [UInt64] = []
        fileprivate var sessions: [SessionID] = []
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
        guard !round.isUnderWay else { return }
        round.isUnderWay = true
        round.connections = Array(connections.keys)
        round.sessions = Array(sessions.keys)
        (round.queueBytes, round.slowSessions) = (0, 0)
        endHandOvers(at: loop.nowMilliseconds)
        tellUses()
        forgetIdleUsers()
        loop.executeLater { [unowned self] in goOnWithRound() }
    }

    private func goOnWithRound() {
        let (now, time) = (loop.nowMilliseconds, shared.now())
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        repeat {
            for _ in 0..<Self.looksAtATime {
                // It may have gone since the round began.
                if let number = round.connections.popLast() {
                    if let connection = connections[number] { look(at: connection, now, time) }
                } else if let id = round.sessions.popLast() {
                    if let session = sessions[id] { look(at: session, now) }
                } else {
                    return endRound()
                }
            }
        } while EventLoop.nowNanoseconds < end
        loop.executeLater { [unowned self] in goOnWithRound() }
    }

    private func endRound() {
        shared.figures.queueBytes.add(round.queueBytes - round.shownQueueBytes)
        shared.figures.slowSessions.add(round.slowSessions - round.shownSlowSessions)
        (round.shownQueueBytes, round.shownSlowSessions) = (round.queueBytes, round.slowSessions)
        round.isUnderWay = false
    }

    private func look(at connection: ClientConnection, _ now: UInt64, _ time: Timestamp) {
        connection.count()
        let waitingBytes = connection.waitingBytes
        round.queueBytes += waitingBytes
        if waitingBytes > configuration.sendQueueBytesMax / 2 { round.slowSessions += 1 }
        switch connection.phase {
        case .handshake, .answering, .open: break
        case .transferring: return
        case .draining(let deadline):
            if now >= deadline { connection.cut() }
            return
        case .closing, .gone: return
        }
        if let deadline = connection.connectDeadlineMilliseconds {
            if now >= deadline { connection.close(.silent, "no connect in time") }
            return
        }
        switch connection.heartbeat.tick(nowMilliseconds: now) {
        case .none: break
        case .ping: connection.ping()
        case .drop: return connection.close(.silent, "nothing heard for too long")
        }
        if let session = connection.session { perform(session.state.onTick(at: time), of: session) }
    }

    private func look(at session: LaneSession, _ now: UInt64) {
        let grace = UInt64(configuration.graceSeconds) * 1000
        if session.state.hasOutlivedGrace(ofMilliseconds: grace, nowMilliseconds: now) { end(session) }
    }
}
