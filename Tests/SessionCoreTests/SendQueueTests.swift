import ChatModel
import SessionCore
import Testing

struct TestFrame: QueuedFrame, Equatable {
    var name: String
    var byteCount: Int
    var traffic: FrameTraffic
    var room: RoomID?
    var keptSeqs: ClosedRange<UInt64>?
    var unkeptCount = 0
    var barrageCount = 0

    static func message(_ seqs: ClosedRange<UInt64>, bytes: Int = 100, room: String = "r") -> TestFrame {
        TestFrame(
            name: "m\(seqs)", byteCount: bytes, traffic: .messages, room: RoomID(room), keptSeqs: seqs,
            unkeptCount: 1)
    }

    static func barrage(_ items: Int, bytes: Int = 100, room: String = "r", priority: Priority = .normal)
        -> TestFrame
    {
        TestFrame(
            name: "b\(items)", byteCount: bytes, traffic: .barrage(priority), room: RoomID(room), barrageCount: items)
    }

    static func reply(_ name: String, bytes: Int = 100) -> TestFrame {
        TestFrame(name: name, byteCount: bytes, traffic: .reply)
    }
}

struct SendQueueTests {
    @Test func `losses are counted over all rooms until they are told`() throws {
        var losses = Losses()
        let (one, other) = (try #require(RoomID("one")), try #require(RoomID("other")))
        losses.note(room: one, keptSeqs: 1...5, unkept: 2, barrage: 3)
        losses.note(room: one, keptSeqs: 9...9, unkept: 0, barrage: 0)
        losses.note(room: other, keptSeqs: nil, unkept: 0, barrage: 7)
        #expect(losses.count == 18)
        losses.forget(other)
        #expect(losses.count == 11)
        _ = losses.take()
        #expect(losses.count == 0)
    }

    private func drain(_ queue: inout SendQueue<TestFrame>) -> [String] {
        var names: [String] = []
        while let frame = queue.popFirst() { names.append(frame.name) }
        return names
    }

    @Test func `what is for this connection alone is counted apart, whatever is dropped`() {
        var queue = SendQueue<TestFrame>()
        var losses = Losses()
        queue.append(.reply("a", bytes: 10))
        queue.append(.message(1...1, bytes: 1_000))
        queue.append(.barrage(3, bytes: 500))
        queue.append(.reply("b", bytes: 7))
        #expect(queue.byteCount == 1_517 && queue.ownByteCount == 17)
        queue.shed(to: 0, losses: &losses)
        #expect(queue.byteCount == 17 && queue.ownByteCount == 17)
        _ = queue.popFirst()
        #expect(queue.ownByteCount == 7)
        _ = queue.popFirst()
        #expect(queue.byteCount == 0 && queue.ownByteCount == 0)
    }

    @Test func `frames go out in the order in which they were queued`() {
        var queue = SendQueue<TestFrame>()
        for number in 0..<500 { queue.append(.reply("\(number)", bytes: number)) }
        #expect(queue.byteCount == (0..<500).reduce(0, +))
        #expect(drain(&queue) == (0..<500).map(String.init))
        #expect(queue.byteCount == 0)
        #expect(queue.isEmpty)
    }

    @Test func `at the bound nothing is dropped and one byte over it barrage goes first`() {
        var queue = SendQueue<TestFrame>()
        queue.append(.message(1...2))
        queue.append(.barrage(7))
        queue.append(.reply("ack"))
        var losses = Losses()
        queue.shed(to: 300, losses: &losses)
        #expect(losses.isEmpty)
        queue.shed(to: 299, losses: &losses)
        #expect(losses.rooms.map(\.barrage) == [7])
        #expect(losses.rooms.map(\.ranges) == [[]])
        #expect(drain(&queue) == ["m1...2", "ack"])
    }

    @Test func `LOW barrage goes before NORMAL and NORMAL before HIGH`() {
        var queue = SendQueue<TestFrame>()
        queue.append(.barrage(1, priority: .high))
        queue.append(.barrage(2))
        queue.append(.barrage(3, priority: .low))
        queue.append(.message(1...2))
        var dropped: [String] = []
        for bytesMax in [399, 299, 199] {
            var losses = Losses()
            queue.shed(to: bytesMax, losses: &losses) { dropped.append($0.name) }
            #expect(losses.rooms.map(\.barrage) == [4 - dropped.count])
        }
        #expect(dropped == ["b3", "b2", "b1"])
        #expect(drain(&queue) == ["m1...2"])
    }

    @Test func `when barrage is not enough all messages go and become one range`() {
        var queue = SendQueue<TestFrame>()
        queue.append(.message(1...2))
        queue.append(.barrage(1))
        queue.append(.message(3...3))
        queue.append(.reply("ack"))
        var losses = Losses()
        queue.shed(to: 150, losses: &losses)
        #expect(losses.rooms.map(\.ranges) == [[1...3]])
        #expect(losses.rooms.map(\.unkept) == [2])
        #expect(drain(&queue) == ["ack"])
    }

    @Test func `replies are never dropped`() {
        var queue = SendQueue<TestFrame>()
        for number in 0..<10 { queue.append(.reply("\(number)")) }
        var losses = Losses()
        queue.shed(to: 0, losses: &losses)
        #expect(losses.isEmpty)
        #expect(drain(&queue).count == 10)
    }

    @Test func `lost totals are to be told again, and nothing else waits for that`() {
        var queue = SendQueue<TestFrame>()
        let room = RoomID("r")
        queue.append(TestFrame(name: "t", byteCount: 100, traffic: .totals, room: room))
        queue.append(TestFrame(name: "s", byteCount: 100, traffic: .status, room: room))
        queue.append(.message(1...1))
        var losses = Losses()
        queue.shed(to: 200, losses: &losses)
        #expect(drain(&queue) == ["s", "m1...1"])
        #expect(losses.isEmpty && losses.take().isEmpty)
        let told = [losses.takeTotals(), losses.takeTotals()]
        #expect(told == [room.map { [$0] } ?? [], []])
        losses.note(TestFrame(name: "t", byteCount: 1, traffic: .totals, room: room))
        if let room { losses.forget(room) }
        #expect(losses.withoutTotals.isEmpty, "nobody waits for them")
    }

    @Test func `losses are kept apart by room and ranges stay bounded`() {
        var losses = Losses()
        for seq in stride(from: UInt64(1), through: 200, by: 2) { losses.note(TestFrame.message(seq...seq)) }
        losses.note(TestFrame.message(9...9, room: "other"))
        #expect(losses.rooms.map(\.ranges.count) == [Losses.rangesMax, 1])
        #expect(losses.rooms.first?.ranges.last?.upperBound == 199)
        losses.forget(RoomID("other")!)
        #expect(losses.take().count == 1)
        #expect(losses.isEmpty)
    }

    @Test func `a gap that is lost itself is joined with what it overlaps`() {
        var losses = Losses()
        losses.note(TestFrame.message(10...12))
        losses.note(TestFrame.message(20...22))
        losses.note(TestFrame.message(5...15))
        #expect(losses.rooms.map(\.ranges) == [[5...22]])
        losses.note(TestFrame.message(30...30))
        losses.note(TestFrame.message(30...30))
        losses.note(TestFrame.message(1...2))
        #expect(losses.rooms.map(\.ranges) == [[1...30]])
    }

    @Test func `a directed message that is dropped counts as unkept`() {
        var queue = SendQueue<TestFrame>()
        var directed = TestFrame.message(1...1)
        (directed.keptSeqs, directed.unkeptCount) = (nil, 1)
        queue.append(directed)
        var losses = Losses()
        queue.shed(to: 0, losses: &losses)
        #expect(losses.rooms.map(\.unkept) == [1] && losses.rooms.map(\.ranges) == [[]])
    }
}
