import ChatModel
import RoomCore
import Testing

@testable import Rooms

extension RoomSlots.Place {
    /// Of a refusal its message.
    fileprivate var text: String {
        switch self {
        case .active: "active"
        case .waiting: "waiting"
        case .absent: "absent"
        case .full(let error): error.message
        }
    }
}

struct RoomSlotsTests {
    @Test func `what comes while a room is being loaded waits for it, in order`() throws {
        var slots = RoomSlots()
        let (first, second) = (try RoomWork.enter("ann"), try RoomWork.enter("bob"))
        let (elsewhere, room) = (try RoomWork.enter("cid", "s"), try #require(RoomID("r")))
        #expect(slots.find(first).text == "absent")
        #expect(slots.isAbsent(room))
        slots.beginLoading(room, [first])
        #expect(!slots.isAbsent(room) && slots.isLoading(room))
        #expect(slots.find(second).text == "waiting")
        #expect(slots.find(elsewhere).text == "absent")
        let waiting = slots.endLoading(room, nil)
        #expect(waiting.map(\.name) == ["ann", "bob"])
        #expect(slots.isAbsent(room) && slots.count == 0)
    }

    @Test func `at the bound of a room questions are refused, and who has gone is taken`() throws {
        var slots = RoomSlots()
        let (question, leaving) = (try RoomWork.enter("ann"), try RoomWork.leave("ann"))
        let room = try #require(RoomID("r"))
        slots.beginLoading(room, Array(repeating: question, count: 10_000))
        #expect(slots.find(question).text == "the room is still loading")
        #expect(slots.find(leaving).text == "waiting")
        let waiting = slots.endLoading(room, nil)
        #expect(waiting.count == 10_001)
    }

    @Test func `who is here goes on waiting for a room that could not be read, as long as it is led`() throws {
        var slots = RoomSlots()
        let room = try #require(RoomID("r"))
        slots.beginLoading(room, [try .enter("ann"), try .leave("bob"), try .moved("cid")])
        let first = slots.loadingFailed(room, isNeeded: false, isLed: true)
        #expect(first.failed.map(\.name) == ["ann"] && first.attempts == 1 && slots.isLoading(room))
        let (question, leaving) = (try RoomWork.enter("ann"), try RoomWork.leave("cid"))
        #expect(slots.find(question).text == "the room can't be read", "at once, not after the next try")
        #expect(slots.find(leaving).text == "waiting")
        let second = slots.loadingFailed(room, isNeeded: true, isLed: false)
        #expect(second.failed.map(\.name) == ["bob", "cid", "cid"] && second.attempts == 2)
        let third = slots.loadingFailed(room, isNeeded: false, isLed: true)
        #expect(third.failed.isEmpty && third.attempts == nil && slots.isAbsent(room))
        #expect(slots.find(question).text == "absent", "whoever asks next has it read anew")
    }

    @Test func `for those alone who have gone no room is asked for again`() throws {
        var slots = RoomSlots()
        let room = try #require(RoomID("r"))
        slots.beginLoading(room, [try .leave("bob")])
        let failure = slots.loadingFailed(room, isNeeded: false, isLed: true)
        #expect(failure.failed.map(\.name) == ["bob"] && failure.attempts == nil && slots.isAbsent(room))
    }

    @Test func `rooms that can't be read hold up no others`() throws {
        var slots = RoomSlots()
        for number in 0..<256 { slots.beginLoading(try #require(RoomID("r\(number)")), []) }
        #expect(!slots.mayFetch)
        _ = slots.loadingFailed(try #require(RoomID("r7")), isNeeded: true, isLed: true)
        #expect(slots.mayFetch)
    }

    @Test func `what waits and is of no use any more is taken out, and its room stays on its way`() throws {
        var slots = RoomSlots()
        let room = try #require(RoomID("r"))
        slots.beginLoading(room, [try RoomWork.enter("ann"), try RoomWork.leave("bob")])
        let first = slots.takeWaiting { $0.name == "bob" }
        #expect(first.map(\.name) == ["bob"] && slots.isLoading(room))
        let rest = slots.takeWaiting()
        #expect(rest.map(\.name) == ["ann"] && slots.isLoading(room))
    }

    @Test func `nobody's rooms are loaded beyond a few, and called ones beyond many`() throws {
        var slots = RoomSlots()
        let (newcomer, other) = (try RoomWork.enter("ann"), try RoomWork.enter("ann", "r0"))
        for number in 0..<10_000 {
            #expect(slots.mayFetch == (number < 256))
            slots.beginLoading(try #require(RoomID("r\(number)")), [])
        }
        #expect(slots.find(newcomer).text == "too many rooms are loading")
        #expect(slots.find(other).text == "waiting")
        _ = slots.endLoading(try #require(RoomID("r1")), nil)
        #expect(slots.find(newcomer).text == "absent")
    }

    @Test func `when all rooms leave memory, what waited is told, and answers of before are of another generation`()
        throws
    {
        var slots = RoomSlots()
        let room = try #require(RoomID("r"))
        slots.beginLoading(room, [try .enter("ann")])
        let generation = slots.generation
        let waiting = slots.removeAll()
        #expect(waiting.map(\.name) == ["ann"])
        #expect(slots.generation != generation)
        #expect(slots.isAbsent(room) && slots.mayFetch)
        let late = slots.endLoading(room, nil)
        #expect(late.isEmpty)
    }
}
