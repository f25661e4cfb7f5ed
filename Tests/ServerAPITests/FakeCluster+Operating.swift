import ChatModel
import ServerAPI
import Synchronization
import Wire

extension FakeCluster {
    func revoke(_ user: UserID, id: String?) async throws(ChatError) -> Timestamp {
        try note(.operating("revoke \(user) \(id ?? "-")"))
        return Timestamp(1_700_000_000_000)
    }

    func sanction(_ user: UserID, _ kind: SanctionKind, _ request: SanctionRequest, id: String?) async throws(ChatError)
    {
        try note(.operating("\(kind.rawValue) \(user) \(request.seconds ?? -1) \(request.reason ?? "") \(id ?? "")"))
    }

    func user(_ user: UserID) async throws(ChatError) -> UserView {
        UserView(user: user, banned: UserSanction(since: Timestamp(1), endsAt: Timestamp(2), reason: "r"), sessions: 1)
    }

    func users(_ kind: SanctionKind, after: UserID?, limit: Int) async throws(ChatError) -> Page<UserView, UserID> {
        try note(.operating("users \(kind.rawValue) \(after?.text ?? "") \(limit)"))
        return Page(items: [UserView(user: Self.user("ann"), muted: UserSanction(since: Timestamp(1)))], next: nil)
    }

    func forceOffline(_ user: UserID) async throws(ChatError) -> SessionCount {
        try note(.operating("offline \(user)"))
        return SessionCount(2, missing: [Self.node])
    }

    func sessions(of user: UserID) async throws(ChatError) -> SessionsView {
        try note(.operating("sessions \(user)"))
        return SessionsView(sessions: [Self.session])
    }

    func sessions(after: String?, limit: Int) async throws(ChatError) -> SessionsView {
        try note(.operating("sessions after \(after ?? "-") limit \(limit)"))
        return SessionsView(sessions: [Self.session], next: "s1", missing: [Self.node])
    }

    func slowSessions(limit: Int) async throws(ChatError) -> SessionsView {
        try note(.operating("slow sessions limit \(limit)"))
        return SessionsView(sessions: [Self.session])
    }

    func end(_ session: SessionID) async throws(ChatError) {
        try note(.operating("end \(session)"))
        if session.text == "gone" { throw ChatError(.notFound, "there is no such session") }
    }

    func direct(_ message: Message, to user: UserID) async throws(ChatError) -> SessionCount {
        try note(.operating("direct \(user) \(message.from?.user.text ?? "-") \(message.body)"))
        return SessionCount(1)
    }

    func broadcast(_ message: Message) async throws(ChatError) -> SessionCount {
        try note(.operating("broadcast \(message.from?.user.text ?? "-") \(message.body)"))
        return SessionCount(3, missing: [Self.node])
    }

    func stats() async throws(ChatError) -> StatsView { StatsView() }

    func figures() async throws(ChatError) -> FiguresView { FiguresView() }

    func nodes() async throws(ChatError) -> [NodeView] {
        var node = NodeView(id: Self.node)
        node.startedAt = Timestamp(1)
        return [node]
    }

    func shards() async throws(ChatError) -> [ShardView] {
        [ShardView(shard: ShardID(0), leader: Self.node, replicas: [Self.node], term: 1, applied: 7)]
    }

    func health() async throws(ChatError) -> ClusterHealthView {
        var health = ClusterHealthView()
        health.shards = 16
        health.withoutLeader = 2
        health.nodes.versions = ["0.9.0"]
        return health
    }

    func drain(_ node: NodeID) async throws(ChatError) { try note(.operating("drain \(node)")) }

    func remove(_ node: NodeID) async throws(ChatError) {
        try note(.operating("remove \(node)"))
        if node.text == "gone" { throw ChatError(.notFound, "there is no such node") }
    }

    func readmit(_ node: NodeID) async throws(ChatError) { try note(.operating("readmit \(node)")) }

    func transfer(_ shard: ShardID, to node: NodeID) async throws(ChatError) {
        try note(.operating("transfer \(shard) to \(node)"))
    }

    func backup() async throws(ChatError) -> BackupView {
        try note(.operating("backup"))
        return BackupView(
            time: Timestamp(5), copies: [BackupCopy(node: Self.node, directory: "/backup/5", bytes: 7)])
    }

    func raise(to level: FeatureLevel) async throws(ChatError) { try note(.operating("level \(level)")) }
    func setLogLevel(_ level: LogLevel) async throws(ChatError) { try note(.operating("log \(level)")) }

    func record(_ item: AuditItem) { state.withLock { $0.audited.append(item) } }

    func audit(_ query: AuditQuery) async throws(ChatError) -> AuditView {
        let filter = [query.actor, query.room, query.action].map { $0 ?? "-" }.joined(separator: " ")
        try note(
            .operating(
                "audit before \(query.before.map(String.init(describing:)) ?? "-") limit \(query.limit) of \(filter)"))
        var item = AuditItem(
            time: Timestamp(5), administrator: "root", address: "127.0.0.1", method: "POST", path: "/v1/rooms",
            status: 409, error: 409)
        (item.unrecorded, item.node) = (1, NodeID("n1"))
        let items = (0..<query.limit).map { number in
            item.id = 1000 - Int64(number)
            return item
        }
        return AuditView(items: items)
    }

    func checkHead(ofSigned request: SignedRequest) throws(ChatError) {
        guard request.key != "unknown" else { throw ChatError(.unauthorized, "there is no such key") }
    }

    /// The signature is the key twice.
    func administrator(signed request: SignedRequest) async throws(ChatError) -> Administrator {
        try note(.operating("signed \(request.method) \(request.path) \(request.query) \(request.body.count)"))
        guard request.signature == request.key + request.key else {
            throw ChatError(.unauthorized, "the signature is not valid")
        }
        return Administrator(name: request.key)
    }

    func begin(call key: String) async throws(ChatError) -> BegunCall {
        state.withLock { state in
            guard let known = state.answers[key] else {
                state.answers[key] = .some(nil)
                return .first
            }
            return known.map { .answered($0) } ?? .unknown
        }
    }

    func finish(call key: String, answer: [UInt8]?) async throws(ChatError) {
        state.withLock { state in
            guard let answer else { return _ = state.answers.removeValue(forKey: key) }
            state.answers[key] = answer
        }
    }

    private static var node: NodeID {
        guard let node = NodeID("n1") else { preconditionFailure("n1 is a node ID") }
        return node
    }

    private static var session: SessionView {
        guard let id = SessionID("s1") else { preconditionFailure("s1 is a session ID") }
        var session = SessionView(session: id, user: user("ann"), node: node)
        session.address = "127.0.0.1"
        session.expiresAt = Timestamp(9)
        session.rooms = [room("live").info.id]
        return session
    }
}
