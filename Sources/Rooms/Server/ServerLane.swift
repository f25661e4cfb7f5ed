import ChatModel
import EventLoop
import RoomProtocol
import ShardPlacement

/// Calls of the server API that wait on one loop: asked where the room is led, and again where it is led then, exactly
/// as the requests of sessions are (`OpenRequests`).
final class ServerLane {
    private let node: NodeID
    private let number: Int
    private let loop: EventLoop
    private let shardMap: ShardMap
    private let router: any RoomRouter
    private var open = OpenRequests()
    private var completions: [UInt32: Completion] = [:]
    private var lastNumber: UInt32 = 0
    /// Requests of this turn.
    private var asked: [RoomRequest] = []

    /// Called exactly once, on the lane's loop.
    typealias Completion = @Sendable (Result<RoomAnswer, ChatError>) -> Void

    init(node: NodeID, number: Int, loop: EventLoop, shardMap: ShardMap, router: any RoomRouter) {
        self.node = node
        self.number = number
        self.loop = loop
        self.shardMap = shardMap
        self.router = router
    }

    /// Begins to take part in the loop's turns.
    func start() {
        loop.addTurnEnd(.route) { [unowned self] in route() }
        loop.every(milliseconds: 100) { [unowned self] in onTick() }
    }

    /// Nobody will answer any more.
    func stop() {
        for completion in completions.values { completion(.failure(Self.unavailable("the node is stopping"))) }
        completions = [:]
    }

    // MARK: - Asking

    func ask(_ room: RoomID, _ body: RoomRequest.Body, _ completion: @escaping Completion) {
        repeat { lastNumber &+= 1 } while lastNumber == 0 || completions[lastNumber] != nil
        completions[lastNumber] = completion
        let origin = ServerOrigin(node: node, lane: number, request: lastNumber)
        asked.append(RoomRequest(room: room, from: .server(origin), body))
    }

    private func route() {
        guard !asked.isEmpty else { return }
        let requests = asked
        asked = []
        var byNode: [NodeID: [RoomRequest]] = [:]
        for request in requests {
            switch open.add(request, of: shardMap.shard(of: request.room), at: loop.nowMilliseconds) {
            case .ask(let node): byNode[node, default: []].append(request)
            case .held: break
            case .refused: end(request, .failure(Self.unavailable("too many requests are waiting")))
            }
        }
        for (node, requests) in byNode { router.route(requests, to: node, from: number) }
    }

    private func ask(again requests: [RoomRequest], of node: NodeID) {
        if !requests.isEmpty { router.route(requests, to: node, from: number) }
    }

    /// Ten times a second: what no leader was found for in time ends, and what has no answer is asked once more.
    private func onTick() {
        let now = loop.nowMilliseconds
        for request in open.expire(at: now) {
            end(request, .failure(Self.unavailable("the room has no leader at the moment")))
        }
        for (node, request) in open.unanswered(at: now) { router.route([request], to: node, from: number) }
    }

    // MARK: - Answers

    func hear(_ answers: [ServerAnswer], from node: NodeID) {
        for answer in answers where answer.lane == number {
            switch answer.outcome {
            case .retry: open.refused(.server, answer.request, by: node, at: loop.nowMilliseconds)
            case .answered(let result):
                guard open.answered(.server, answer.request) else { continue }
                completions.removeValue(forKey: answer.request)?(result)
            }
        }
    }

    private func end(_ request: RoomRequest, _ result: Result<RoomAnswer, ChatError>) {
        guard let number = request.number else { return }
        completions.removeValue(forKey: number)?(result)
    }

    private static func unavailable(_ reason: String) -> ChatError {
        ChatError(.unavailable, reason, retryAfterMs: 500)
    }

    // MARK: - Leaders

    func onLeaderKnown(_ notice: ShardNotice, by node: NodeID) {
        if let requests = open.onLeader(node, notice.shard, term: notice.term) { ask(again: requests, of: node) }
    }

    /// A leader says once more that it leads.
    func onLeaderKnownStill(_ notice: ShardNotice, by node: NodeID) {
        open.onLeaderInsisting(node, notice.shard, term: notice.term, at: loop.nowMilliseconds)
        onLeaderKnown(notice, by: node)
        let refused = open.onLeaderStill(node, notice.shard, term: notice.term)
        if !refused.isEmpty { ask(again: refused, of: node) }
    }

    func onLeaderSuspected(_ notice: ShardNotice, of node: NodeID) {
        open.onLeaderSuspected(node, notice.shard, term: notice.term, at: loop.nowMilliseconds)
    }

    func onLeaderConfirmed(_ notice: ShardNotice, of node: NodeID) {
        ask(again: open.onLeaderConfirmed(node, notice.shard, term: notice.term), of: node)
    }

    func onLeaderLost(_ node: NodeID, _ shard: ShardID?) { open.onNodeLost(node, shard, at: loop.nowMilliseconds) }
}
