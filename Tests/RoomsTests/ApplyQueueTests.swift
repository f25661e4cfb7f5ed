import ChatModel
import Consensus
import Testing
import Wire

@testable import Rooms

struct ApplyQueueTests {
    private func entry(_ index: UInt64, _ room: String) throws -> Entry {
        let command = Command(id: nil, room: try #require(RoomID(room)), actor: .system, body: .expire)
        return Entry(
            index: index, term: 1, kind: .command, payload: LogCodec.encode(command, time: Timestamp(Int64(index))))
    }

    @Test func `rooms are asked for in the order of their commands, each command once`() throws {
        var queue = ApplyQueue()
        queue.append(contentsOf: [
            try entry(1, "a"), Entry(index: 2, term: 1, kind: .empty, payload: []), try entry(3, "b"),
        ])
        #expect(queue.nextRoom()?.text == "a")
        #expect(queue.nextRoom()?.text == "b")
        #expect(queue.nextRoom()?.text == nil)
        queue.append(contentsOf: [try entry(4, "a")])
        #expect(queue.nextRoom()?.text == "a")
        #expect(queue.nextRoom()?.text == nil)
        queue.forgetFetched()
        #expect(queue.nextRoom()?.text == "a")
    }

    @Test func `nobody asks for the room of what has been applied`() throws {
        var queue = ApplyQueue()
        queue.append(contentsOf: [try entry(1, "a"), try entry(2, "b")])
        queue.removeFirst()
        #expect(queue.first?.index == 2)
        #expect(queue.nextRoom()?.text == "b")
        queue.forgetFetched()
        #expect(queue.nextRoom()?.text == "b")
    }

    @Test func `only the first command holds the others up`() throws {
        let (a, b) = (try #require(RoomID("a")), try #require(RoomID("b")))
        var queue = ApplyQueue()
        #expect(!queue.isHeldUp(by: a))
        queue.append(contentsOf: [try entry(1, "a"), try entry(2, "b")])
        #expect(queue.isHeldUp(by: a) && !queue.isHeldUp(by: b))
        queue.removeFirst()
        #expect(!queue.isHeldUp(by: a) && queue.isHeldUp(by: b))
    }

    @Test func `a queue that never gets empty lets go of what was applied, and asks for no room twice`() throws {
        var queue = ApplyQueue()
        for index in 1...3_000 as ClosedRange<UInt64> { queue.append(contentsOf: [try entry(index, "r\(index)")]) }
        for index in 1...2_000 as ClosedRange<UInt64> { #expect(queue.nextRoom()?.text == "r\(index)") }
        for index in 1...2_999 as ClosedRange<UInt64> {
            #expect(queue.first?.index == index)
            queue.removeFirst()
            if index == 1_700 { #expect(queue.nextRoom()?.text == "r2001") }
        }
        #expect(queue.first?.index == 3_000 && queue.nextRoom()?.text == "r3000")
    }

    @Test func `a queue that was emptied begins anew`() throws {
        var queue = ApplyQueue()
        queue.append(contentsOf: [try entry(1, "a"), try entry(2, "b")])
        #expect(queue.nextRoom()?.text == "a")
        queue.removeFirst()
        queue.removeFirst()
        #expect(queue.isEmpty && queue.first == nil)
        queue.append(contentsOf: [try entry(3, "c")])
        #expect(!queue.isEmpty && queue.first?.index == 3)
        #expect(queue.nextRoom()?.text == "c")
        queue.removeAll()
        #expect(queue.isEmpty)
        #expect(queue.nextRoom()?.text == nil)
    }
}
