import ChatModel
import Crypto
import Foundation
import Gateway
import Gossip
import Rooms
import ServerAPI
import Wire

/// Users, sessions, nodes, and the API's own calls.
extension NodeService {
    func revoke(_ user: UserID, id: String?) async throws(ChatError) -> Timestamp {
        // The gateway hears of it as an observer of the system group.
        try await system.revoke(user, key: id)
    }

    func forceOffline(_ user: UserID) async throws(ChatError) -> Int { await gateway.forceOffline(user) }

    func sessions(of user: UserID) async throws(ChatError) -> [SessionView] { await gateway.sessions(of: user) }

    func sessions(after: String?, limit: Int) async throws(ChatError) -> Page<SessionView, String> {
        await gateway.sessions(after: after, limit: limit)
    }

    func slowSessions(limit: Int) async throws(ChatError) -> [SessionView] { await gateway.slowSessions(limit: limit) }

    func end(_ session: SessionID) async throws(ChatError) {
        guard await gateway.forceOffline(session) else { throw ChatError(.notFound, "there is no such session") }
    }

    func direct(_ message: Message, to user: UserID) async throws(ChatError) -> Int {
        await gateway.direct(message, to: user)
    }

    func broadcast(_ message: Message) async throws(ChatError) -> Int { await gateway.broadcast(message) }

    func stats() async throws(ChatError) -> StatsView {
        let counts = await gateway.counts()
        let (rooms, online) = await rooms.onlineTotals()
        var stats = StatsView()
        stats.time = WallClock.now()
        stats.startedAt = startedAt
        stats.sessions = Int64(counts.sessions)
        stats.users = Int64(counts.users)
        stats.connections = Int64(counts.connections)
        stats.slowSessions = Int64(counts.slowSessions)
        stats.rooms = Int64(rooms)
        stats.online = Int64(online)
        return stats
    }

    /// Those that the system group lists, and those that gossip knows besides.
    func nodes() async throws(ChatError) -> [NodeView] {
        let shards = await rooms.shards()
        let records = gossip?.records ?? []
        let known = Dictionary(records.map { ($0.member.node, $0) }) { first, _ in first }
        let all = Set(system.nodes.map(\.node)).union(known.keys)
        let gateways = await gateway.urls()
        return all.sorted().map { node in
            var view = NodeView(id: node)
            guard node != configuration.node else {
                view.leads = Int64(shards.count { $0.leader == node })
                view.alive = true
                view.state = .alive
                view.startedAt = startedAt
                view.gateways = gateways
                return view
            }
            guard let record = known[node] else { return view }
            view.leads = Int64(record.member.leads.count)
            view.state = NodeState(record.status)
            view.alive = record.status == .alive || record.status == .suspect
            return view
        }
    }

    func shards() async throws(ChatError) -> [ShardView] {
        await rooms.shards().map {
            ShardView(
                shard: $0.shard, leader: $0.leader, replicas: $0.replicas, term: $0.term, applied: $0.applied)
        }
    }

    func setLogLevel(_ level: LogLevel) async throws(ChatError) { logControl.set(level) }

    func record(_ item: AuditItem) { auditRecorder.record(item) }

    func audit(before: Int64?, limit: Int) async throws(ChatError) -> [AuditItem] {
        try await auditRecorder.page(before: before, limit: limit)
    }

    /// The nonce goes through the system group's log, and only behind a signature that is right: it works once in the
    /// whole cluster, over restarts too.
    func administrator(signed request: SignedRequest) async throws(ChatError) -> String {
        try RequestSignature.check(request, at: WallClock.now())
        // An unknown key costs the same time as a wrong signature.
        let key = keys.adminKey(request.key)
        let isValid = RequestSignature.isValid(request, key: key ?? SymmetricKey(size: .bits256))
        guard key != nil, isValid else { throw ChatError(.unauthorized, "the signature is not valid") }
        guard try await system.use(nonce: "\(request.key)\n\(request.nonce)") else {
            throw ChatError(.unauthorized, "X-Chatroom-Nonce was used before")
        }
        return request.key
    }

    func begin(call key: String) async throws(ChatError) -> BegunCall {
        switch try await system.begin(key) {
        case .done: .first
        case .answered(let answer): .answered(answer)
        default: .unknown
        }
    }

    func finish(call key: String, answer: [UInt8]?) async throws(ChatError) {
        try await system.finish(key, answer: answer)
    }
}

extension NodeState {
    init(_ status: GossipRecord.Status) {
        switch status {
        case .alive: self = .alive
        case .suspect: self = .suspect
        case .dead: self = .dead
        case .left: self = .left
        }
    }
}
