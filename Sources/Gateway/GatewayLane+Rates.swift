import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import Synchronization
import Wire

/// The cost of requests (``Session``), where it concerns the rates that all sessions of a user share.
extension GatewayLane {
    /// Takes what the operation costs. Throws 416 when that is not there.
    @discardableResult
    func pay(for operation: ClientOperation, _ session: LaneSession) throws(ChatError) -> OpenCost {
        let now = loop.nowMilliseconds
        let result: Result<OpenCost, ChatError> = shared.userRates.withLock { users in
            do throws(ChatError) {
                return .success(try session.state.pay(for: operation, users: &users, nowMilliseconds: now))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// A room has answered a request, or nobody waits for the answer any more.
    /// - Parameters:
    ///   - isRepeat: it had been answered before, and costs nothing.
    ///   - charged: bytes that it has brought along besides its own, or that were read in vain.
    func settleCost(of request: UInt32, _ id: SessionID, isRepeat: Bool, charged: Int = 0) {
        guard let session = sessions[id],
            let settlement = session.state.takeCost(of: request, isRepeat: isRepeat, charged: charged)
        else { return }
        let now = loop.nowMilliseconds
        shared.userRates.withLock { session.state.settle(settlement, users: &$0, nowMilliseconds: now) }
    }

    /// Once a second: the other nodes hear who has asked for much here. The users are found off the loop.
    func publishUses() {
        let now = loop.nowMilliseconds
        guard let uses = shared.userRates.withLock({ $0.takeUses(nowMilliseconds: now) }) else { return }
        let router = shared.router
        Task {
            let told = uses.noteworthy
            if !told.isEmpty { router.notify(told) }
        }
    }

    /// Once a second: users who have asked for nothing for a while are forgotten, off the loop.
    func forgetIdleUsers() {
        let now = loop.nowMilliseconds
        let forgotten = shared.userRates.withLock { $0.turn(nowMilliseconds: now) }
        if !forgotten.isEmpty { Task { _ = forgotten.count } }
    }
}
