import ChatModel
import EventLoop
import HTTPWebSocket
import RoomProtocol
import SessionCore
import Synchronization

/// The calls of the demo on the client port.
extension GatewayLane {
    /// - Returns: false when the request is for something else.
    func answerDemo(_ request: UpgradeRequest, _ connection: ClientConnection) -> Bool {
        guard request.path == DemoDoor.path || request.path == DemoDoor.killPath else { return false }
        guard DemoDoor(configuration).admits(request, scheme: shared.tls == nil ? "http" : "https") else {
            connection.refuseHandshake(DemoAnswer.bytes(of: ChatError(.notFound, "there is no demo here")))
            return true
        }
        guard let demo = shared.demo.withLock({ $0 }) else {
            let refusal = ChatError(.unavailable, "this node is still starting", retryAfterMs: 1000)
            connection.refuseHandshake(DemoAnswer.bytes(of: refusal))
            return true
        }
        if let wait = shared.demoCalls.withLock({ $0.take(nowMilliseconds: loop.nowMilliseconds) }) {
            let refusal = ChatError(.tooOften, "the demo is asked too often", retryAfterMs: wait)
            connection.refuseHandshake(DemoAnswer.bytes(of: refusal))
            return true
        }
        connection.phase = .answering
        let me = LoopBound(onLoop: self, loop: loop)
        let number = connection.number
        Task {
            let response = await DemoAnswer.bytes(to: request, of: demo)
            me.loop.execute { me.value.answered(response, to: number) }
        }
        return true
    }

    private func answered(_ response: [UInt8], to number: UInt64) {
        // It may have ended meanwhile.
        guard let connection = connections[number], case .answering = connection.phase else { return }
        connection.refuseHandshake(response)
    }
}
