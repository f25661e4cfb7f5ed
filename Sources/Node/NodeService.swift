import ChatModel
import ClusterRouting
import Gateway
import GroupDriver
import RoomProtocol
import Rooms
import ServerAPI
import SystemGroupHost
import Telemetry
import Wire

/// The cluster as the server API sees it, from this node.
struct NodeService: ClusterService {
    let configuration: NodeConfiguration
    let rooms: RoomHost
    let calls: RoomCalls
    let system: SystemGroup
    let cluster: ClusterView
    let keys: TokenKeys
    let gateway: Gateway
    let nodes: ClusterNodes
    let membership: NodeMembership
    /// nil where this node speaks to no other.
    let gossip: ClusterGossip?
    let callbacks: AppCallbacks
    let registry: MetricsRegistry
    let ready: ReadyFigure
    let auditRecorder: AuditRecorder
    let logControl: LogControl
    let startedAt: Timestamp
    let plannedStop: PlannedStop
    let media: MediaHost

    func perform(_ body: CommandBody, in room: RoomID, as actor: Actor, id: CallKey?) async throws(ChatError)
        -> CommandResult
    {
        try await calls.perform(body, in: room, as: known(actor), id: id.map(Self.commandID))
    }

    /// The actor as all nodes understand it. Until the cluster's level brings moderators they are not shown.
    private func known(_ actor: Actor) -> Actor {
        if case .moderator = actor, !system.level.brings(.moderators) { .system } else { actor }
    }

    /// The scope is a name outside the user alphabet, so that no user's clientId can collide with it.
    private static func commandID(_ key: CallKey) -> CommandID {
        CommandID(scope: "/api \(key.call)", text: key.text)
    }

    func send(_ draft: MessageDraft, from sender: ServerSender?, moderate: Bool, in room: RoomID, id: CallKey?)
        async throws(ChatError) -> CommandResult
    {
        let actor = sender.map { Actor.server(UserName(user: $0.user, nick: $0.profile.nick)) } ?? .system
        return try await calls.perform(
            .post(draft), in: room, as: actor, showing: sender?.profile, moderate: moderate,
            id: id.map(Self.commandID))
    }

    func webhook() async throws(ChatError) -> WebhookSettings { callbacks.webhook ?? WebhookSettings() }

    func setWebhook(_ settings: WebhookSettings, id: String?) async throws(ChatError) {
        try await callbacks.setWebhook(settings, key: id)
    }

    func moderation() async throws(ChatError) -> ModerationSettings { callbacks.moderation }

    func setModeration(_ settings: ModerationSettings, id: String?) async throws(ChatError) {
        try await callbacks.setModeration(settings, key: id)
    }

    func room(_ room: RoomID) async throws(ChatError) -> RoomView { try await calls.view(of: room) }

    func rooms(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID> {
        let all = try await pages(.rooms(after: after, limit: limit)).sorted { $0.info.id < $1.info.id }
        let page = all.prefix(limit)
        return Page(items: Array(page), next: page.count == limit ? page.last?.info.id : nil)
    }

    func deletedRooms(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID> {
        let all = try await pages(.deletedRooms(after: after, limit: limit)).sorted { $0.info.id < $1.info.id }
        let page = all.prefix(limit)
        return Page(items: Array(page), next: page.count == limit ? page.last?.info.id : nil)
    }

    func roomsByOnline(after: String?, limit: Int) async throws(ChatError) -> Page<RoomView, String> {
        let all = try await pages(.onlineRooms(after: after, limit: limit)).sorted { OnlinePlace($0) < OnlinePlace($1) }
        let page = all.prefix(limit)
        return Page(items: Array(page), next: page.count == limit ? page.last.map { OnlinePlace($0).cursor } : nil)
    }

    /// A page of each node; together they hold the next page of all. Throws 503 while a shard has no leader.
    private func pages(_ question: NodeQuestion) async throws(ChatError) -> [RoomView] {
        let leaders = Set(nodes.leaders.values)
        guard nodes.leaders.count == Int(rooms.shardCount) else {
            throw ChatError(.unavailable, "some shards have no leader at the moment", retryAfterMs: 500)
        }
        // Every node says what is wrong with the question.
        if case .failure(let error) = await nodes.answer(question) { throw error }
        let answers = await nodes.askAll(question)
        guard leaders.isSubset(of: answers.map(\.node)) else {
            throw ChatError(.unavailable, "a node does not answer at the moment", retryAfterMs: 500)
        }
        return answers.flatMap { item -> [RoomView] in
            if case .rooms(let views, _) = item.answer { views } else { [] }
        }
    }

    func history(of room: RoomID, _ query: HistoryRequest) async throws(ChatError) -> HistoryPage {
        try await calls.history(of: room, query)
    }

    func search(_ request: SearchRequest) async throws(ChatError) -> SearchResult { try await calls.search(request) }

    func message(_ messageID: String, in room: RoomID) async throws(ChatError) -> Message {
        try await calls.message(messageID, in: room)
    }

    func recall(_ messageID: String, in room: RoomID, as actor: Actor, _ options: NotifyOptions, id: CallKey?)
        async throws(ChatError)
    {
        try await calls.recall(messageID, in: room, as: known(actor), id: id.map(Self.commandID), options: options)
    }

    func recallAll(
        of user: UserID, since: Timestamp?, in room: RoomID, as actor: Actor, _ options: NotifyOptions, id: CallKey?
    ) async throws(ChatError) {
        try await calls.recallAll(
            of: user, since: since, in: room, as: known(actor), id: id.map(Self.commandID), options: options)
    }

    func members(of room: RoomID, kind: MemberKind, after: String?, limit: Int) async throws(ChatError)
        -> Page<Member, String>
    {
        try await calls.members(of: room, kind: kind, after: after, limit: limit)
    }

    func member(_ user: UserID, of room: RoomID) async throws(ChatError) -> Member {
        try await calls.member(user, of: room)
    }

    func queue(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> QueueResult {
        try await calls.queue(of: room, after: after, limit: limit)
    }

    func tallies(of room: RoomID) async throws(ChatError) -> [Tally] { try await calls.tallies(of: room) }
    func reports(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> ReportsResult {
        try await calls.reports(of: room, after: after, limit: limit)
    }

    func polls(of room: RoomID) async throws(ChatError) -> [Poll] { try await calls.polls(of: room) }

    func held(in room: RoomID, after: String?, limit: Int) async throws(ChatError) -> HeldResult {
        try await calls.held(in: room, after: after, limit: limit)
    }

    func barrage(_ item: BarrageItem, in room: RoomID) async throws(ChatError) {
        try await calls.barrage(item, in: room)
    }

    func completed(_ upload: UploadResult, in room: RoomID) async throws(ChatError) -> UploadResult {
        try await media.completed(upload, in: room)
    }

    func explain(_ room: RoomID) async throws(ChatError) -> RoomExplanation {
        let state = try await calls.figures(of: room)
        let leader = nodes.leader(of: rooms.shard(of: room)).node ?? configuration.node
        guard case .explanation(var explanation) = try await nodes.ask(leader, .explain(room)) else {
            throw ChatError(.internal, "the answer is to another question")
        }
        explanation.state = state
        explanation.lanes = await nodes.askAll(.lanes(room)).flatMap { item -> [LaneFigures] in
            if case .lanes(let lanes) = item.answer { lanes } else { [] }
        }
        return explanation
    }

    func issueToken(_ request: TokenRequest) async throws(ChatError) -> IssuedToken {
        try keys.issue(request, issuedAt: system.issueTime(for: request.user))
    }

    func gateways(for room: RoomID) async throws(ChatError) -> GatewayAddresses {
        _ = try await calls.view(of: room)
        return GatewayAddresses(gateways: await gateway.urls(), ttlSeconds: 60)
    }

    func administrator(bearer: String) async throws(ChatError) -> Administrator? {
        try await keys.administrator(bearer: bearer)
    }

    func unreadiness() async -> Unreadiness? {
        if plannedStop.sendsAway { return Unreadiness("this node is stopping") }
        let listed = system.nodes.first { $0.node == configuration.node }
        let readiness = Readiness(
            storeRefusal: await rooms.unreadiness(), hearsMajority: await membership.hearsMajority(),
            hasUsableClock: !cluster.hasUselessClock(configuration.node), isListed: listed != nil,
            isDraining: listed?.isDraining ?? false)
        return readiness.refusal.map { Unreadiness($0, mayPass: $0 != Readiness.drained) }
    }

    func metrics() async -> String {
        await ready.update { await unreadiness() == nil }
        return registry.render()
    }
}
