import Testing
import Transport

@Suite struct StrangerPlacesTests {
    private func limits(places: Int = 4, reserved: Int = 2, perAddress: Int = 3) -> StrangerLimits {
        var limits = StrangerLimits()
        (limits.places, limits.reserved, limits.perAddress) = (places, reserved, perAddress)
        return limits
    }

    private func places(_ limits: StrangerLimits) -> StrangerPlaces<Int> { StrangerPlaces(limits, patience: 100) }

    @Test func `of one address only so many have a place, and the one that was silent for longest goes`() {
        var places = places(limits())
        for id in 1...3 {
            #expect(
                places.admit(id, from: "x", isKnown: false, hasSpoken: false, at: 0) == .admitted(displaced: nil))
        }
        #expect(places.admit(4, from: "y", isKnown: false, hasSpoken: false, at: 0) == .admitted(displaced: nil))
        places.spoke(1, at: 1)
        #expect(places.admit(5, from: "x", isKnown: false, hasSpoken: true, at: 2) == .admitted(displaced: 2))
        #expect(places.admit(6, from: "x", isKnown: false, hasSpoken: true, at: 3) == .admitted(displaced: 3))
        // 1, 5 and 6 have begun to speak a moment ago.
        #expect(places.admit(7, from: "x", isKnown: false, hasSpoken: true, at: 100) == .refused)
        #expect(places.admit(8, from: "x", isKnown: false, hasSpoken: true, at: 101) == .admitted(displaced: 1))
        #expect(places.count == 4)
    }

    @Test func `who has spoken and is not read yet is not taken for silent, and is asked once`() {
        var places = places(limits())
        for id in 1...3 { _ = places.admit(id, from: "x", isKnown: false, hasSpoken: false, at: 0) }
        var asked: [Int] = []
        func admit(_ id: Int, at now: UInt64) -> StrangerPlaces<Int>.Admission {
            places.admit(id, from: "x", isKnown: false, hasSpoken: false, at: now) {
                asked.append($0)
                return $0 != 3
            }
        }
        #expect(admit(4, at: 10) == .admitted(displaced: 3))
        #expect(asked == [1, 2, 3])
        // 1 and 2 have spoken at 10; so has 4, which is asked now.
        #expect(admit(5, at: 109) == .refused)
        #expect(asked == [1, 2, 3, 4])
        #expect(admit(6, at: 110) == .admitted(displaced: 1))
        #expect(asked == [1, 2, 3, 4])
    }

    @Test func `a turn accepts so few that nobody is displaced before two turns have passed`() {
        let limits = StrangerLimits()
        #expect(limits.acceptsPerTurn * 2 <= limits.perAddress)
        #expect(self.limits(perAddress: 1).acceptsPerTurn == 1)
    }

    @Test func `strangers take no place of nodes that are known, however many they are`() {
        var places = places(limits())
        for id in 0..<1_000 {
            let admission = places.admit(id, from: "x\(id)", isKnown: false, hasSpoken: true, at: 0)
            #expect(admission == (id < 4 ? .admitted(displaced: nil) : .refused))
        }
        for id in 2_000..<2_002 {
            #expect(
                places.admit(id, from: "n", isKnown: true, hasSpoken: false, at: 0) == .admitted(displaced: nil))
        }
        #expect(places.admit(2_002, from: "m", isKnown: true, hasSpoken: false, at: 0) == .admitted(displaced: 2_000))
        #expect(places.count == 6)
        // Nor is an unknown one kept out for good.
        #expect(places.admit(3_000, from: "z", isKnown: false, hasSpoken: false, at: 100) == .admitted(displaced: 0))
    }

    @Test func `who has said who it is, or is gone, takes no place`() {
        var places = places(limits())
        for id in 0..<100 {
            #expect(
                places.admit(id, from: "x", isKnown: false, hasSpoken: true, at: 0) == .admitted(displaced: nil))
            places.leave(id)
        }
        #expect(places.count == 0)
        places.leave(7)
        places.spoke(7, at: 0)
        #expect(places.count == 0)
    }

    @Test func `the numbers hold 140 silent connections of one address off, and end them within a second`() {
        let limits = StrangerLimits()
        #expect(limits.firstByte <= .seconds(1))
        #expect(limits.introduction <= .seconds(5))
        var places = places(limits)
        for id in 0..<140 {
            guard case .admitted = places.admit(id, from: "x", isKnown: false, hasSpoken: false, at: 0) else {
                Issue.record("\(id)")
                return
            }
        }
        #expect(places.count == limits.perAddress)
        #expect(places.admit(140, from: "x", isKnown: false, hasSpoken: false, at: 0) == .admitted(displaced: 108))
    }
}
