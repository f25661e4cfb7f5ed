import ChatModel
import RoomLink
import Testing

/// What differs between a lane and a leader for long is put right, what is only under way is not, and nothing is put right
/// again and again without a pause.
@Suite struct `Stream watch` {
    let shard = ShardID(3)
    let room: RoomID
    let other: RoomID
    var watch = StreamWatch()

    init() throws {
        room = try #require(RoomID("live"))
        other = try #require(RoomID("other"))
    }

    private func told(_ rooms: RoomTally..., isWhole: Bool = true) -> ShardTallies {
        ShardTallies(shard: shard, lane: 0, term: 1, rooms: rooms, isWhole: isWhole)
    }

    private func own(_ rooms: RoomTally...) -> [RoomID: RoomTally] {
        Dictionary(uniqueKeysWithValues: rooms.map { ($0.room, $0) })
    }

    @Test mutating func `one pulse that differs is nothing, the second makes it ask, one that agrees ends that`() {
        let asks = [false, false, false, true, false].map { watch.pulse(of: shard, agrees: $0) }
        #expect(asks == [false, true, true, false, false])
    }

    @Test mutating func `only what differs twice in a row is repaired`() {
        let mine = RoomTally(room: room, sessions: 1, sum: 5, seq: 9)
        let theirs = RoomTally(room: room, sessions: 2, sum: 7, seq: 9)
        #expect(watch.repairs(told: told(theirs), own: own(mine)) == [])
        #expect(watch.repairs(told: told(mine), own: own(mine)) == [])
        #expect(watch.repairs(told: told(theirs), own: own(mine)) == [])
        #expect(watch.repairs(told: told(theirs), own: own(mine)) == [room])
    }

    @Test mutating func `messages that are told a second late are not missing`() {
        func at(_ seq: UInt64) -> RoomTally { RoomTally(room: room, sessions: 1, sum: 5, seq: seq) }
        // The budget leaves out what is told with the next report: always behind, and always coming.
        for seq in stride(from: 10, to: 100, by: 10) as StrideTo<UInt64> {
            #expect(watch.repairs(told: told(at(seq + 10)), own: own(at(seq))) == [])
        }
        #expect(watch.repairs(told: told(at(110)), own: own(at(90))) == [room], "it does not come")
    }

    @Test mutating func `a lane that the leader waits for is repaired, and a room of one side alone`() {
        let waiting = RoomTally(room: room, sessions: 1, sum: 5, seq: 9, isWaiting: true)
        let mine = RoomTally(room: room, sessions: 1, sum: 5, seq: 9)
        let ghost = RoomTally(room: other, sessions: 1, sum: 8, seq: 2)
        _ = watch.repairs(told: told(waiting, ghost), own: own(mine))
        #expect(watch.repairs(told: told(waiting, ghost), own: own(mine)) == [room, other].sorted())
        var deaf = StreamWatch()
        _ = deaf.repairs(told: told(), own: own(mine))
        #expect(deaf.repairs(told: told(), own: own(mine)) == [room])
        var partial = StreamWatch()
        for _ in 0..<3 { #expect(partial.repairs(told: told(isWhole: false), own: own(mine)) == []) }
    }

    @Test mutating func `what stays wrong is repaired after longer and longer pauses`() {
        let mine = RoomTally(room: room, sessions: 1, sum: 5, seq: 9)
        var seconds: [Int] = []
        for second in 0..<200 {
            _ = watch.tick([shard])
            _ = watch.pulse(of: shard, agrees: false)
            if !watch.repairs(told: told(), own: own(mine)).isEmpty { seconds.append(second) }
        }
        #expect(seconds == [1, 5, 13, 29, 61, 125, 189])
        _ = watch.pulse(of: shard, agrees: true)
        _ = watch.repairs(told: told(), own: own(mine))
        #expect(watch.repairs(told: told(), own: own(mine)) == [room], "what went right in between is forgotten")
    }

    @Test mutating func `silence is asked about after three seconds and ends the connection after eight`() {
        #expect(watch.tick([shard]) == [] && watch.tick([shard]) == [])
        #expect(watch.tick([shard]) == [.ask(shard)])
        _ = watch.repairs(told: told(), own: [:])
        #expect(watch.tick([shard]) == [] && watch.tick([shard]) == [], "an answer is a word too")
        #expect(watch.tick([shard]) == [.ask(shard)] && watch.tick([shard]) == [.ask(shard)])
        for _ in 0..<2 { #expect(watch.tick([shard]) == [.ask(shard)]) }
        #expect(watch.tick([shard]) == [.ask(shard)] && watch.tick([shard]) == [.drop(shard)])
        #expect(watch.tick([shard]) == [], "the next one has its time")
        _ = watch.tick([])
        #expect(watch.tick([shard]) == [], "a shard that nobody is in counts for nothing")
    }

    @Test func `tallies of equal sessions are equal in any order, and of others are not`() {
        let rooms = [
            RoomTally(room: room, sessions: 2, sum: 40, seq: 7), RoomTally(room: other, sessions: 1, sum: 9, seq: 1),
        ]
        var (forth, back) = (LaneTally(lane: 1), LaneTally(lane: 1))
        for each in rooms { forth.add(each) }
        for each in rooms.reversed() { back.add(each) }
        #expect(forth == back)
        for change in [
            { $0.sessions += 1 }, { $0.sum += 1 }, { $0.seq += 1 }, { $0.isWaiting = true },
        ] as [(inout RoomTally) -> Void] {
            var changed = rooms[0]
            change(&changed)
            var tally = LaneTally(lane: 1)
            tally.add(changed)
            tally.add(rooms[1])
            #expect(tally != forth)
        }
        var empty = LaneTally(lane: 1)
        empty.add(RoomTally(room: room))
        #expect(empty == LaneTally(lane: 1), "a room without sessions is none")
    }
}
