import ChatModel

@testable import RoomCore

/// Held messages, once more: see `NaiveRoom`.
extension NaiveRoom {
    struct Held {
        var id: String
        /// Nil for the app server.
        var user: UserID?
        /// The sender that it shows.
        var from: UserID?
        var key: UInt64?
        var until: Int64
        var isAllowedThen: Bool
    }

    struct Denial: Equatable {
        var id: String
        var user: UserID?
        var time: Int64
        /// The room's last seq when it was denied: whoever has been shown more has heard of it.
        var after: UInt64
        var reason: String?
    }

    mutating func hold(_ one: Held) {
        held.append(one)
        heldIDs.insert(one.id)
        guard facts.hasWebhook, case .held(_, let index)? = MessageID.parse(one.id) else { return }
        owed.append(index)
    }

    mutating func decideHeld(_ id: String, _ decision: HeldDecision, _ actor: Actor, _ now: Int64) -> Answer {
        guard isManager(actor) else { return Answer(code: .forbidden) }
        guard let one = held.first(where: { $0.id == id }) else { return unknown(id) }
        if decision.isAllowed {
            allow(one, now)
            return Answer(posts: 1)
        }
        return deny(decision.reason, behind: [], now) { $0.id == id }
    }

    mutating func withdrawHeld(_ id: String, _ actor: Actor, _ now: Int64) -> Answer {
        guard let one = held.first(where: { $0.id == id }) else { return unknown(id) }
        if case .member(let user, _, _) = actor, user != one.user {
            guard rank(actor) >= 1, let sender = one.from, mayActOn(sender, actor) else {
                return Answer(code: .forbidden)
            }
        }
        return deny(.withdrawn, behind: [], now) { $0.id == id }
    }

    private func unknown(_ id: String) -> Answer { Answer(code: heldIDs.contains(id) ? .conflict : .notFound) }

    /// The setting of its send decides about each message whose time is over, in the order of those times.
    mutating func expireHeld(behind events: [EventCode], _ now: Int64) -> Answer {
        var answer = Answer(events: events)
        for one in held.filter({ $0.until <= now }).sorted(by: { $0.until < $1.until }) {
            if one.isAllowedThen {
                allow(one, now)
                answer.posts += 1
            } else {
                answer.denials += deny(.expired, behind: events, now) { $0.id == one.id }.denials
            }
        }
        return answer
    }

    /// A user who may not speak any more gets nothing through.
    mutating func silence(_ user: UserID, _ reason: DenialReason, _ events: [EventCode], _ now: Int64) -> Answer {
        deny(reason, behind: events, now) { $0.user == user }
    }

    mutating func deny(
        _ reason: DenialReason, behind events: [EventCode], _ now: Int64, where isMeant: (Held) -> Bool
    ) -> Answer { deny(reason.rawValue, behind: events, now, where: isMeant) }

    /// - Parameter events: what the command tells before.
    private mutating func deny(
        _ reason: String?, behind events: [EventCode], _ now: Int64, where isMeant: (Held) -> Bool
    ) -> Answer {
        let ended = held.filter(isMeant)
        held.removeAll(where: isMeant)
        let denials = ended.map { one in
            Denial(id: one.id, user: one.user, time: now, after: seq + UInt64(events.count), reason: reason)
        }
        for one in ended {
            if let key = one.key { memory[key] = (now, false, true) }
        }
        denied += denials
        return Answer(events: events, denials: denials)
    }

    private mutating func allow(_ one: Held, _ now: Int64) {
        held.removeAll { $0.id == one.id }
        if let key = one.key { memory[key] = (now, true, false) }
        seq += 1
    }
}
