import SessionCore
import StorageTestKit
import Testing

/// One client of a lane, whose clock is passed in.
@Suite struct HeartbeatTests {
    @Test func `a silent client is pinged every interval and dropped after two and a half`() {
        var lane = Lane(intervalMilliseconds: 1000)
        #expect(lane.tick(nowMilliseconds: 999) == .none)
        #expect(lane.tick(nowMilliseconds: 1000) == .ping)
        #expect(lane.tick(nowMilliseconds: 1500) == .none)
        #expect(lane.tick(nowMilliseconds: 2000) == .ping)
        #expect(lane.tick(nowMilliseconds: 2499) == .none)
        #expect(lane.tick(nowMilliseconds: 2500) == .drop)
    }

    @Test func `any byte starts the time anew`() {
        var lane = Lane(intervalMilliseconds: 1000)
        #expect(lane.ticks(at: 1000, 2000) == [.ping, .ping])
        lane.heard(nowMilliseconds: 2400)
        #expect(lane.ticks(at: 2500, 3000, 4000, 4899, 4900) == [.none, .ping, .ping, .none, .drop])
    }

    @Test func `time in which the lane stood still is no silence of the client`() {
        var lane = Lane(intervalMilliseconds: 15_000)
        #expect(lane.everySecond(through: 20_000) == [15_000: .ping])
        // A minute passes; what the client sent in it has not been read.
        #expect(lane.tick(nowMilliseconds: 80_000) == .ping)
        // 21 seconds without a byte were counted until here: 16.5 more are its own.
        #expect(lane.everySecond(from: 81_000, through: 97_000) == [95_000: .ping, 97_000: .drop])
    }

    @Test func `what waits in the socket of a lane that stood still keeps the client`() {
        var lane = Lane(intervalMilliseconds: 1000)
        #expect(lane.tick(nowMilliseconds: 1000) == .ping)
        #expect(lane.tick(nowMilliseconds: 61_000) == .ping)
        lane.heard(nowMilliseconds: 61_001)
        #expect(lane.ticks(at: 62_000, 63_000, 63_500, 63_501) == [.ping, .ping, .none, .drop])
    }

    @Test func `the answer to a ping from before a standstill may be unread, so another ping comes first`() {
        var lane = Lane(intervalMilliseconds: 1000)
        #expect(lane.ticks(at: 1000, 2000) == [.ping, .ping])
        #expect(lane.tick(nowMilliseconds: 9000) == .ping, "three seconds of silence are counted")
        #expect(lane.tick(nowMilliseconds: 9100) == .drop)
    }

    @Test func `bytes that were read before the late tick count from then`() {
        var lane = Lane(intervalMilliseconds: 1000)
        lane.heard(nowMilliseconds: 60_000)
        #expect(lane.ticks(at: 60_100, 61_000, 62_000) == [.ping, .none, .ping])
        #expect(lane.ticks(at: 62_599, 62_600) == [.none, .drop])
    }

    @Test func `of late ticks each counts a second`() {
        var lane = Lane(intervalMilliseconds: 1000)
        #expect(lane.ticks(at: 1900, 3800, 5700) == [.ping, .ping, .drop])
    }

    @Test func `a look is due at the next ping, and when the client's time is over`() {
        var lane = Lane(intervalMilliseconds: 10_000)
        #expect(lane.due(nowMilliseconds: 0) == 10_000)
        // The byte moves no deadline that is nearer; the answer to the ping that follows is due later.
        lane.listening.tick(nowMilliseconds: 1_000)
        lane.heard(nowMilliseconds: 1_000)
        #expect(lane.due(nowMilliseconds: 1_000) == 10_000)
        #expect(lane.everySecond(from: 2_000, through: 20_000) == [10_000: .ping, 20_000: .ping])
        #expect(lane.due(nowMilliseconds: 20_000) == 26_000)
        lane.heard(nowMilliseconds: 20_500)
        #expect(lane.due(nowMilliseconds: 20_500) == 30_000)
    }

    @Test func `who was heard since the last ping is pinged before it is dropped, however late the look is`() {
        var lane = Lane(intervalMilliseconds: 1000)
        #expect(lane.tick(nowMilliseconds: 1000) == .ping)
        lane.heard(nowMilliseconds: 1500)
        for now in [2000, 3000] as [UInt64] { lane.listening.tick(nowMilliseconds: now) }
        #expect(lane.ticks(at: 4000, 4001) == [.ping, .drop])
    }

    @Test func `after a standstill nothing but another ping is due`() {
        var lane = Lane(intervalMilliseconds: 10_000)
        #expect(lane.everySecond(through: 20_000) == [10_000: .ping, 20_000: .ping])
        #expect(lane.due(nowMilliseconds: 20_000) == 25_000)
        lane.listening.tick(nowMilliseconds: 27_000)
        #expect(lane.due(nowMilliseconds: 27_000) == 30_000)
    }

    @Test(
        "who is looked at only when something is due is pinged and dropped as one that is looked at every second",
        arguments: SeededGenerator.seeds(200))
    func likeEverySecond(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let interval = [1_000, 5_000, 15_000, 60_000][Int.random(in: 0..<4, using: &random)] as UInt64
        var now = UInt64.random(in: 0...100_000, using: &random)
        var lane = Lane(intervalMilliseconds: interval, nowMilliseconds: now)
        var naive = EverySecond(intervalMilliseconds: interval, nowMilliseconds: now)
        var place = lane.due(nowMilliseconds: now)
        var looks = 0
        let isTalkative = seed.isMultiple(of: 2)
        for _ in 0..<600 {
            // Now and then the lane stands still, or is a little late.
            let late: UInt64 =
                switch Int.random(in: 0..<40, using: &random) {
                case 0: .random(in: 1_000...200_000, using: &random)
                case 1..<5: .random(in: 1...1_000, using: &random)
                default: 0
                }
            let tick = now + 1_000 + late
            if isTalkative || Int.random(in: 0..<30, using: &random) == 0 {
                let heard = UInt64.random(in: now...tick, using: &random)
                lane.heard(nowMilliseconds: heard)
                naive.heard(nowMilliseconds: heard)
            }
            now = tick
            lane.listening.tick(nowMilliseconds: now)
            var decision = Heartbeat.Decision.none
            if now >= place {
                decision = lane.look(nowMilliseconds: now)
                place = lane.due(nowMilliseconds: now)
                looks += 1
            }
            #expect(decision == naive.tick(nowMilliseconds: now), "at \(now)")
            if decision == .drop { break }
        }
        if interval == 60_000 { #expect(looks < 60, "nobody is looked at every second") }
    }

    /// The obvious way: a heartbeat that is looked at once a second, whatever is due.
    private struct EverySecond {
        let intervalMilliseconds: UInt64
        var lastHeard: UInt64
        var lastPing: UInt64
        var lastTick: UInt64
        var isPinged = false

        init(intervalMilliseconds: UInt64, nowMilliseconds: UInt64) {
            self.intervalMilliseconds = intervalMilliseconds
            (lastHeard, lastPing, lastTick) = (nowMilliseconds, nowMilliseconds, nowMilliseconds)
        }

        mutating func heard(nowMilliseconds: UInt64) {
            lastHeard = nowMilliseconds
            isPinged = false
        }

        mutating func tick(nowMilliseconds: UInt64) -> Heartbeat.Decision {
            let due = lastTick + 1_000
            lastTick = nowMilliseconds
            if nowMilliseconds > due {
                let late = nowMilliseconds - due
                lastHeard = min(nowMilliseconds, lastHeard + late)
                if late > 1_000 { isPinged = false }
            }
            if isPinged, nowMilliseconds >= lastHeard + intervalMilliseconds * 5 / 2 { return .drop }
            guard nowMilliseconds >= lastPing + intervalMilliseconds else { return .none }
            lastPing = nowMilliseconds
            isPinged = true
            return .ping
        }
    }

    private struct Lane {
        var listening: ListeningTime
        var heartbeat: Heartbeat

        init(intervalMilliseconds: UInt64, nowMilliseconds: UInt64 = 0) {
            listening = ListeningTime(nowMilliseconds: nowMilliseconds)
            heartbeat = Heartbeat(
                intervalMilliseconds: intervalMilliseconds, nowMilliseconds: nowMilliseconds, listening)
        }

        mutating func heard(nowMilliseconds: UInt64) { heartbeat.heard(nowMilliseconds: nowMilliseconds, listening) }

        mutating func look(nowMilliseconds: UInt64) -> Heartbeat.Decision {
            heartbeat.look(nowMilliseconds: nowMilliseconds, listening)
        }

        mutating func tick(nowMilliseconds: UInt64) -> Heartbeat.Decision {
            listening.tick(nowMilliseconds: nowMilliseconds)
            return look(nowMilliseconds: nowMilliseconds)
        }

        func due(nowMilliseconds: UInt64) -> UInt64 { heartbeat.due(nowMilliseconds: nowMilliseconds, listening) }

        mutating func ticks(at times: UInt64...) -> [Heartbeat.Decision] { times.map { tick(nowMilliseconds: $0) } }

        /// The decisions, without the ticks at which nothing was due.
        mutating func everySecond(from first: UInt64 = 1000, through last: UInt64) -> [UInt64: Heartbeat.Decision] {
            var decisions: [UInt64: Heartbeat.Decision] = [:]
            for now in stride(from: first, through: last, by: 1000) {
                let decision = tick(nowMilliseconds: now)
                if decision != .none { decisions[now] = decision }
            }
            return decisions
        }
    }
}
