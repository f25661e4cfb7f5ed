import ChatModel
import RoomCore
import RoomProtocol
import Testing
import Wire

@testable import Rooms

/// Work of sessions that have the names of their users; nobody hears what it is answered.
extension RoomWork {
    static func enter(_ name: String, _ room: String = "r") throws -> RoomWork {
        let room = try #require(RoomID(room))
        return try work(name, room, .operation(.enter(EnterRequest(room: room))))
    }

    static func leave(_ name: String, _ room: String = "r") throws -> RoomWork {
        try work(name, try #require(RoomID(room)), .leave)
    }

    static func moved(_ name: String, _ room: String = "r") throws -> RoomWork {
        try work(name, try #require(RoomID(room)), .moved(from: nil))
    }

    private static func work(_ name: String, _ room: RoomID, _ body: RoomRequest.Body) throws -> RoomWork {
        let address = SessionAddress(
            node: try #require(NodeID("n")), lane: 0, session: try #require(SessionID(name)), encoding: .json)
        let caller = Caller(user: try user(name), anonymous: false)
        return .request(RoomRequest(room: room, from: SessionOrigin(address, caller), body))
    }

    var name: String? { key?.session.text }
}
