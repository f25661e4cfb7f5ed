import ChatModel
import Wire

/// What the server API asks of the cluster. `Node` implements it; any node answers for all rooms.
///
/// All calls throw `ChatError`, whose `httpStatus` the routes answer with.
public protocol ClusterService: OperatingService {
    /// Runs a durable command through the log of the room's shard and returns its (never `.refused`) result.
    /// - Parameter id: the caller's `Idempotency-Key` (or `clientId`); a repeat gets the first result.
    func perform(_ body: CommandBody, in room: RoomID, as actor: Actor, id: String?) async throws(ChatError)
        -> CommandResult

    func room(_ room: RoomID) async throws(ChatError) -> RoomView
    func rooms(after: RoomID?, limit: Int) async throws(ChatError) -> Page<RoomView, RoomID>
    /// Those with the most people first; active rooms only.
    func roomsByOnline(limit: Int) async throws(ChatError) -> [RoomView]

    func history(of room: RoomID, _ query: HistoryRequest) async throws(ChatError) -> HistoryPage
    func message(_ messageID: String, in room: RoomID) async throws(ChatError) -> Message

    func members(of room: RoomID, kind: MemberKind, after: String?, limit: Int) async throws(ChatError)
        -> Page<Member, String>
    func member(_ user: UserID, of room: RoomID) async throws(ChatError) -> Member
    func queue(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> QueueResult
    func barrage(_ item: BarrageItem, in room: RoomID) async throws(ChatError)

    func issueToken(_ request: TokenRequest) async throws(ChatError) -> IssuedToken
    /// Client URLs for a client that wants to enter `room`, best first.
    func gateways(for room: RoomID) async throws(ChatError) -> GatewayAddresses

    /// Whether the holder of this bearer token (admin key or JWT of an admin key) may use the API: who it is, or nil.
    func administrator(bearer: String) async -> String?

    /// nil when the node serves, else a sentence that says why not yet.
    func unreadiness() async -> String?
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
