import ChatModel
import RoomProtocol
import Testing
import Wire

/// After a connection was lost or a leader has changed, a lane shows nothing of a room until its stream goes on from what
/// was shown.
@Suite struct `Awaited streams` {
    var awaited = AwaitedStreams()
    let shown = RoomOutput.gap(61...61)
    let answer: RoomOutput
    let exited: RoomOutput
    let kicked: RoomOutput
    let room: RoomID
    let other: RoomID

    init() throws {
        room = try #require(RoomID("live"))
        other = try #require(RoomID("other"))
        let session = try #require(SessionID("s1"))
        answer = .retry(session, request: 1)
        exited = .exited(session, request: 2)
        kicked = .kicked(session, .byManager, ext: nil)
    }

    private mutating func takes(_ output: RoomOutput, of room: RoomID) throws -> Bool {
        awaited.takes(output, of: room)
    }

    @Test mutating func `nothing is awaited in the beginning`() throws {
        #expect(try takes(shown, of: room) && takes(.following(1), of: room))
    }

    @Test mutating func `what comes before a room goes on is not shown, what comes behind is`() throws {
        let number = awaited.begin(room, at: 0)
        #expect(try !takes(shown, of: room), "on its way since before")
        #expect(try !takes(exited, of: room), "it is asked again")
        #expect(try takes(answer, of: room) && takes(kicked, of: room))
        #expect(try takes(shown, of: other))
        #expect(try takes(.following(number), of: room))
        #expect(try takes(shown, of: room) && takes(exited, of: room))
    }

    @Test func `a leader that is told several times within its time gets no more of it`() throws {
        let room = try #require(RoomID("live"))
        var awaited = AwaitedStreams()
        for time in UInt64(0)...3 { _ = awaited.begin(room, at: time) }
        #expect(awaited.overdue(at: 3 + AwaitedStreams.pauseFirst) == [room])
    }

    @Test mutating func `only the last that the leader was told counts`() throws {
        let first = awaited.begin(room, at: 0)
        let second = awaited.begin(room, at: 0)
        #expect(first != second)
        #expect(try !takes(.following(first), of: room) && !takes(shown, of: room))
        #expect(try takes(.following(second), of: room) && takes(shown, of: room))
        #expect(try takes(.following(first), of: room), "it says nothing")
    }

    @Test mutating func `a room that nobody is in any more is not awaited`() throws {
        _ = awaited.begin(room, at: 0)
        let number = awaited.begin(other, at: 0)
        awaited.forget { $0 == room }
        #expect(try takes(shown, of: room) && !takes(shown, of: other))
        #expect(try takes(.following(number), of: other))
    }

    @Test mutating func `a leader that does not go on is told once more, after longer and longer pauses`() throws {
        var now: UInt64 = 1_000
        _ = awaited.begin(room, at: now)
        var pauses: [UInt64] = []
        for _ in 0..<6 {
            let asked = now
            while awaited.overdue(at: now) != [room] { now += 100 }
            pauses.append(now - asked)
            _ = awaited.begin(room, at: now)
        }
        #expect(pauses == [2_000, 4_000, 8_000, 16_000, 16_000, 16_000])
        let number = awaited.begin(room, at: now)
        #expect(awaited.awaits(room))
        #expect(try takes(.following(number), of: room))
        #expect(!awaited.awaits(room))
        #expect(awaited.overdue(at: now + 100_000) == [], "it has gone on")
        _ = awaited.begin(room, at: now)
        #expect(awaited.overdue(at: now + AwaitedStreams.pauseFirst) == [room], "from the beginning")
    }

    @Test mutating func `a leader that is told of many sessions has the time that it needs for them`() {
        _ = awaited.begin(room, sessions: 50_000, at: 0)
        #expect(awaited.overdue(at: 6_900) == [])
        #expect(awaited.overdue(at: 7_000) == [room])
        // What is told behind it waits behind it.
        var storm = AwaitedStreams()
        _ = storm.begin(room, sessions: 20_000, at: 0)
        _ = storm.begin(other, sessions: 20_000, at: 0)
        #expect(storm.overdue(at: 4_000) == [room] && storm.overdue(at: 5_900) == [])
        #expect(storm.overdue(at: 6_000).contains(other))
        var huge = AwaitedStreams()
        _ = huge.begin(room, sessions: 10_000_000, at: 0)
        #expect(huge.overdue(at: AwaitedStreams.pauseMax) == [room])
    }

    @Test mutating func `a leader that goes on with other rooms of the shard is not told again`() throws {
        let shard = ShardID(3)
        var numbers: [RoomID: UInt64] = [:]
        let rooms = try (0..<20).map { try #require(RoomID("r\($0)")) }
        for each in rooms { numbers[each] = awaited.begin(each, of: shard, at: 0) }
        // It takes a second for each, as one does that has far too much to do.
        for (second, each) in rooms.enumerated().prefix(15) {
            for hundred in 0..<10 as Range<UInt64> {
                #expect(awaited.overdue(at: UInt64(second) * 1_000 + hundred * 100) == [])
            }
            #expect(try takes(.following(try #require(numbers[each])), of: each))
        }
        // A room that was lost among them does not wait for ever.
        #expect(awaited.overdue(at: AwaitedStreams.pauseMax).count == 5)
        // Nor does progress elsewhere count.
        var lost = AwaitedStreams()
        let number = lost.begin(room, of: ShardID(4), at: 0)
        _ = lost.begin(other, of: shard, at: 0)
        #expect(lost.takes(.following(number), of: room) == true)
        #expect(lost.overdue(at: 2_000) == [other])
    }

    @Test mutating func `a room whose leader can't be told now comes again`() throws {
        _ = awaited.begin(room, at: 0)
        #expect(awaited.overdue(at: 2_000) == [room])
        #expect(awaited.overdue(at: 2_100) == [])
        #expect(awaited.overdue(at: 4_000) == [room])
    }
}
