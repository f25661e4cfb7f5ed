import ChatModel
import RoomProtocol
import Testing
import Wire

/// The calls of one lane, and what happens to them, as a test tells it.
struct Lane {
    /// Of the calls in these tests; another one is `Lane.other`.
    static let shard = ShardID(3)
    static let other = ShardID(4)

    var open = OpenRequests()
    /// Milliseconds.
    var now: UInt64 = 1_000

    /// A call of a session under a request ID.
    func call(_ session: String = "s1", _ request: UInt32? = 1, _ text: String = "") throws -> RoomRequest {
        let body = MessageDraft(body: .text(text))
        let send = SendRequest(room: try room("live"), clientID: "c\(text)", draft: body)
        return try call(session, request, .operation(.send(send)))
    }

    func call(_ session: String, _ request: UInt32?, _ body: RoomRequest.Body) throws -> RoomRequest {
        RoomRequest(
            room: try room("live"),
            from: SessionOrigin(
                SessionAddress(node: try node("n1"), lane: 0, session: try self.session(session), encoding: .json),
                Caller(user: try #require(UserID("ann")), anonymous: false), request: request), body)
    }

    func node(_ name: String) throws -> NodeID { try #require(NodeID(name)) }
    func room(_ name: String) throws -> RoomID { try #require(RoomID(name)) }
    func session(_ name: String) throws -> SessionID { try #require(SessionID(name)) }

    mutating func add(_ call: RoomRequest, _ shard: ShardID = Lane.shard) -> OpenRequests.Route {
        open.add(call, of: shard, at: now)
    }

    /// What is to be asked of a node that says that it leads; nil when that is no news.
    mutating func leads(_ name: String, _ term: UInt64, _ shard: ShardID = Lane.shard) throws -> [RoomRequest]? {
        open.onLeader(try node(name), shard, term: term)
    }

    mutating func lost(_ name: String, _ shard: ShardID? = nil) throws {
        open.onNodeLost(try node(name), shard, at: now)
    }

    mutating func answered(_ name: String = "s1", _ request: UInt32 = 1) throws -> Bool {
        open.answered(.session(try session(name)), request)
    }

    mutating func suspects(_ name: String, _ term: UInt64, _ shard: ShardID = Lane.shard) throws {
        open.onLeaderSuspected(try node(name), shard, term: term, at: now)
    }

    /// What is to be asked of a leader that is heard again.
    mutating func confirms(_ name: String, _ term: UInt64, _ shard: ShardID = Lane.shard) throws -> [RoomRequest] {
        open.onLeaderConfirmed(try node(name), shard, term: term)
    }

    /// A call was not taken.
    mutating func leadsStill(_ name: String, _ term: UInt64, _ shard: ShardID = Lane.shard) throws -> [RoomRequest] {
        open.onLeaderStill(try node(name), shard, term: term)
    }

    mutating func refused(_ name: String = "s1", _ request: UInt32 = 1, by node: String) throws {
        open.refused(.session(try session(name)), request, by: try self.node(node), at: now)
    }

    mutating func expire() -> [RoomRequest] { open.expire(at: now) }
}
