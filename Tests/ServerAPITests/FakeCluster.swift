import ChatModel
import ServerAPI
import Synchronization
import Wire

/// A cluster that remembers what it was asked and answers what a test told it to.
final class FakeCluster: ClusterService {
    static let adminKey = "correct-horse"

    /// One call, with the arguments that matter.
    enum Call: Sendable, Hashable {
        case perform(CommandBody, RoomID, Actor, id: String?)
        case webhook(WebhookSettings, id: String?)
        case moderation(ModerationSettings, id: String?)
        case rooms(after: RoomID?, limit: Int)
        case deletedRooms(after: RoomID?, limit: Int)
        case roomsByOnline(after: String?, limit: Int)
        case history(RoomID, HistoryRequest)
        case search(SearchRequest)
        case message(String, RoomID)
        case members(RoomID, MemberKind, after: String?, limit: Int)
        case member(UserID, RoomID)
        case queue(RoomID, after: String?, limit: Int)
        case tallies(RoomID)
        case polls(RoomID)
        case reports(RoomID, after: String?, limit: Int)
        case held(RoomID, after: String?, limit: Int)
        case barrage(BarrageItem, RoomID)
        case send(MessageDraft, from: ServerSender?, moderate: Bool, RoomID, id: String?)
        case recall(String, RoomID, Actor, id: String?)
        case recallAll(UserID, since: Timestamp?, RoomID, Actor, id: String?)
        case token(TokenRequest)
        case gateways(RoomID)
        case operating(String)
        case explain(RoomID)
    }

    struct State: Sendable {
        var calls: [Call] = []
        /// Whole, where `calls` has the caller's key alone.
        var callKeys: [CallKey?] = []
        /// Thrown by every call when set.
        var failure: ChatError?
        var unreadiness: Unreadiness?
        /// What commands answer instead of what follows from them.
        var result: CommandResult?
        var audited: [AuditItem] = []
        /// Answers by idempotency key; nil is a call that has begun.
        var answers: [String: [UInt8]?] = [:]
    }

    let state = Mutex(State())
    private let settings = Mutex((webhook: WebhookSettings(), moderation: ModerationSettings()))

    func webhook() async throws(ChatError) -> WebhookSettings { settings.withLock { $0.webhook } }

    func setWebhook(_ given: WebhookSettings, id: String?) async throws(ChatError) {
        try note(.webhook(given, id: id))
        settings.withLock { $0.webhook = given }
    }

    func moderation() async throws(ChatError) -> ModerationSettings { settings.withLock { $0.moderation } }

    func setModeration(_ given: ModerationSettings, id: String?) async throws(ChatError) {
        try note(.moderation(given, id: id))
        settings.withLock { $0.moderation = given }
    }

    var calls: [Call] { state.withLock { $0.calls } }

    func fail(with error: ChatError?) { state.withLock { $0.failure = error } }

    func answer(with result: CommandResult) { state.withLock { $0.result = result } }

    func become(unready reason: String, mayPass: Bool = true) {
        state.withLock { $0.unreadiness = Unreadiness(reason, mayPass: mayPass) }
    }

    var callKeys: [CallKey?] { state.withLock { $0.callKeys } }

    private func noted(_ key: CallKey?) -> String? {
        state.withLock { $0.callKeys.append(key) }
        return key?.text
    }

    func note(_ call: Call) throws(ChatError) {
        let failure = state.withLock { state in
            state.calls.append(call)
            return state.failure
        }
        if let failure { throw failure }
    }

    func recall(_ messageID: String, in room: RoomID, as actor: Actor, _ options: NotifyOptions, id: CallKey?)
        async throws(ChatError)
    { try note(.recall(messageID, room, actor, id: noted(id))) }

    func recallAll(
        of user: UserID, since: Timestamp?, in room: RoomID, as actor: Actor, _ options: NotifyOptions, id: CallKey?
    ) async throws(ChatError) { try note(.recallAll(user, since: since, room, actor, id: noted(id))) }

    func perform(_ body: CommandBody, in room: RoomID, as actor: Actor, id: CallKey?) async throws(ChatError)
        -> CommandResult
    {
        try note(.perform(body, room, actor, id: noted(id)))
        if let result = state.withLock({ $0.result }) { return result }
        switch body {
        case .importMessages(let messages, _):
            return .imported(ImportResult(imported: Int64(messages.count), skipped: 0, seq: 9))
        case .createRoom, .updateRoom, .closeRoom, .reopenRoom, .undeleteRoom: return .room(Self.room(room).info)
        case .setRole(let user, _, _), .setBlacklist(let user, _, _), .setMute(let user, _, _),
            .tempMute(let user, _, _):
            return .member(Self.member(user.text))
        case .queueSet(let write, _):
            return .element(QueueElement(key: write.key, value: write.value, owner: write.owner ?? Self.user("ann")))
        case .openPoll(let id, _, _), .closePoll(let id, _): return .poll(Self.poll(id))
        case .tally(_, .remove): return .done
        case .tally(let key, _): return .tally(Tally(key: key, total: 7, by: .server))
        case .registerUpload(let draft):
            return .upload(
                UploadTicket(mediaID: "m", contentType: draft.contentType, expiresAt: Timestamp(0)))
        case .decideHeld(_, let decision):
            guard var message = Self.messages(room).first else { return .done }
            if !decision.isAllowed { message.place = .outside }
            return .decided(message)
        case .pin(let messageID, _, _):
            return .pinned([PinnedMessage(messageID: messageID, seq: 7, time: Timestamp(0))])
        case .amend(let messageID, let set):
            var message = Message(
                room: room, place: .kept(seq: 7), messageID: messageID, time: Timestamp(0), from: nil,
                body: .text(set.text ?? ""))
            message.editedAt = Timestamp(1)
            return .amended(message)
        case .queueTake(let key, _):
            return .element(QueueElement(key: key ?? "head", value: "v", owner: Self.user("ann")))
        case .addRobots(let robots): return .missing(robots.dropFirst().map(\.user.text))
        case .removeRobots(let users): return .missing(users.dropFirst().map(\.text))
        case .queueSetMany(let pairs, _): return .missing(pairs.map(\.key))
        default: return .done
        }
    }

    func completed(_ upload: UploadResult, in room: RoomID) async throws(ChatError) -> UploadResult {
        var upload = upload
        upload.url = "/v1/media/\(room)/\(upload.mediaID)?upload=x"
        return upload
    }

    func room(_ room: RoomID) async throws(ChatError) -> RoomView {
        let failure = state.withLock { $0.failure }
        if let failure { throw failure }
        return Self.room(room)
    }

    func rooms(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID> {
        try note(.rooms(after: after, limit: limit))
        return Page(items: [Self.room("a"), Self.room("b")], next: RoomID("b"))
    }

    func deletedRooms(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID> {
        try note(.deletedRooms(after: after, limit: limit))
        var room = Self.room("gone")
        (room.deletedAt, room.purgeAt) = (Timestamp(1), Timestamp(86_400_001))
        return Page(items: [room], next: nil)
    }

    func roomsByOnline(after: String?, limit: Int) async throws(ChatError) -> Page<RoomView, String> {
        try note(.roomsByOnline(after: after, limit: limit))
        return Page(items: [Self.room("busy")], next: after == nil ? "7-abc" : nil)
    }

    func history(of room: RoomID, _ query: HistoryRequest) async throws(ChatError) -> HistoryPage {
        try note(.history(room, query))
        return HistoryPage(messages: Self.messages(room), more: true)
    }

    func search(_ request: SearchRequest) async throws(ChatError) -> SearchResult {
        try note(.search(request))
        return SearchResult(messages: Self.messages(request.room), next: "7")
    }

    func message(_ messageID: String, in room: RoomID) async throws(ChatError) -> Message {
        try note(.message(messageID, room))
        return Self.messages(room)[0]
    }

    func members(of room: RoomID, kind: MemberKind, after: String?, limit: Int) async throws(ChatError)
        -> Page<Member, String>
    {
        try note(.members(room, kind, after: after, limit: limit))
        return Page(items: [Self.member("ann")], next: "c1")
    }

    func member(_ user: UserID, of room: RoomID) async throws(ChatError) -> Member {
        try note(.member(user, room))
        return Self.member(user.text)
    }

    func queue(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> QueueResult {
        try note(.queue(room, after: after, limit: limit))
        var element = QueueElement(key: "seat", value: "v", owner: Self.user("ann"))
        element.transient = true
        element.held = true
        return QueueResult(elements: [element], seq: 7, next: "c1")
    }

    static func poll(_ id: String) -> Poll {
        Poll(id: id, title: "t", options: ["a", "b"], counts: [3, 4], closesAt: Timestamp(9), mayChange: true)
    }

    func polls(of room: RoomID) async throws(ChatError) -> [Poll] {
        try note(.polls(room))
        return [Self.poll("p")]
    }

    func tallies(of room: RoomID) async throws(ChatError) -> [Tally] {
        try note(.tallies(room))
        return [Tally(key: Tally.like, total: 7), Tally(key: "gifts", closed: true, by: .server)]
    }

    func reports(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> ReportsResult {
        try note(.reports(room, after: after, limit: limit))
        let report = MessageReport(
            index: 36, messageID: "m", seq: 7, from: UserName(user: Self.user("bob"), nick: "Bob"), excerpt: "x",
            reporter: UserName(user: Self.user("ann"), nick: "Ann"), reason: "spam", time: Timestamp(5),
            keptUntil: Timestamp(9), after: 8)
        return ReportsResult(reports: [report], next: "10")
    }

    func held(in room: RoomID, after: String?, limit: Int) async throws(ChatError) -> HeldResult {
        try note(.held(room, after: after, limit: limit))
        var messages = Self.messages(room)
        for index in messages.indices { messages[index].place = .outside }
        return HeldResult(messages: messages, next: "c1")
    }

    func barrage(_ item: BarrageItem, in room: RoomID) async throws(ChatError) {
        try note(.barrage(item, room))
    }

    func send(_ draft: MessageDraft, from sender: ServerSender?, moderate: Bool, in room: RoomID, id: CallKey?)
        async throws(ChatError) -> CommandResult
    {
        try note(.send(draft, from: sender, moderate: moderate, room, id: noted(id)))
        if let result = state.withLock({ $0.result }) { return result }
        let place = draft.isKept ? MessagePlace.kept(seq: 8) : .unkept(after: 7)
        return .posted(messageID: "m8", place: place, time: Timestamp(1_700_000_000_000), priority: .normal)
    }

    func explain(_ room: RoomID) async throws(ChatError) -> RoomExplanation {
        try note(.explain(room))
        var explanation = RoomExplanation(room: room, time: Timestamp(1_700_000_000_000))
        explanation.log.leader = NodeID("n1")
        explanation.state = StateFigures()
        explanation.lanes = NodeID("n1").map { [LaneFigures(node: $0, lane: 0)] } ?? []
        return explanation
    }

    func issueToken(_ request: TokenRequest) async throws(ChatError) -> IssuedToken {
        try note(.token(request))
        return IssuedToken(token: "e30.e30.x", expiresAt: Timestamp(1_700_000_100_000))
    }

    func gateways(for room: RoomID) async throws(ChatError) -> GatewayAddresses {
        try note(.gateways(room))
        return GatewayAddresses(gateways: ["ws://127.0.0.1:7400/v1/ws"], ttlSeconds: 60)
    }

    /// The admin key; else a role, maybe with a prefix of rooms behind a slash.
    func administrator(bearer: String) async -> Administrator? {
        guard bearer != Self.adminKey else { return Administrator(name: "root") }
        let parts = bearer.split(separator: "/").map(String.init)
        return parts.first.flatMap {
            Administrator(name: "key-of-\($0)", role: $0, roomPrefix: parts.dropFirst().first)
        }
    }

    func unreadiness() async -> Unreadiness? { state.withLock { $0.unreadiness } }

    func metrics() async -> String { "chatroom_sessions 3\n" }
}

extension FakeCluster {
    static func room(_ id: String) -> RoomView {
        guard let room = RoomID(id) else { preconditionFailure("not a room ID: \(id)") }
        return self.room(room)
    }

    static func room(_ id: RoomID) -> RoomView {
        var info = RoomInfo(id: id, creator: user("ann"), createdAt: Timestamp(1_700_000_000_000))
        info.name = "Evening"
        info.idleCloseSeconds = 60
        info.viewerBudget = 20
        return RoomView(info: info, online: 41, shard: ShardID(3), leader: NodeID("n1"))
    }

    static func user(_ id: String) -> UserID {
        guard let user = UserID(id) else { preconditionFailure("not a user ID: \(id)") }
        return user
    }

    static func member(_ id: String) -> Member {
        var member = Member(
            user: user(id), profile: Profile(nick: "Ann", avatar: "https://a/1", ext: "x"), role: .manager)
        member.tempMuted = true
        member.tempMuteSeconds = 42
        member.online = true
        member.enteredAt = Timestamp(1_700_000_000_000)
        return member
    }

    /// One message of every shape that a history can hold.
    static func messages(_ room: RoomID) -> [Message] {
        let sender = Sender(user: user("ann"), profile: Profile(nick: "Ann", avatar: "u", ext: "e"), role: .guest)
        var media = Media(url: "https://m/1", name: "a.png", size: 9, contentType: "image/png")
        media.width = 2
        media.height = 3
        media.durationSeconds = 1.5
        media.thumbnail = "https://m/t"
        var kick = Notification(.kicked)
        kick.operator = UserName(user: user("bob"), nick: "Bob")
        kick.targets = [UserName(user: user("eve"), nick: "Eve")]
        kick.notifyExt = "bye"
        let bodies: [MessageBody] = [
            .text("hello \"\u{1F600}\""), .tip("tip"), .image(media), .audio(media), .video(media), .file(media),
            .location(latitude: 52.5, longitude: -13.25, title: "there"),
            .custom(content: "{}", subtype: 7, searchable: "s"),
            .combine(title: "t", summary: "s", messageIDs: ["m1"]), .notification(kick), .recalled(.text),
        ]
        return bodies.enumerated().map { index, body in
            var message = Message(
                room: room, place: .kept(seq: UInt64(index + 1)), messageID: "m\(index + 1)",
                time: Timestamp(1_700_000_000_000), from: body.type == .notification ? nil : sender, body: body)
            message.clientID = "c\(index)"
            message.mentions = [user("bob")]
            message.mentionAll = true
            message.ext = "x"
            message.replyTo = ReplyReference(
                messageID: "m0", seq: 0, user: user("bob"), nick: "Bob", excerpt: index == 0 ? "hi" : nil)
            return message
        }
    }
}
