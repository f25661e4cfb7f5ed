import ChatModel
import Wire

/// Questions of the server API to the cluster. `Node` implements it; any node answers for all rooms.
///
/// All calls throw `ChatError`, whose `httpStatus` the routes answer with.
public protocol ClusterService: OperatingService {
    /// Runs a durable command through the log of the room's shard and returns its (never `.refused`) result.
    /// - Parameter id: a repeat with the same one gets the first result.
    func perform(_ body: CommandBody, in room: RoomID, as actor: Actor, id: CallKey?) async throws(ChatError)
        -> CommandResult

    /// Posts a message; see `perform`.
    /// - Parameters:
    ///   - sender: who is shown; what of the profile is empty is filled from the stay or the saved profile. nil is the
    ///     system.
    ///   - moderate: whether the words and the hook of moderation are asked, as they are about a member's message.
    func send(_ draft: MessageDraft, from sender: ServerSender?, moderate: Bool, in room: RoomID, id: CallKey?)
        async throws(ChatError) -> CommandResult

    /// The app's webhook, secret included; an empty URL: there is none.
    func webhook() async throws(ChatError) -> WebhookSettings
    func setWebhook(_ settings: WebhookSettings, id: String?) async throws(ChatError)
    /// Words and hook, secret included.
    func moderation() async throws(ChatError) -> ModerationSettings
    func setModeration(_ settings: ModerationSettings, id: String?) async throws(ChatError)

    func room(_ room: RoomID) async throws(ChatError) -> RoomView
    /// The place for content with `url`, to which its bytes are sent.
    func completed(_ upload: UploadResult, in room: RoomID) async throws(ChatError) -> UploadResult
    func rooms(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID>
    /// Deleted rooms that can be restored, in the order of their IDs.
    func deletedRooms(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID>
    /// Those with the most people first; active rooms only. Throws 414 for an `after` that is no cursor.
    func roomsByOnline(after: String?, limit: Int) async throws(ChatError) -> Page<RoomView, String>

    func history(of room: RoomID, _ query: HistoryRequest) async throws(ChatError) -> HistoryPage
    func search(_ request: SearchRequest) async throws(ChatError) -> SearchResult
    func message(_ messageID: String, in room: RoomID) async throws(ChatError) -> Message
    /// Takes one kept message back. A repeat of `id` changes nothing.
    func recall(_ messageID: String, in room: RoomID, as actor: Actor, _ options: NotifyOptions, id: CallKey?)
        async throws(ChatError)
    /// Takes back all kept messages of a user, those at or after `since` if given.
    func recallAll(
        of user: UserID, since: Timestamp?, in room: RoomID, as actor: Actor, _ options: NotifyOptions, id: CallKey?
    ) async throws(ChatError)

    func members(of room: RoomID, kind: MemberKind, after: String?, limit: Int) async throws(ChatError)
        -> Page<Member, String>
    func member(_ user: UserID, of room: RoomID) async throws(ChatError) -> Member
    func queue(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> QueueResult
    func tallies(of room: RoomID) async throws(ChatError) -> [Tally]
    func polls(of room: RoomID) async throws(ChatError) -> [Poll]
    /// Reports of messages, the oldest first.
    func reports(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> ReportsResult
    /// Messages that wait for a manager.
    func held(in room: RoomID, after: String?, limit: Int) async throws(ChatError) -> HeldResult
    func barrage(_ item: BarrageItem, in room: RoomID) async throws(ChatError)

    /// The numbers of why a room is slow or silent; the words are the route's. Answers also while nobody leads the
    /// room.
    func explain(_ room: RoomID) async throws(ChatError) -> RoomExplanation

    func issueToken(_ request: TokenRequest) async throws(ChatError) -> IssuedToken
    /// Client URLs for a client that wants to enter `room`, best first.
    func gateways(for room: RoomID) async throws(ChatError) -> GatewayAddresses

    /// The holder of this bearer token (admin key or JWT of an admin key), with its rights; nil for anybody else.
    /// - Throws: 503 while that can't be told.
    func administrator(bearer: String) async throws(ChatError) -> Administrator?

    /// nil when the node serves.
    func unreadiness() async -> Unreadiness?
    /// The Prometheus text exposition.
    func metrics() async -> String
}

public struct TokenRequest: Sendable, Hashable {
    public var user: UserID
    public var ttlSeconds: Int64?
    public var rooms: [RoomID]?
    public var nick: String?
    public var avatar: String?

    public init(user: UserID) { self.user = user }
}

public struct IssuedToken: Sendable, Hashable {
    public var token: String
    public var expiresAt: Timestamp

    public init(token: String, expiresAt: Timestamp) {
        self.token = token
        self.expiresAt = expiresAt
    }
}

public struct GatewayAddresses: Sendable, Hashable {
    public var gateways: [String]
    public var ttlSeconds: Int64

    public init(gateways: [String], ttlSeconds: Int64) {
        self.gateways = gateways
        self.ttlSeconds = ttlSeconds
    }
}
