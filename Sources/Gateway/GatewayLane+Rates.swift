import ChatModel
import EventLoop
import RoomLink
import SessionCore
import Synchronization
import Wire

/// What a request has cost that a room has not answered yet.
struct OpenCost {
    var cost: RateCost
    /// It was beyond the rate, and goes to the room as a question: whether that has been answered already. The wait that
    /// the client is told if not, in milliseconds.
    var overRateMs: Int64?
}

/// How often and how much sessions ask (contract, "Rates"): counted for each session, and for all sessions of a user,
/// three times that. Both go along when a session moves, within the node and to another one, so a takeover brings no new
/// allowance. What a user's sessions ask for at other nodes counts here when those tell it, once a second.
///
/// A repeat of what has been answered costs nothing, and only the room knows that it is one: what was taken comes back
/// with the answer, and when nothing is left to be taken the room is asked all the same, but answers repeats only
/// (`RoomCall.overRateMs`). That needs no memory here, and so holds for repeats over another connection, lane, node or
/// leader; it has a rate of its own, because asking costs the leader a look into a table.
///
/// A COMBINE takes the most that it may copy, and its answer says how much that was (`RoomOutput.reply`, `charged`); the
/// rest comes back. Without an answer nothing does: a room may have read it all.
extension GatewayLane {
    /// Takes what the operation costs. Throws 416 when that is not there.
    func pay(for operation: ClientOperation, _ session: Session) throws(ChatError) -> OpenCost? {
        let cost: RateCost
        let row = operation.row
        switch row.rate {
        // Never refused for rate: a connection is only read so fast.
        case .barrage: return nil
        case .read: cost = .read
        case .change:
            cost = .change(bytes: row.contentBytes, copies: operation.namesMessages ? Limits.pageBytes : 0)
        }
        guard let wait = take(cost, session) else { return OpenCost(cost: cost) }
        guard row.clientID != nil, take(.isRepeat, session) == nil else { throw Self.tooOften(wait) }
        return OpenCost(cost: .isRepeat, overRateMs: wait)
    }

    static func tooOften(_ wait: Int64) -> ChatError {
        ChatError(.tooOften, "too many requests, wait \(wait) ms", retryAfterMs: wait)
    }

    private func take(_ cost: RateCost, _ session: Session) -> Int64? {
        let (user, now) = (session.state.caller.user, loop.nowMilliseconds)
        return shared.userRates.withLock { $0.take(cost, of: user, and: &session.rates, nowMilliseconds: now) }
    }

    /// A room has answered a request, or nobody waits for the answer any more.
    /// - Parameters:
    ///   - isRepeat: it had been answered before, and costs nothing.
    ///   - charged: bytes that it has brought along besides its own, or that were read in vain.
    func settleCost(of request: UInt32, _ id: SessionID, isRepeat: Bool, charged: Int = 0) {
        guard let session = sessions[id] else { return }
        let open = session.costs.removeValue(forKey: request)
        if session.costs.isEmpty { session.costs = [:] }
        // It may have been asked on another lane, which has reckoned with the most.
        guard let open else { return }
        if isRepeat {
            let (user, now) = (session.state.caller.user, loop.nowMilliseconds)
            shared.userRates.withLock {
                $0.giveBack(open.cost, to: user, and: &session.rates, nowMilliseconds: now)
            }
        } else {
            settle(open.cost, of: session, copied: charged)
        }
    }

    /// It is known how many bytes a request has copied, or that nobody will say.
    func settle(_ cost: RateCost, of session: Session, copied: Int) {
        guard case .change(_, 1...) = cost else { return }
        let (user, now) = (session.state.caller.user, loop.nowMilliseconds)
        shared.userRates.withLock {
            $0.settle(cost, copied: copied, of: user, and: &session.rates, nowMilliseconds: now)
        }
    }

    /// The session goes elsewhere, where nobody will hear what its open changes bring along: the most that they may.
    func settleOpenCosts(of session: Session) {
        for open in session.costs.values { settle(open.cost, of: session, copied: .max) }
        session.costs = [:]
        session.state.rates = session.rates
    }

    /// What a session that is taken up here has left, and its user.
    func rates(of state: SessionState) -> Rates {
        let now = loop.nowMilliseconds
        var rates = state.rates ?? Rates(configuration.rateLimits, nowMilliseconds: now)
        guard let levels = state.handedLevels else { return rates }
        rates.restrict(to: levels.session)
        if let userLevels = levels.user {
            shared.userRates.withLock {
                $0.change(state.caller.user, nowMilliseconds: now) { $0.restrict(to: userLevels) }
            }
        }
        return rates
    }

    /// Once a second: the other nodes hear who has asked for much here. Who that is, is found off the loop.
    func tellUses() {
        let now = loop.nowMilliseconds
        guard let uses = shared.userRates.withLock({ $0.takeUses(nowMilliseconds: now) }) else { return }
        let router = shared.router
        Task {
            let told = uses.noteworthy
            if !told.isEmpty { router.tell(told) }
        }
    }

    /// Once a second: users who have asked for nothing for a while are forgotten, off the loop.
    func forgetIdleUsers() {
        let now = loop.nowMilliseconds
        let forgotten = shared.userRates.withLock { $0.turn(nowMilliseconds: now) }
        if !forgotten.isEmpty { Task { _ = forgotten.count } }
    }
}
