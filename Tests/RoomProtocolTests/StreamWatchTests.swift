import ChatModel
import RoomProtocol
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

    @Test mutating func `silence is asked about after three seconds and ends the connection after five`() {
        #expect(watch.tick([shard]) == [] && watch.tick([shard]) == [])
        #expect(watch.tick([shard]) == [.ask(shard)])
        _ = watch.repairs(told: told(), own: [:])
        #expect(watch.tick([shard]) == [] && watch.tick([shard]) == [], "an answer is a word too")
        #expect(watch.tick([shard]) == [.ask(shard)] && watch.tick([shard]) == [.ask(shard)])
        #expect(watch.tick([shard]) == [.drop(shard)])
        #expect(watch.tick([shard]) == [], "the next one has its time")
        _ = watch.tick([])
        #expect(watch.tick([shard]) == [], "a shard that nobody is in counts for nothing")
    }

    @Test mutating func `sessions in a shard where the lane has none are found, however often it looks around`() {
        let ghost = RoomTally(room: other, sessions: 1, sum: 8, seq: 2)
        var repaired: [Int] = []
        for second in 0..<6 {
            // The lane is in no room of the shard, and watches nothing.
            _ = watch.tick([])
            guard watch.pulse(of: shard, agrees: false) else { continue }
            #expect(watch.part(of: shard, rooms: 0) == .whole)
            if !watch.repairs(told: told(ghost), own: [:]).isEmpty { repaired.append(second) }
        }
        #expect(repaired.first == 2)
    }

    @Test mutating func `one room that its leader does not go on with hides no other`() {
        let mine = RoomTally(room: room, sessions: 1, sum: 5, seq: 9)
        let awaited = other
        var repaired: [Int] = []
        for second in 0..<12 {
            _ = watch.tick([shard])
            guard watch.pulse(of: shard, agrees: nil) else { continue }
            let rooms = watch.repairs(
                told: told(RoomTally(room: other, sessions: 1, sum: 1, seq: 1, isWaiting: true)), own: own(mine)
            ) { $0 == awaited }
            if rooms == [room] { repaired.append(second) } else { #expect(rooms == []) }
        }
        #expect(repaired.first == 7, "the answers after four and eight seconds")
        // What was left out for being awaited has not been repaired, and is as soon as it is not awaited.
        let waiting = RoomTally(room: other, sessions: 1, sum: 1, seq: 1, isWaiting: true)
        _ = watch.repairs(told: told(waiting), own: [:])
        #expect(watch.repairs(told: told(waiting), own: [:]) == [other])
    }

    @Test mutating func `a lane with more rooms than one answer holds judges all of them, part by part`() throws {
        let count = 3 * ShardTallies.roomsMax
        var own: [RoomID: RoomTally] = [:]
        for number in 0..<count {
            let room = try #require(RoomID("room-\(number)"))
            own[room] = RoomTally(room: room, sessions: 1, sum: 1, seq: 1)
        }
        // The leader has lost one session of each of three rooms.
        let wrong = Set(["room-7", "room-4711", "room-12000"].compactMap { RoomID($0) })
        var found: Set<RoomID> = []
        var parts: Set<RoomPart> = []
        for _ in 0..<40 where found != wrong {
            _ = watch.tick([shard])
            _ = watch.pulse(of: shard, agrees: false)
            let part = watch.part(of: shard, rooms: count)
            parts.insert(part)
            let rooms = own.filter { part.contains($0.key) }
            #expect(rooms.count <= ShardTallies.roomsMax)
            let told = ShardTallies(
                shard: shard, lane: 0, term: 1, rooms: rooms.values.filter { !wrong.contains($0.room) }, part: part)
            found.formUnion(watch.repairs(told: told, own: rooms))
        }
        #expect(found == wrong)
        #expect(parts.count == 8)
    }

    @Test mutating func `an answer that is cut makes the parts smaller`() {
        _ = watch.pulse(of: shard, agrees: false)
        #expect(watch.part(of: shard, rooms: 0) == .whole)
        _ = watch.repairs(told: told(isWhole: false), own: [:])
        #expect(watch.part(of: shard, rooms: 0) == RoomPart(0, of: 2))
    }

    @Test func `parts leave out no room and share none`() throws {
        let parts = (0..<4).map { RoomPart(UInt32($0), of: 4) }
        var counts = [0, 0, 0, 0]
        for number in 0..<1_000 {
            let room = try #require(RoomID("r\(number)"))
            let places = parts.indices.filter { parts[$0].contains(room) }
            #expect(places.count == 1)
            counts[places[0]] += 1
            #expect(RoomPart.whole.contains(room))
        }
        #expect(counts.allSatisfy { $0 > 150 })
        #expect(parts[3].next == parts[0] && parts[0].next == parts[1])
        #expect(RoomPart(9, of: 0) == .whole && RoomPart(9, of: 4).number == 3)
        #expect(RoomPart(0, of: .max).count == RoomPart.countMax)
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
