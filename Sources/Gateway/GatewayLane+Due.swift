import ChatModel
import EventLoop
import SessionCore

/// Connections, tokens and graces are looked at when something is due (``LaneAgenda``), a share per turn. A lane where
/// nothing is due does nothing, however many clients it has.
extension GatewayLane {
    /// How many looks there are between two readings of the clock.
    private static let looksAtATime = 64

    /// Ten times a second. Does nothing while a look is under way.
    func lookAtDue() {
        guard !isLookingAtDue else { return }
        isLookingAtDue = true
        continueLooking()
    }

    private func continueLooking() {
        let now = moment
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        repeat {
            for _ in 0..<Self.looksAtATime {
                guard let step = agenda.next(at: now) else {
                    isLookingAtDue = false
                    return
                }
                look(step, now)
            }
        } while EventLoop.nowNanoseconds < end
        loop.executeLater { [unowned self] in continueLooking() }
    }

    private func look(_ step: LaneAgenda.Step, _ now: LaneAgenda.Moment) {
        switch step {
        case .connection(let number):
            guard let connection = connections[number] else { return }
            look(at: connection, now)
            plan(connection, notBefore: now.milliseconds + LaneAgenda.againMilliseconds, now)
        case .token(let number):
            guard let connection = connections[number], let session = connection.session else { return }
            perform(session.state.onTick(at: now.time), of: session)
            let again = now.time.adding(milliseconds: Int64(LaneAgenda.againMilliseconds))
            planToken(of: connection, notBefore: again, now)
        case .grace(let id):
            guard let session = sessions[id] else { return }
            if session.state.hasOutlivedGrace(ofMilliseconds: graceMilliseconds, nowMilliseconds: now.milliseconds) {
                end(session)
            } else {
                planGrace(of: session, notBefore: now.milliseconds + LaneAgenda.againMilliseconds, now)
            }
        case .moved: break
        }
    }

    private func look(at connection: ClientConnection, _ now: LaneAgenda.Moment) {
        switch connection.phase {
        case .handshake, .answering, .open: break
        case .draining(let deadline):
            if now.milliseconds >= deadline { connection.cut() }
            return
        case .transferring, .closing, .gone: return
        }
        if let deadline = connection.connectDeadlineMilliseconds {
            if now.milliseconds >= deadline { connection.close(.silent, "no connect in time") }
            return
        }
        switch connection.heartbeat.look(nowMilliseconds: now.milliseconds, listening) {
        case .none: break
        case .ping: connection.ping()
        case .drop: return connection.close(.silent, "nothing heard for too long")
        }
    }

    // MARK: - Plans

    var moment: LaneAgenda.Moment { LaneAgenda.Moment(milliseconds: loop.nowMilliseconds, time: shared.now()) }
    private var graceMilliseconds: UInt64 { UInt64(configuration.graceSeconds) * 1000 }

    /// Something of the connection may be due earlier than before.
    func plan(_ connection: ClientConnection) { plan(connection, notBefore: 0, moment) }

    private func plan(_ connection: ClientConnection, notBefore: UInt64, _ now: LaneAgenda.Moment) {
        guard let due = due(of: connection, at: now.milliseconds) else { return }
        agenda.plan(connection.number, at: max(due, notBefore), now: now)
    }

    /// When the connection has to be looked at next, in loop time; nil: never, as it is.
    private func due(of connection: ClientConnection, at now: UInt64) -> UInt64? {
        switch connection.phase {
        case .handshake, .answering, .open:
            connection.connectDeadlineMilliseconds ?? connection.heartbeat.due(nowMilliseconds: now, listening)
        case .draining(let deadline): deadline
        case .transferring, .closing, .gone: nil
        }
    }

    /// The session has another token, or another connection.
    func planToken(of connection: ClientConnection) {
        planToken(of: connection, notBefore: Timestamp(.min), moment)
    }

    private func planToken(of connection: ClientConnection, notBefore: Timestamp, _ now: LaneAgenda.Moment) {
        guard let due = connection.session?.state.nextTick(after: now.time) else { return }
        agenda.planToken(of: connection.number, at: max(due, notBefore), now: now)
    }

    /// The grace of the session has begun.
    func planGrace(of session: LaneSession) { planGrace(of: session, notBefore: 0, moment) }

    private func planGrace(of session: LaneSession, notBefore: UInt64, _ now: LaneAgenda.Moment) {
        guard case .away(let since) = session.state.presence else { return }
        agenda.planEnd(ofGraceOf: session.id, at: max(since + graceMilliseconds, notBefore), now: now)
    }

    // MARK: - Assertions

    /// Something could be due where nobody has planned it. So debug builds look at everything once a second.
    func assertAllIsPlanned() {
        assert(unplanned() == nil, "\(unplanned() ?? "") is due and not planned")
    }

    /// The first thing that is due earlier than it is looked at; nil: nothing.
    func unplanned() -> String? {
        let now = moment
        // A look may be put off by so much, and clocks drift apart.
        let again = Int64(2 * LaneAgenda.againMilliseconds)
        let soon = now.milliseconds + UInt64(again)
        for (number, connection) in connections {
            if let due = due(of: connection, at: now.milliseconds),
                !agenda.hasPlanned(number, by: max(due, soon))
            {
                return "connection \(number)"
            }
            if let due = connection.session?.state.nextTick(after: now.time),
                !agenda.hasPlannedToken(of: number, by: max(due, now.time.adding(milliseconds: again)))
            {
                return "the token of connection \(number)"
            }
        }
        for (id, session) in sessions {
            guard case .away(let since) = session.state.presence else { continue }
            let due = max(since + graceMilliseconds, soon)
            if !agenda.hasPlannedEnd(ofGraceOf: id, by: due) { return "the grace of session \(id)" }
        }
        return nil
    }
}
