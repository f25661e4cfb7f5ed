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

    /// - Throws: 413 for more than 64 bytes, 414 for anything else that is no room ID.
    var room: RoomID { get throws(ChatError) { try id("room", "a room ID", RoomID.init) } }

    /// - Throws: 413 for more than 64 bytes, 414 for anything else that is no user ID.
    var user: UserID { get throws(ChatError) { try id("user", "a user ID", UserID.init) } }

    /// - Throws: 404 when the path names nothing that could be a session's ID.
    var session: SessionID {
        get throws(ChatError) {
            guard let session = SessionID(path["session", default: ""]) else {
                throw ChatError(.notFound, "there is no such session")
            }
            return session
        }
    }

    /// - Throws: 413 for more than 64 bytes, 414 for anything else that is no node ID.
    var node: NodeID { get throws(ChatError) { try id("node", "a node ID", NodeID.init) } }

    /// - Throws: 414 when the path names nothing that could be a shard.
    var shard: ShardID {
        get throws(ChatError) {
            guard let number = UInt16(path["shard", default: ""]) else { throw Self.invalid("shard", "a shard") }
            return ShardID(number)
        }
    }

    /// - Throws: 413 for more than 64 bytes, 414 for none.
    var messageID: String { get throws(ChatError) { try opaqueID("messageId", "a message ID") } }
    var mediaID: String { get throws(ChatError) { try opaqueID("mediaId", "the ID of content") } }
    var heldID: String { get throws(ChatError) { try opaqueID("heldId", "the ID of a held message") } }

    private func opaqueID(_ name: String, _ meaning: String) throws(ChatError) -> String {
        try id(name, meaning) { $0.isEmpty ? nil : $0 }
    }

    private func id<ID>(_ name: String, _ meaning: String, _ make: (String) -> ID?) throws(ChatError) -> ID {
        let text = path[name, default: ""]
        // Names and opaque IDs have the same bound.
        guard text.utf8.count <= Limits.opaqueIDBytes else {
            throw ChatError(.tooLarge, "\(name) has over \(Limits.opaqueIDBytes) bytes", field: name)
        }
        guard let id = make(text) else { throw Self.invalid(name, meaning) }
        return id
    }

    /// In whose name the call is made.
    func actor(_ options: ServerOptions) -> Actor {
        administrator?.actor(options) ?? options.operator.map(Actor.server) ?? .system
    }

    private static func invalid(_ field: String, _ what: String) -> ChatError {
        ChatError(.badParameter, "the path does not name \(what)", field: field)
    }
}
