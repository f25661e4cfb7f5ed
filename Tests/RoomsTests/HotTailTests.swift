import ChatModel
import Testing

@testable import RoomProtocol

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

    /// As a room is restored whose history is still being filled.
    @Test func `it begins behind a hole, and what is recalled there is gone`() throws {
        var tail = HotTail()
        for seq in [365...600, 1_001...1_020] as [ClosedRange<UInt64>] {
            for seq in seq { tail.append(try message(seq)) }
        }
        #expect(tail.firstSeq == 1_001 && !tail.isFull)
        tail.erase(seq: 601)
        tail.erase(seq: 1_010)
        let recalled = tail.newest(20, lastSeq: 1_020).filter(\.isRecalled).compactMap(\.seq)
        #expect(recalled == [1_010])
        tail.prepend(try (990...1_000).map { try message($0) }, lastSeq: 1_020)
        #expect(tail.firstSeq == 990)
    }

    @Test func `older messages come in front of it, as far as they lead up to it and there is place`() throws {
        var tail = HotTail()
        tail.prepend(try (1...9).map { try message($0) }, lastSeq: 10)
        #expect(tail.isEmpty, "they do not lead up to the room's seq")
        tail.append(try message(10))
        tail.prepend(try (1...7).map { try message($0) }, lastSeq: 10)
        #expect(tail.firstSeq == 10)
        tail.prepend(try [4, 6, 7, 8, 9, 10].map { try message($0) }, lastSeq: 10)
        #expect(tail.newest(100, lastSeq: 10).compactMap(\.seq) == [6, 7, 8, 9, 10], "up to the hole")
        #expect(tail.newest(2, lastSeq: 10).compactMap(\.seq) == [9, 10] && tail.newest(2, lastSeq: 11) == [])
        #expect(!tail.isFull)
        for seq in 11...300 as ClosedRange<UInt64> { tail.append(try message(seq)) }
        #expect(tail.firstSeq == 45 && tail.isFull)
        tail.prepend(try (1...44).map { try message($0) }, lastSeq: 300)
        #expect(tail.firstSeq == 45 && tail.message(seq: 300)?.seq == 300)
        tail.erase(seq: 300)
        #expect(tail.message(seq: 300)?.body == .recalled(.text))
    }

    @Test func `recalled messages no longer count as long ones, and as many have place as before`() throws {
        var tail = HotTail()
        let long = String(repeating: "x", count: 30_000)
        for seq in 1...300 as ClosedRange<UInt64> {
            tail.append(try message(seq, .text(long)))
            tail.erase(seq: seq)
        }
        #expect(tail.firstSeq == 45, "short ones by now")
        for seq in 301...600 as ClosedRange<UInt64> { tail.append(try message(seq)) }
        #expect(tail.firstSeq == 345)
        for seq in 601...700 as ClosedRange<UInt64> { tail.append(try message(seq, .text(long))) }
        #expect(tail.firstSeq == 667, "a megabyte")
    }

    @Test func `a recall takes the quotes of its message along, also of those that came in front`() throws {
        func reply(_ seq: UInt64, to quoted: UInt64) throws -> Message {
            var message = try message(seq)
            message.replyTo = ReplyReference(
                messageID: "m\(quoted)", seq: quoted, user: nil, nick: "n", excerpt: "hello")
            return message
        }
        func excerpts(_ tail: HotTail) -> [UInt64] {
            tail.newest(256, lastSeq: 9).filter { $0.replyTo?.excerpt != nil }.compactMap(\.seq)
        }
        var tail = HotTail()
        tail.append(try reply(7, to: 3))
        tail.append(try message(8))
        tail.append(try reply(9, to: 8))
        tail.prepend(try [message(5), reply(6, to: 3)], lastSeq: 9)
        #expect(excerpts(tail) == [6, 7, 9])
        tail.erase(seq: 3)
        #expect(excerpts(tail) == [9] && tail.message(seq: 7)?.replyTo?.messageID == "m3")
        tail.erase(seq: 5)
        tail.erase(seq: 8)
        #expect(excerpts(tail).isEmpty)
    }

    @Test func `an amended message takes its place, and its quote stays away once it has gone`() throws {
        var tail = HotTail()
        for seq in 1...5 as ClosedRange<UInt64> { tail.append(try message(seq)) }
        var amended = try message(3, .text("amended"))
        amended.editedAt = Timestamp(9)
        tail.amend(amended)
        #expect(tail.message(seq: 3) == amended && tail.message(seq: 4)?.body == .text("hello"))
        for seq in [0, 6] as [UInt64] { tail.amend(try message(seq, .text("elsewhere"))) }
        #expect(tail.newest(9, lastSeq: 5).map(\.body).filter { $0 == .text("hello") }.count == 4)
        var reply = try message(6)
        reply.replyTo = ReplyReference(messageID: "m1", seq: 1, user: nil, nick: "n", excerpt: "hello")
        tail.append(reply)
        tail.erase(seq: 1)
        reply.editedAt = Timestamp(9)
        tail.amend(reply)
        #expect(tail.message(seq: 6)?.replyTo == reply.replyTo?.withoutExcerpt)
    }

    @Test func `a kick is known for ten minutes, whatever is said meanwhile, to whoever was there then`() throws {
        var tail = HotTail()
        tail.append(try kick(1, "ann"))
        let (ann, bob, eve) = (try user("ann"), try user("bob"), try user("eve"))
        // Of this one no message tells.
        tail.noteKick(bob, at: Timestamp(2), PutOut(.byManager))
        #expect(tail.kicked(ann, since: Timestamp(1)) != nil && tail.kicked(ann, since: Timestamp(2)) == nil)
        #expect(tail.kicked(bob, since: Timestamp(2)) != nil && tail.kicked(eve, since: Timestamp(0)) == nil)
        for seq in 2...1_000 as ClosedRange<UInt64> { tail.append(try message(seq)) }
        #expect(tail.kicked(ann, since: Timestamp(0)) != nil && tail.kicked(bob, since: Timestamp(0)) != nil)
        tail.noteKick(eve, at: Timestamp(600_002), PutOut(.byManager))
        #expect(tail.kicked(ann, since: Timestamp(0)) == nil && tail.kicked(bob, since: Timestamp(0)) != nil)
    }

    @Test func `beyond the bound the oldest kicks are forgotten`() throws {
        var tail = HotTail()
        for number in 0...4_096 { tail.noteKick(try user("u\(number)"), at: Timestamp(5), PutOut(.byManager)) }
        let (first, second) = (try user("u0"), try user("u1"))
        #expect(tail.kicked(first, since: Timestamp(0)) == nil && tail.kicked(second, since: Timestamp(0)) != nil)
    }
}
