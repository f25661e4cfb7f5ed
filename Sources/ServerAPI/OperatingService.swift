import ChatModel
import Wire

/// Questions of the server API to the cluster about users, sessions, nodes, and about its own calls. All calls throw
/// `ChatError`.
public protocol OperatingService: Sendable {
    /// Refuses the user's tokens issued until now and ends the sessions that rely on them. Returns the time; tokens
    /// issued then or before are refused.
    /// - Parameter id: a repeat with the same one gets the first result.
    func revoke(_ user: UserID, id: String?) async throws(ChatError) -> Timestamp
    /// Bans or mutes a user in all rooms: for so many seconds, for good (nil), or no more (0).
    /// - Parameter id: a repeat with the same one does nothing twice.
    func sanction(_ user: UserID, _ kind: SanctionKind, _ request: SanctionRequest, id: String?) async throws(ChatError)
    func user(_ user: UserID) async throws(ChatError) -> UserView
    /// Users who are banned or muted in all rooms, in the order of their IDs.
    func users(_ kind: SanctionKind, after: UserID?, limit: Int) async throws(ChatError) -> Page<UserView, UserID>
    /// Ends the user's sessions with 4403. Returns how many there were.
    func forceOffline(_ user: UserID) async throws(ChatError) -> SessionCount
    func sessions(of user: UserID) async throws(ChatError) -> SessionsView
    /// A page of all sessions, in the order of their IDs.
    func sessions(after: String?, limit: Int) async throws(ChatError) -> SessionsView
    /// Sessions that don't take what they are sent, those with the most waiting first.
    func slowSessions(limit: Int) async throws(ChatError) -> SessionsView
    /// Ends one session with 4403. Throws 404 when there is none.
    func end(_ session: SessionID) async throws(ChatError)
    /// Shows a message to the user's connected sessions. Returns how many took it.
    func direct(_ message: Message, to user: UserID) async throws(ChatError) -> SessionCount
    /// Shows a message to everyone online, at most once. Returns how many were given it.
    func broadcast(_ message: Message) async throws(ChatError) -> SessionCount

    func stats() async throws(ChatError) -> StatsView
    /// The activity of each node at the moment.
    func figures() async throws(ChatError) -> FiguresView
    func nodes() async throws(ChatError) -> [NodeView]
    func shards() async throws(ChatError) -> [ShardView]
    func health() async throws(ChatError) -> ClusterHealthView
    /// Begins to empty a node: its shards and clients go to others. Returns when that is decided, not when it is done.
    /// Throws 404 for a node that there is not, 409 when the others could not keep what it holds.
    func drain(_ node: NodeID) async throws(ChatError)
    /// Takes a node out of the cluster, which must be dead or empty. Throws like `drain`.
    func remove(_ node: NodeID) async throws(ChatError)
    /// Lets a node that was taken out come again, without the data that it had. Throws 404 for a node that was not.
    func readmit(_ node: NodeID) async throws(ChatError)
    /// Hands the leadership of a shard to one of its replicas. Returns when the node leads it. Throws 404 for a shard
    /// or a node that there is not, 409 for a node that has no complete replica, 503 when it did not come about in
    /// time.
    func transfer(_ shard: ShardID, to node: NodeID) async throws(ChatError)
    /// Copies what every node holds, as of now, into a new directory on each of them.
    func backup() async throws(ChatError) -> BackupView
    /// Raises the cluster's feature level. Throws 409 when a node can't do it or it is higher already, 503 when a node
    /// does not answer.
    func raise(to level: FeatureLevel) async throws(ChatError)
    func setLogLevel(_ level: LogLevel) async throws(ChatError)

    /// Takes note of a changing call. Returns at once.
    func record(_ item: AuditItem)
    /// The recorded calls of all nodes, newest first, without `next`.
    func audit(_ query: AuditQuery) async throws(ChatError) -> AuditView

    /// Throws 401 for what is wrong with a signed request whatever its body is: an unknown key, a time too far off, a
    /// nonce or a signature that is none.
    /// - Parameter request: without its body, which has not been read.
    func checkHead(ofSigned request: SignedRequest) throws(ChatError)
    /// The key that signed this request, with its rights. Throws 401 when the signature is wrong, too old, too early, or
    /// used before.
    func administrator(signed request: SignedRequest) async throws(ChatError) -> Administrator

    /// Claims the idempotency key of a call that is in no room's log.
    func begin(call key: String) async throws(ChatError) -> BegunCall
    /// Keeps the answer of a call whose key was claimed; nil gives the key back, because nothing was done.
    func finish(call key: String, answer: [UInt8]?) async throws(ChatError)
}

/// The known state of a call with an idempotency key.
public enum BegunCall: Sendable, Hashable {
    /// It is the first.
    case first
    /// A repeat: this is the first one's answer.
    case answered([UInt8])
    /// A repeat, and how the first one ended is not known (yet).
    case unknown
}

/// A request with `X-Chatroom-Signature` (PROTOCOL.md, "Signed requests").
public struct SignedRequest: Sendable, Hashable {
    /// The ID of an admin key.
    public var key: String
    /// Unix milliseconds, as sent.
    public var time: String
    public var nonce: String
    /// Hexadecimal.
    public var signature: String
    public var method: String
    /// As sent, percent escapes included.
    public var path: String
    /// As sent, without `?`; empty when there is none.
    public var query: String
    public var body: [UInt8]

    public init(
        key: String, time: String, nonce: String, signature: String, method: String, path: String, query: String,
        body: [UInt8]
    ) {
        self.key = key
        self.time = time
        self.nonce = nonce
        self.signature = signature
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }
}

/// Sessions over all nodes.
public struct SessionCount: Sendable {
    public var sessions: Int
    /// Listed nodes that did not answer, whose sessions are not counted.
    public var missing: [NodeID]

    public init(_ sessions: Int, missing: [NodeID] = []) {
        self.sessions = sessions
        self.missing = missing
    }
}
