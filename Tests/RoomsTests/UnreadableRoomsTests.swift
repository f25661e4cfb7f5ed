import ChatModel
import Testing

@testable import Rooms

/// Rooms whose files are damaged on one replica, as dialogues.
@Suite struct UnreadableRoomsTests {
    private let (room, other): (RoomID, RoomID)
    private var rooms = UnreadableRooms()

    init() throws { (room, other) = (try #require(RoomID("a")), try #require(RoomID("b"))) }

    @Test mutating func `a damaged room makes the replica leave leading for as long as others lead`() {
        #expect(!rooms.leavesLeading && rooms.isEmpty)
        let isNews = rooms.noteDamage(room)
        #expect(isNews)
        let again = rooms.noteDamage(room)
        #expect(!again, "that is known")
        for ticks in stride(from: UInt64(0), to: 10_000, by: 10) { rooms.look(othersLead: true, at: ticks) }
        #expect(rooms.leavesLeading && rooms.hasDamage)
    }

    @Test mutating func `when nobody else leads it leads all the same, until a further room is found`() {
        _ = rooms.noteDamage(room)
        rooms.look(othersLead: false, at: 0)
        rooms.look(othersLead: false, at: UnreadableRooms.unrelievedMax - 1)
        #expect(rooms.leavesLeading)
        // A leader between begins the time anew.
        rooms.look(othersLead: true, at: UnreadableRooms.unrelievedMax)
        rooms.look(othersLead: false, at: 200)
        rooms.look(othersLead: false, at: 199 + UnreadableRooms.unrelievedMax)
        #expect(rooms.leavesLeading)
        rooms.look(othersLead: false, at: 200 + UnreadableRooms.unrelievedMax)
        #expect(!rooms.leavesLeading)
        _ = rooms.noteDamage(room)
        #expect(!rooms.leavesLeading, "or it would go round for ever")
        _ = rooms.noteDamage(other)
        #expect(rooms.leavesLeading)
    }

    @Test mutating func `it leads again when all of them can be read`() {
        for room in [room, other] { _ = rooms.noteDamage(room) }
        rooms.noteReadable(room)
        #expect(rooms.leavesLeading)
        rooms.noteReadable(other)
        #expect(!rooms.leavesLeading && rooms.isEmpty)
    }

    @Test mutating func `each room is logged once a minute, and a bounded number of them`() {
        let first = rooms.logs(room, at: 0)
        let soon = rooms.logs(room, at: UnreadableRooms.logPause - 1)
        let later = rooms.logs(room, at: UnreadableRooms.logPause)
        #expect(first && !soon && later)
        var logged = 0
        for number in 0..<2 * UnreadableRooms.roomsMax {
            if let room = RoomID("room-\(number)"), rooms.logs(room, at: 1000) { logged += 1 }
        }
        #expect(logged <= UnreadableRooms.roomsMax && logged >= UnreadableRooms.roomsMax - 2)
    }
}
