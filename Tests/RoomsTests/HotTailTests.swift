import ChatModel
import Testing

@testable import RoomStream

/// The newest messages of a room, in memory.
struct HotTailTests {
    private func message(_ seq: UInt64, _ body: MessageBody = .text("hello")) throws -> Message {
        let room = try #require(RoomID("r"))
        return Message(
            room: room, place: .kept(seq: seq), messageID: "m\(seq)", time: Timestamp(Int64(seq)), from: nil, body: body
        )
    }

    private func kick(_ seq: UInt64, _ name: String) throws -> Message {
        var notification = Notification(.kicked)
        notification.targets = [UserName(user: try user(name), nick: "")]
        return try message(seq, .notification(notification))
    }

    @Test func `it holds the last 256, and says so of each place to begin from`() throws {
        var tail = HotTail()
        for seq in 1...1_000 as ClosedRange<UInt64> { tail.append(try message(seq)) }
        #expect(tail.firstSeq == 745)
        #expect(tail.holdsAll(after: 744, lastSeq: 1_000) && !tail.holdsAll(after: 743, lastSeq: 1_000))
        #expect(tail.messages(after: 744, lastSeq: 1_000, limit: 2)?.compactMap(\.seq) == [745, 746])
        #expect(tail.messages(after: 743, lastSeq: 1_000, limit: 2) == nil)
        #expect(tail.messages(after: 1_000, lastSeq: 1_000, limit: 2) == [])
    }

    @Test func `a kick is known for as long as its message is held, and to whoever was there then`() throws {
        var tail = HotTail()
        tail.append(try kick(1, "ann"))
        tail.append(try kick(2, "bob"))
        let (ann, bob) = (try user("ann"), try user("bob"))
        #expect(tail.kicked(ann, since: Timestamp(1)) && !tail.kicked(ann, since: Timestamp(2)))
        let eve = try user("eve")
        #expect(tail.kicked(bob, since: Timestamp(2)) && !tail.kicked(eve, since: Timestamp(0)))
        for seq in 3...257 as ClosedRange<UInt64> { tail.append(try message(seq)) }
        #expect(!tail.kicked(ann, since: Timestamp(0)) && tail.kicked(bob, since: Timestamp(0)))
        tail.append(try message(258))
        #expect(!tail.kicked(bob, since: Timestamp(0)))
    }
}
