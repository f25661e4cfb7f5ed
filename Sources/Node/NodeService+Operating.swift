import ChatModel
import NodeLink
import ClusterRouting
import Cryptography
import FoundationEssentials
import Gateway
import Swim
import RoomProtocol
import Rooms
import ServerAPI
import SystemGroupHost
import Wire

/// Users, sessions, nodes, and the API's own calls.
extension NodeService {
    func revoke(_ user: UserID, id: String?) async throws(ChatError) -> Timestamp {
        // The gateway hears of it as an observer of the system group.
        try await system.revoke(user, key: id)
    }

    func sanction(_ user: UserID, _ kind: SanctionKind, _ request: SanctionRequest, id: String?) async throws(ChatError)
    {
        try await system.sanction(
            user, kind, seconds: request.seconds, reason: request.reason,
            owes: callbacks.webhook?.wants(.sanction) == true, key: id)
    }

    func user(_ user: UserID) async throws(ChatError) -> UserView {
        UserView(
            user: user, banned: system.sanction(.banned, of: user), muted: system.sanction(.muted, of: user),
            sessions: Int64(await sessions(.sessions(of: user)).sessions.count))
    }

    func users(_ kind: SanctionKind, after: UserID?, limit: Int) async throws(ChatError) -> Page<UserView, UserID> {
        let page = system.sanctions(kind, after: after, limit: limit)
        let other: SanctionKind = kind == .banned ? .muted : .banned
        let users = page.items.map { user, sanction in
            let second = system.sanction(other, of: user)
            return kind == .banned
                ? UserView(user: user, banned: sanction, muted: second)
                : UserView(user: user, banned: second, muted: sanction)
        }
        return Page(items: users, next: page.next)
    }

    func forceOffline(_ user: UserID) async throws(ChatError) -> SessionCount {
        count(await nodes.sum(.endSessions(of: user), ofEvery: system.nodes.map(\.node)))
    }

    private func count(_ sum: NodesSum) -> SessionCount { SessionCount(sum.count, missing: missing(sum.answered)) }

    /// Listed nodes that are not among those that have answered.
    private func missing(_ answered: Set<NodeID>) -> [NodeID] {
        system.nodes.map(\.node).filter { !answered.contains($0) }.sorted()
    }

    func sessions(of user: UserID) async throws(ChatError) -> SessionsView {
        var view = await sessions(.sessions(of: user))
        view.sessions.sort { ($0.startedAt, $0.session.text) < ($1.startedAt, $1.session.text) }
        return view
    }

    func sessions(after: String?, limit: Int) async throws(ChatError) -> SessionsView {
        var view = await sessions(.sessionPage(after: after, limit: limit + 1))
        view.sessions.sort { $0.session.text < $1.session.text }
        let page = view.sessions.prefix(limit)
        view.next = view.sessions.count > limit ? page.last?.session.text : nil
        view.sessions = Array(page)
        return view
    }

    func slowSessions(limit: Int) async throws(ChatError) -> SessionsView {
        var view = await sessions(.slowSessions(limit: limit))
        view.sessions.sort(by: SessionView.isWorse)
        view.sessions = Array(view.sessions.prefix(limit))
        return view
    }

    private func sessions(_ question: NodeQuestion) async -> SessionsView {
        let answers = await nodes.askAll(question)
        let all = answers.flatMap { item -> [SessionView] in
            if case .sessions(let views, _) = item.answer { views } else { [] }
        }
        return SessionsView(sessions: all, missing: missing(Set(answers.map(\.node))))
    }

    func end(_ session: SessionID) async throws(ChatError) {
        guard await nodes.sum(.endSession(session), ofEvery: system.nodes.map(\.node)).count > 0 else {
            throw ChatError(.notFound, "there is no such session")
        }
    }

    func direct(_ message: Message, to user: UserID) async throws(ChatError) -> SessionCount {
        count(await nodes.sum(.direct(message, to: user)))
    }

    func broadcast(_ message: Message) async throws(ChatError) -> SessionCount {
        count(await nodes.sum(.broadcast(message)))
    }

    /// The sum over all nodes that answer. A user with sessions on two nodes counts twice.
    func stats() async throws(ChatError) -> StatsView {
        var sum = StatsView()
        let statuses = await statuses()
        let roomCount = await nodes.sum(.roomCount)
        sum.missing = missing(roomCount.answered.intersection(statuses.map(\.node)))
        for status in statuses {
            sum.sessions += status.stats.sessions
            sum.users += status.stats.users
            sum.connections += status.stats.connections
            sum.slowSessions += status.stats.slowSessions
            // Earlier programs say it here; the others answer the question below.
            sum.rooms += status.stats.rooms
            sum.activeRooms += status.stats.activeRooms
            sum.online += status.stats.online
        }
        sum.rooms += Int64(roomCount.count)
        sum.time = WallClock.now()
        sum.startedAt = startedAt
        return sum
    }

    func figures() async throws(ChatError) -> FiguresView {
        var view = FiguresView()
        for item in await nodes.askAll(.figures) {
            if case .figures(let figures) = item.answer { view.nodes.append(figures) }
        }
        view.nodes.sort { $0.node < $1.node }
        view.missing = missing(Set(view.nodes.map(\.node)))
        view.time = WallClock.now()
        return view
    }

    private func statuses() async -> [NodeStatus] {
        await nodes.askAll(.status).compactMap { item -> NodeStatus? in
            if case .status(let status) = item.answer { status } else { nil }
        }
    }

    /// Those that the system group lists, and those that gossip knows besides.
    func nodes() async throws(ChatError) -> [NodeView] {
        let records = gossip?.records ?? []
        let known = Dictionary(records.map { ($0.member.node, $0) }) { first, _ in first }
        let statuses = Dictionary(await statuses().map { ($0.node, $0) }) { first, _ in first }
        let listed = Dictionary(system.nodes.map { ($0.node, $0) }) { first, _ in first }
        let all = Set(listed.keys).union(known.keys)
        let voters = await system.status().replicas
        return all.sorted().map { node in
            var view = NodeView(id: node)
            view.systemVoter = voters.contains(node)
            view.state = node == configuration.node ? .alive : known[node].map { NodeState($0.status) }
            view.gateways = listed[node]?.clientURLs ?? []
            view.draining = listed[node]?.isDraining == true ? true : nil
            guard let status = statuses[node] else { return view }
            view.alive = true
            view.leads = Int64(status.leads.count)
            view.startedAt = status.stats.startedAt
            view.version = status.version
            view.featureLevel = Int64(status.level.number)
            view.gateways = status.gateways
            return view
        }
    }

    /// Each shard has its leader's status; without a leader, that of the replica that has applied most.
    func shards() async throws(ChatError) -> [ShardView] {
        var best: [Int64: (rank: (leads: Int, term: UInt64, applied: UInt64), view: ShardView)] = [:]
        for (node, answer) in await nodes.askAll(.shards) {
            guard case .shards(let list) = answer else { continue }
            for view in list {
                let rank = (leads: view.leader == node ? 1 : 0, term: view.term, applied: view.applied)
                if best[view.shard].map({ $0.rank < rank }) ?? true { best[view.shard] = (rank, view) }
            }
        }
        return best.values.map(\.view).sorted { $0.shard < $1.shard }
    }

    func health() async throws(ChatError) -> ClusterHealthView {
        let shards = await shardsOfNodes()
        return ClusterHealth(
            shardCount: Int(rooms.shardCount), listed: system.nodes, statuses: await statuses(), shards: shards,
            level: system.level
        ).view
    }

    func drain(_ node: NodeID) async throws(ChatError) {
        try requireOthers(than: node)
        try await system.changeNodes(.setDraining(node, true))
    }

    /// A node that still leads shards or serves clients must be drained before.
    func remove(_ node: NodeID) async throws(ChatError) {
        try requireOthers(than: node)
        if case .status(let status)? = try? await nodes.ask(node, .status), !status.leads.isEmpty {
            let count = status.leads.count == 1 ? "a shard" : "\(status.leads.count) shards"
            let isDraining = system.nodes.contains { $0.node == node && $0.isDraining }
            let advice = isDraining ? "it is being drained: wait until it leads none" : "drain it first"
            throw ChatError(.conflict, "\(node) leads \(count): \(advice)", field: "node")
        }
        try await requireNoLastCopy(at: node)
        let others = system.nodes.map(\.node.text).filter { $0 != node.text }
        // One that is made for several nodes says nothing of this one alone.
        let certificate = await nodes.certificate(of: node).flatMap { shown in
            shown.names.contains(where: others.contains) ? nil : shown.fingerprint
        }
        try await system.changeNodes(.remove(node, certificate: certificate))
    }

    /// A shard that nobody leads may have what was acked on this node's disk alone, and a removed node brings nothing back.
    private func requireNoLastCopy(at node: NodeID) async throws(ChatError) {
        let answers = await shardsOfNodes()
        let known = ClusterHealth.Shards(answers)
        let answersItself = answers.contains { $0.node == node }
        let held = (0..<Int64(rooms.shardCount)).filter { shard in
            // A node that has a replica of it names it, unless it does not answer.
            !known.led.contains(shard) && known.replicas[shard].map { $0.nodes.contains(node) } ?? !answersItself
        }
        guard let first = held.first else { return }
        let what =
            held.count == 1
            ? "shard \(first), which nobody leads" : "\(held.count) shards that nobody leads, shard \(first) the first"
        throw ChatError(
            .conflict,
            "\(node) may have the only copy of \(what): bring it back, or another node that is away, and remove it then",
            field: "node")
    }

    /// The shards as each node that answers knows them.
    private func shardsOfNodes() async -> [(node: NodeID, views: [ShardView])] {
        await nodes.askAll(.shards).compactMap { item in
            if case .shards(let views) = item.answer { (item.node, views) } else { nil }
        }
    }

    func readmit(_ node: NodeID) async throws(ChatError) { try await system.changeNodes(.readmit(node)) }

    /// Without the node a majority of every group must stay.
    private func requireOthers(than node: NodeID) throws(ChatError) {
        let all = system.nodes
        guard all.contains(where: { $0.node == node }) else {
            throw ChatError(.notFound, "there is no node \(node) in the cluster", field: "node")
        }
        let others = all.filter { $0.node != node && $0.role == .data && !$0.isDraining }
        guard !others.isEmpty else {
            throw ChatError(.conflict, "\(node) is the last node that holds rooms", field: "node")
        }
        let here = nodes.reached.union([configuration.node])
        guard others.count(where: { here.contains($0.node) }) * 2 > others.count else {
            throw ChatError(.conflict, "most of the other nodes can't be reached", field: "node")
        }
    }

    func transfer(_ shard: ShardID, to node: NodeID) async throws(ChatError) {
        guard shard.number < rooms.shardCount else {
            throw ChatError(.notFound, "there is no shard \(shard.number)", field: "shard")
        }
        guard system.nodes.contains(where: { $0.node == node }) else {
            throw ChatError(.notFound, "there is no node \(node) in the cluster", field: "to")
        }
        let deadline = ContinuousClock.now + .seconds(5)
        while true {
            let known = nodes.leader(of: shard)
            guard known.node != node else { return }
            guard ContinuousClock.now < deadline else {
                throw ChatError(.unavailable, "\(node) has not taken the shard over in time", retryAfterMs: 1000)
            }
            if let leader = known.node { _ = try await nodes.ask(leader, .transfer(shard, to: node)) }
            // A leader that could not hand over in time goes on leading, which nobody is told.
            await nodes.leaderChange(of: shard, since: known, until: min(deadline, ContinuousClock.now + .seconds(1)))
        }
    }

    /// Every node copies what it leads; together that must be everything. Else nothing is left of it, where the nodes
    /// are reached.
    func backup() async throws(ChatError) -> BackupView {
        try requireWhole(Set(nodes.leaders.keys), hasSystem: true)
        let time = WallClock.now()
        let name = NodeBackup.name(at: time)
        do throws(ChatError) {
            return try await backup(name, at: time)
        } catch {
            _ = await nodes.results(of: .discardBackup(name))
            throw error
        }
    }

    private func backup(_ name: String, at time: Timestamp) async throws(ChatError) -> BackupView {
        var view = BackupView(time: time, copies: [])
        var copied: Set<ShardID> = []
        var hasSystem = false
        for (_, result) in await nodes.results(of: .backup(name)) {
            guard case .backup(let copy, let shards, let includesSystem) = try result.get() else {
                throw ChatError(.internal, "the answer is to another question")
            }
            view.copies.append(copy)
            copied.formUnion(shards)
            hasSystem = hasSystem || includesSystem
        }
        try requireWhole(copied, hasSystem: hasSystem)
        return view
    }

    private func requireWhole(_ shards: Set<ShardID>, hasSystem: Bool) throws(ChatError) {
        let missing = (0..<rooms.shardCount).first { !shards.contains(ShardID($0)) }
        guard missing != nil || !hasSystem else { return }
        let what = missing.map { "shard \($0)" } ?? "the system group"
        throw ChatError(
            .unavailable, "nobody leads \(what) at the moment: there is no whole backup", retryAfterMs: 2000)
    }

    /// All listed nodes must be here and say that they can do it: one that is away may come back with any program.
    func raise(to level: FeatureLevel) async throws(ChatError) {
        let (current, listed) = (system.level, system.nodes)
        guard level != current else { return }
        guard level > current else {
            throw ChatError(.conflict, "the feature level is \(current) and is never lowered", field: "level")
        }
        let statuses = Dictionary(await statuses().map { ($0.node, $0) }) { first, _ in first }
        for record in listed {
            guard let status = statuses[record.node] else {
                throw ChatError(
                    .unavailable, "\(record.node) does not answer: bring it back, or remove it", retryAfterMs: 5_000)
            }
            guard status.level >= level else {
                throw ChatError(
                    .conflict, "\(record.node) runs \(status.version), which can do feature level \(status.level)",
                    field: "level")
            }
        }
        try await system.raise(to: level, stores: listed.map(\.store))
    }

    func setLogLevel(_ level: LogLevel) async throws(ChatError) { _ = await nodes.askAll(.setLogLevel(level)) }

    func record(_ item: AuditItem) { auditRecorder.record(item) }

    func audit(_ query: AuditQuery) async throws(ChatError) -> AuditView {
        var found: [AuditPlace: AuditItem] = [:]
        var answered: Set<NodeID> = []
        for (node, answer) in await nodes.askAll(.audit(query)) {
            guard case .audit(let items) = answer else { continue }
            answered.insert(node)
            // A copy is what it is a copy of.
            for item in items { if let place = item.place { found[place] = item } }
        }
        guard answered.contains(configuration.node) else { throw ChatError(.internal, "the audit can't be read") }
        let newest = found.sorted { $0.key > $1.key }.prefix(query.limit)
        return AuditView(
            items: newest.map(\.value), missing: missing(answered))
    }

    func checkHead(ofSigned request: SignedRequest) throws(ChatError) {
        try RequestSignature.check(request, at: WallClock.now())
        guard keys.adminKey(request.key) != nil else { throw Self.invalidSignature }
    }

    /// One sentence for both: nobody without a key hears which key IDs there are.
    private static let invalidSignature = ChatError(
        .unauthorized, "X-Chatroom-Key names no admin key, or the signature is not valid")

    /// The nonce goes through the system group's log, and only behind a signature that is right: it works once in the
    /// whole cluster, over restarts too.
    func administrator(signed request: SignedRequest) async throws(ChatError) -> Administrator {
        try RequestSignature.check(request, at: WallClock.now())
        // An unknown key costs the same time as a wrong signature.
        let key = keys.adminKey(request.key)
        let isValid = RequestSignature.isValid(request, key: key?.key ?? HMACKey(SecureRandom.bytes(32)))
        guard let key, isValid else { throw Self.invalidSignature }
        guard try await system.use(nonce: "\(request.key)\n\(request.nonce)") else {
            throw ChatError(.unauthorized, "X-Chatroom-Nonce was used before")
        }
        return key.administrator
    }

    /// The same call may be under way, here or at another node: its answer is waited for. None comes of a node that was
    /// killed meanwhile.
    func begin(call key: String) async throws(ChatError) -> BegunCall {
        let end = ContinuousClock.now + Self.answerWait
        var wait = Duration.milliseconds(50)
        while true {
            switch try await system.begin(key) {
            case .done: return .first
            case .answered(let answer): return .answered(answer)
            default:
                // Each look is an entry of the log.
                guard ContinuousClock.now < end, (try? await Task.sleep(for: wait)) != nil else { return .unknown }
                wait = min(wait * 2, .seconds(1))
            }
        }
    }

    /// Longer than calls without a room take.
    private static let answerWait = Duration.seconds(5)

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
