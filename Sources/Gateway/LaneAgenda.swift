import ChatModel
import EventLoop

/// When each connection of a lane, each token, and each session whose client is away has to be looked at next. So the lane
/// need not look at all of them, and one where nothing happens costs nothing.
///
/// Nothing is moved when bytes come: a look that comes too early finds out when the next one is due.
struct LaneAgenda {
    /// The result of a step.
    enum Step: Hashable {
        case connection(UInt64)
        /// The token of the session of this connection.
        case token(UInt64)
        /// The grace of a session.
        case grace(SessionID)
        /// Nothing is due, and there is more to go through.
        case moved
    }

    /// Both clocks, as of one moment.
    struct Moment {
        /// Loop time.
        var milliseconds: UInt64
        var time: Timestamp
    }

    /// A look that finds the same still due, such as a connection that is being cut off, is not repeated earlier.
    static let againMilliseconds: UInt64 = 1_000

    private var connections = TimerWheel<UInt64>()
    private var graces = TimerWheel<SessionID>()
    /// By the wall clock, which may be set.
    private var tokens = TimerWheel<UInt64>()

    // MARK: - Plans

    /// Plans a look at a connection, at the latest when it is due.
    mutating func plan(_ connection: UInt64, at due: UInt64, now: Moment) {
        connections.hasten(connection, to: Int64(clamping: due), now: Int64(clamping: now.milliseconds))
    }

    mutating func planToken(of connection: UInt64, at due: Timestamp, now: Moment) {
        tokens.hasten(connection, to: due.milliseconds, now: now.time.milliseconds)
    }

    mutating func planEnd(ofGraceOf session: SessionID, at due: UInt64, now: Moment) {
        graces.hasten(session, to: Int64(clamping: due), now: Int64(clamping: now.milliseconds))
    }

    /// The connection has gone.
    mutating func forget(_ connection: UInt64) {
        connections.remove(connection)
        tokens.remove(connection)
    }

    /// The session has gone, or is away no more.
    mutating func forget(_ session: SessionID) { graces.remove(session) }

    // MARK: - Steps

    /// Takes one step towards what is due; nil when nothing is left.
    mutating func next(at now: Moment) -> Step? {
        let milliseconds = Int64(clamping: now.milliseconds)
        if let step = connections.next(at: milliseconds) {
            if case .due(let connection) = step { return .connection(connection) }
            return .moved
        }
        if let step = tokens.next(at: now.time.milliseconds) {
            if case .due(let connection) = step { return .token(connection) }
            return .moved
        }
        guard let step = graces.next(at: milliseconds) else { return nil }
        if case .due(let session) = step { return .grace(session) }
        return .moved
    }

    // MARK: - Questions of assertions

    func hasPlanned(_ connection: UInt64, by due: UInt64) -> Bool {
        connections.lies(connection, notAfter: Int64(clamping: due))
    }

    func hasPlannedToken(of connection: UInt64, by due: Timestamp) -> Bool {
        tokens.lies(connection, notAfter: due.milliseconds)
    }

    func hasPlannedEnd(ofGraceOf session: SessionID, by due: UInt64) -> Bool {
        graces.lies(session, notAfter: Int64(clamping: due))
    }
}
