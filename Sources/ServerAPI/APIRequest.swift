import ChatModel
import Wire

/// One request as a route's handler sees it: authorized, its path matched, its body read.
struct APIRequest: Sendable {
    /// The caller; nil on routes without authorization.
    var administrator: Administrator?
    /// The path's parameters, decoded.
    var path: [String: String]
    var query: QueryParameters
    /// Method and path, as sent.
    var call: String
    /// The `Idempotency-Key`, checked.
    var idempotencyKey: String?
    var body: [UInt8]
    /// When the request came in.
    var time: Timestamp

    /// The key that a repeat of this call has too; nil without one.
    var callKey: CallKey? { callKey(or: nil) }

    /// The same with what stands for an absent `Idempotency-Key`.
    func callKey(or other: String?) -> CallKey? {
        (idempotencyKey ?? other).map { CallKey(call: call, text: $0) }
    }

    /// - Throws: 414 when the path names no valid room ID.
    var room: RoomID {
        get throws(ChatError) {
            guard let room = RoomID(path["room", default: ""]) else { throw Self.invalid("room", "a room ID") }
            return room
        }
    }

    /// - Throws: 414 when the path names no valid user ID.
    var user: UserID {
        get throws(ChatError) {
            guard let user = UserID(path["user", default: ""]) else { throw Self.invalid("user", "a user ID") }
            return user
        }
    }

    /// - Throws: 404 when the path names nothing that could be a session's ID.
    var session: SessionID {
        get throws(ChatError) {
            guard let session = SessionID(path["session", default: ""]) else {
                throw ChatError(.notFound, "there is no such session")
            }
            return session
        }
    }

    /// - Throws: 414 when the path names no valid node ID.
    var node: NodeID {
        get throws(ChatError) {
            guard let node = NodeID(path["node", default: ""]) else { throw Self.invalid("node", "a node ID") }
            return node
        }
    }

    /// - Throws: 414 when the path names nothing that could be a shard.
    var shard: ShardID {
        get throws(ChatError) {
            guard let number = UInt16(path["shard", default: ""]) else { throw Self.invalid("shard", "a shard") }
            return ShardID(number)
        }
    }

    /// - Throws: 414 when the path names nothing that could be a message's ID.
    var messageID: String { get throws(ChatError) { try opaqueID("messageId", "a message ID") } }
    var heldID: String { get throws(ChatError) { try opaqueID("heldId", "the ID of a held message") } }

    private func opaqueID(_ name: String, _ meaning: String) throws(ChatError) -> String {
        let text = path[name, default: ""]
        guard (1...Limits.opaqueIDBytes).contains(text.utf8.count) else { throw Self.invalid(name, meaning) }
        return text
    }

    /// In whose name the call is made.
    func actor(_ options: ServerOptions) -> Actor {
        administrator?.actor(options) ?? options.operator.map(Actor.server) ?? .system
    }

    private static func invalid(_ field: String, _ what: String) -> ChatError {
        ChatError(.badParameter, "the path does not name \(what)", field: field)
    }
}
