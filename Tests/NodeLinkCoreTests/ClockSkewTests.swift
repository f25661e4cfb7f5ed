import ChatModel
import NodeLinkCore
import Testing

/// Clocks are judged by what most of them show.
@Suite struct `Clock skew` {
    var skew = ClockSkew(own: Names.node("n1"))
    /// Monotonic milliseconds.
    var now: UInt64 = 5_000
    let time: Int64 = 1_700_000_000_000

    /// Another clock that is ahead of this node's by so much.
    private mutating func hear(_ name: String, ahead: Int64, roundTrip: UInt64 = 0) {
        skew.note(
            Names.node(name), time: time + ahead + Int64(roundTrip / 2), ownTime: time, roundTrip: roundTrip, at: now)
    }

    private mutating func wrong() throws -> [String] {
        skew.judge(at: now)
        return skew.wrong.map(\.text).sorted()
    }

    private func offset(_ name: String) -> Int64? { skew.offsets(at: now)[Names.node(name)] }

    @Test mutating func `a clock alone is right`() throws {
        #expect(try wrong() == [] && offset("n1") == 0)
    }

    @Test mutating func `of two clocks that differ neither is wrong: nobody can say which`() throws {
        hear("n2", ahead: 60_000)
        #expect(try wrong() == [] && offset("n1") == 0 && offset("n2") == 0)
    }

    @Test mutating func `those agree whose clocks tokens could be judged by, as long as they were heard lately`() {
        hear("n2", ahead: 30_000)
        hear("n3", ahead: -30_001)
        #expect(skew.agreeing(at: now).map(\.text).sorted() == ["n1", "n2"])
        now += ClockSkew.ageMillisecondsMax
        #expect(skew.agreeing(at: now).map(\.text) == ["n1"])
    }

    @Test mutating func `of three the one that is off by more than a second is wrong`() throws {
        hear("n2", ahead: 1_001)
        hear("n3", ahead: 1_001)
        #expect(offset("n1") == -1_001)
        #expect(try wrong() == ["n1"])
        hear("n2", ahead: 0)
        hear("n3", ahead: 1_500)
        #expect(try wrong() == ["n3"], "this one goes with the majority")
        #expect(offset("n3") == 1_500 && offset("n1") == 0)
    }

    @Test mutating func `a second exactly is not too much, and less than that ends it`() throws {
        hear("n2", ahead: -1_000)
        hear("n3", ahead: -1_000)
        #expect(try wrong() == [])
        hear("n2", ahead: -1_001)
        hear("n3", ahead: -1_001)
        #expect(try wrong() == ["n1"])
        hear("n2", ahead: -900)
        hear("n3", ahead: -900)
        #expect(try wrong() == ["n1"], "not all the time on and off")
        hear("n2", ahead: -750)
        hear("n3", ahead: -750)
        #expect(try wrong() == [])
    }

    @Test mutating func `of four, whatever lies between the middle two is right`() throws {
        hear("n2", ahead: 0)
        hear("n3", ahead: 5_000)
        hear("n4", ahead: 5_000)
        #expect(try wrong() == [], "two against two")
        hear("n2", ahead: 4_000)
        #expect(try offset("n1") == -4_000 && wrong() == ["n1"])
    }

    @Test mutating func `half of the way is taken off, and an answer that took long says nothing`() throws {
        hear("n2", ahead: 100, roundTrip: 400)
        hear("n3", ahead: 100, roundTrip: 400)
        #expect(offset("n1") == -100)
        hear("n2", ahead: 9_000, roundTrip: ClockSkew.roundTripMillisecondsMax + 1)
        hear("n3", ahead: 9_000, roundTrip: ClockSkew.roundTripMillisecondsMax + 1)
        #expect(try offset("n1") == -100 && wrong() == [])
    }

    @Test mutating func `what was heard long ago does not count`() throws {
        hear("n2", ahead: 3_000)
        hear("n3", ahead: 3_000)
        #expect(try wrong() == ["n1"])
        now += ClockSkew.ageMillisecondsMax
        #expect(try wrong() == [], "alone it can't be judged")
        #expect(skew.offsets(at: now).count == 1)
    }

    @Test mutating func `no clock of a node makes the arithmetic fail`() throws {
        for time in [Int64.min, .min + 1, -1, 0, .max - 1, .max] {
            for ownTime in [Int64.min, 0, .max] {
                skew.note(Names.node("n2"), time: time, ownTime: ownTime, roundTrip: 500, at: now)
                skew.note(Names.node("n3"), time: .max, ownTime: 0, roundTrip: 0, at: now)
                skew.note(Names.node("n4"), time: .min, ownTime: 0, roundTrip: 0, at: now)
                _ = try wrong()
            }
        }
        hear("n1", ahead: 9_000)
        #expect(offset("n1") != nil, "its own word changes nothing")
    }

    @Test mutating func `a clock is useless for tokens beyond half a minute, be it this node's own`() throws {
        for other in ["n2", "n3"] {
            skew.note(Names.node(other), time: 30_000, ownTime: 0, roundTrip: 0, at: now)
        }
        #expect(skew.useless(at: now) == [])
        for other in ["n2", "n3"] {
            skew.note(Names.node(other), time: 30_001, ownTime: 0, roundTrip: 0, at: now)
        }
        #expect(skew.useless(at: now) == [Names.node("n1")])
        skew.note(Names.node("n2"), time: 0, ownTime: 0, roundTrip: 0, at: now)
        #expect(skew.useless(at: now) == [Names.node("n3")])
    }

    /// With an honest majority within half a second nobody of it is ever wrong, and whoever is two seconds off is.
    @Test func `the majority is right`() {
        var random = Seeded(state: 7)
        for _ in 0..<500 {
            let nodes = Int.random(in: 3...9, using: &random)
            let liars = Int.random(in: 0...(nodes - 1) / 2, using: &random)
            var offsets = (0..<nodes).map { index -> Int64 in
                guard index < liars else { return Int64.random(in: -250...250, using: &random) }
                return Int64.random(in: 2_000...100_000, using: &random) * (Bool.random(using: &random) ? 1 : -1)
            }
            offsets.shuffle(using: &random)
            var skew = ClockSkew(own: Names.node("c0"))
            for (index, offset) in offsets.enumerated().dropFirst() {
                skew.note(Names.node("c\(index)"), time: offset, ownTime: offsets[0], roundTrip: 0, at: 1)
            }
            skew.judge(at: 2)
            let expected = offsets.indices.filter { abs(offsets[$0]) >= 2_000 }.map { Names.node("c\($0)") }
            #expect(skew.wrong == Set(expected), "\(offsets)")
        }
    }
}
