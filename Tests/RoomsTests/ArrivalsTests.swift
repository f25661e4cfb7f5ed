import ChatModel
import RoomCore
import RoomProtocol
import Testing
import Wire

@testable import Rooms

@Suite struct ArrivalsTests {
    private func arrival(_ name: String, _ encoding: ClientEncoding = .json, seq: UInt64 = 0) throws -> Arrival {
        let work = try RoomWork.enter(name)
        guard case .request(let request) = work, var call = request.session, let key = work.key else {
            throw ChatError(.internal, "not a call")
        }
        call.address.encoding = encoding
        return Arrival(call: call, key: key, request: EnterRequest(room: request.room, since: seq))
    }

    @Test func `they are answered in their order, and a session is here until its last is`() throws {
        var arrivals = Arrivals()
        let (ann, bob) = (try arrival("ann"), try arrival("bob", .protobuf))
        #expect(arrivals.isEmpty && arrivals.encodings == [])
        for each in [ann, bob, ann] { arrivals.append(each) }
        #expect(arrivals.encodings == [.json, .protobuf])
        #expect(arrivals.popFirst()?.key == ann.key)
        #expect(arrivals.contains(ann.key) && arrivals.contains(bob.key))
        #expect(arrivals.popFirst()?.key == bob.key)
        #expect(!arrivals.contains(bob.key) && arrivals.encodings == [.json, .protobuf])
        #expect(arrivals.popFirst()?.key == ann.key)
        #expect(!arrivals.contains(ann.key) && arrivals.isEmpty && arrivals.encodings == [])
        #expect(arrivals.popFirst()?.key == nil)
    }

    @Test func `what nobody waits for is not answered, and what the same session asks later is`() throws {
        var arrivals = Arrivals()
        let bob = try arrival("bob")
        for seq in [1, 2] as [UInt64] { arrivals.append(try arrival("ann", seq: seq)) }
        arrivals.append(bob)
        let ann = try arrival("ann", seq: 3)
        arrivals.forget(ann.key)
        #expect(!arrivals.contains(ann.key))
        arrivals.append(ann)
        #expect(arrivals.contains(ann.key))
        #expect(arrivals.popFirst()?.key == bob.key)
        #expect(arrivals.popFirst()?.request.since == 3)
        #expect(arrivals.isEmpty)
        arrivals.append(ann)
        arrivals.forget(ann.key)
        #expect(arrivals.popFirst()?.key == nil)
        #expect(arrivals.isEmpty)
    }
}
