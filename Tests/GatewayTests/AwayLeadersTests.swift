import ChatModel
import RoomProtocol
import Testing
import Wire

@testable import Gateway

/// The news for viewers of a leader that is away, as dialogues.
@Suite struct AwayLeadersTests {
    private let shard = ShardID(0)
    private let room: RoomID
    private var roster = LaneRoster()
    private var awaited = AwaitedStreams()
    private var away = AwayLeaders()
    private var isLed = true

    init() throws {
        room = try #require(RoomID("live"))
        roster.add(7, to: room, of: shard)
    }

    private mutating func look(at now: UInt64) -> [RoomStatus] {
        let isLed = isLed
        return away.look(at: now, roster, awaited: awaited, isLed: { _ in isLed }).map(\.status)
    }

    @Test mutating func `a short absence is told nobody, and neither is its end`() {
        #expect(look(at: 0) == [])
        isLed = false
        #expect(look(at: 100) == [] && look(at: 599) == [])
        isLed = true
        #expect(look(at: 700) == [] && !away.isLost(room))
    }

    @Test mutating func `a leader that is heard again is back at once, and each is told once`() {
        isLed = false
        #expect(look(at: 100) == [] && look(at: 600) == [.lost] && look(at: 700) == [])
        #expect(away.isLost(room))
        isLed = true
        #expect(look(at: 800) == [.entered] && look(at: 900) == [] && !away.isLost(room))
        // Again, from the beginning.
        isLed = false
        #expect(look(at: 1_000) == [] && look(at: 1_499) == [] && look(at: 1_500) == [.lost])
    }

    @Test mutating func `with the next leader the room is back when its stream goes on, and not before`() {
        isLed = false
        _ = look(at: 100)
        #expect(look(at: 600) == [.lost])
        isLed = true
        let number = awaited.begin(room, of: shard, at: 700)
        #expect(look(at: 700) == [] && look(at: 5_000) == [])
        let isTaken = awaited.takes(.following(number, through: 9), of: room)
        #expect(isTaken && look(at: 5_100) == [.entered])
    }

    @Test mutating func `the time without a leader and the time until the stream goes on are one absence`() {
        isLed = false
        _ = look(at: 100)
        isLed = true
        _ = awaited.begin(room, of: shard, at: 400)
        #expect(look(at: 400) == [] && look(at: 500) == [] && look(at: 600) == [.lost])
    }

    @Test mutating func `a leader that does not go on with a room is away from it, though nobody missed it`() {
        _ = awaited.begin(room, of: shard, at: 0)
        #expect(look(at: 0) == [] && look(at: 499) == [] && look(at: 500) == [.lost])
    }

    @Test mutating func `a room that does not come back has failed, and is told no more`() {
        isLed = false
        _ = look(at: 0)
        #expect(look(at: 500) == [.lost])
        #expect(look(at: 500 + AwayLeaders.failedMilliseconds - 1) == [])
        #expect(look(at: 500 + AwayLeaders.failedMilliseconds) == [.failed])
        roster.remove(7, from: room, of: shard)
        isLed = true
        #expect(look(at: 900_000) == [])
    }

    @Test mutating func `a room that everybody has left is forgotten`() {
        isLed = false
        _ = look(at: 0)
        #expect(look(at: 500) == [.lost])
        roster.remove(7, from: room, of: shard)
        #expect(look(at: 600) == [] && !away.isLost(room))
        roster.add(8, to: room, of: shard)
        isLed = true
        #expect(look(at: 700) == [])
    }
}
