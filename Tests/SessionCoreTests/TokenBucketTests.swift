import SessionCore
import Testing

struct TokenBucketTests {
    @Test func `a burst of n passes and the next one is told how long to wait`() {
        var bucket = TokenBucket(ratePerSecond: 10, burst: 20, nowMilliseconds: 5)
        for _ in 0..<20 { #expect(bucket.take(nowMilliseconds: 5) == nil) }
        #expect(bucket.take(nowMilliseconds: 5) == 100)
        #expect(bucket.take(nowMilliseconds: 104) == 1)
        #expect(bucket.take(nowMilliseconds: 105) == nil)
        #expect(bucket.take(nowMilliseconds: 105) == 100)
    }

    @Test func `tokens gather up to the burst and not beyond`() {
        var bucket = TokenBucket(ratePerSecond: 10, burst: 3, nowMilliseconds: 0)
        for _ in 0..<3 { #expect(bucket.take(nowMilliseconds: 0) == nil) }
        for _ in 0..<3 { #expect(bucket.take(nowMilliseconds: 1_000_000) == nil) }
        #expect(bucket.take(nowMilliseconds: 1_000_000) != nil)
    }

    @Test func `what is given back can be taken again and a clock that goes back adds nothing`() {
        var bucket = TokenBucket(ratePerSecond: 1, burst: 1, nowMilliseconds: 1000)
        #expect(bucket.take(nowMilliseconds: 1000) == nil)
        bucket.giveBack()
        #expect(bucket.take(nowMilliseconds: 0) == nil)
        #expect(bucket.take(nowMilliseconds: 0) == 1000)
    }
}

struct HeartbeatTests {
    @Test func `a silent client is pinged every interval and dropped after two and a half`() {
        var heartbeat = Heartbeat(intervalMilliseconds: 1000, nowMilliseconds: 0)
        #expect(heartbeat.tick(nowMilliseconds: 999) == .none)
        #expect(heartbeat.tick(nowMilliseconds: 1000) == .ping)
        #expect(heartbeat.tick(nowMilliseconds: 1500) == .none)
        #expect(heartbeat.tick(nowMilliseconds: 2000) == .ping)
        #expect(heartbeat.tick(nowMilliseconds: 2499) == .none)
        #expect(heartbeat.tick(nowMilliseconds: 2500) == .drop)
    }

    @Test func `any byte starts the time anew`() {
        var heartbeat = Heartbeat(intervalMilliseconds: 1000, nowMilliseconds: 0)
        #expect(heartbeat.ticks(at: 1000, 2000) == [.ping, .ping])
        heartbeat.heard(nowMilliseconds: 2400)
        #expect(heartbeat.ticks(at: 2500, 3000, 4000, 4899, 4900) == [.none, .ping, .ping, .none, .drop])
    }

    @Test func `time in which the lane stood still is no silence of the client`() {
        var heartbeat = Heartbeat(intervalMilliseconds: 15_000, nowMilliseconds: 0)
        #expect(heartbeat.everySecond(through: 20_000) == [15_000: .ping])
        // A minute passes; what the client sent in it has not been read.
        #expect(heartbeat.tick(nowMilliseconds: 80_000) == .ping)
        // 21 seconds without a byte were counted until here: 16.5 more are its own.
        #expect(heartbeat.everySecond(from: 81_000, through: 97_000) == [95_000: .ping, 97_000: .drop])
    }

    @Test func `what waits in the socket of a lane that stood still keeps the client`() {
        var heartbeat = Heartbeat(intervalMilliseconds: 1000, nowMilliseconds: 0)
        #expect(heartbeat.tick(nowMilliseconds: 1000) == .ping)
        #expect(heartbeat.tick(nowMilliseconds: 61_000) == .ping)
        heartbeat.heard(nowMilliseconds: 61_001)
        #expect(heartbeat.ticks(at: 62_000, 63_000, 63_500, 63_501) == [.ping, .ping, .none, .drop])
    }

    @Test func `the answer to a ping from before a standstill may be unread, so another ping comes first`() {
        var heartbeat = Heartbeat(intervalMilliseconds: 1000, nowMilliseconds: 0)
        #expect(heartbeat.ticks(at: 1000, 2000) == [.ping, .ping])
        #expect(heartbeat.tick(nowMilliseconds: 9000) == .ping, "three seconds of silence are counted")
        #expect(heartbeat.tick(nowMilliseconds: 9100) == .drop)
    }

    @Test func `bytes that were read before the late tick count from then`() {
        var heartbeat = Heartbeat(intervalMilliseconds: 1000, nowMilliseconds: 0)
        heartbeat.heard(nowMilliseconds: 60_000)
        #expect(heartbeat.ticks(at: 60_100, 61_000, 62_000) == [.ping, .none, .ping])
        #expect(heartbeat.ticks(at: 62_599, 62_600) == [.none, .drop])
    }

    @Test func `of late ticks each counts a second`() {
        var heartbeat = Heartbeat(intervalMilliseconds: 1000, nowMilliseconds: 0)
        #expect(heartbeat.ticks(at: 1900, 3800, 5700) == [.ping, .ping, .drop])
    }
}

extension Heartbeat {
    fileprivate mutating func ticks(at times: UInt64...) -> [Decision] { times.map { tick(nowMilliseconds: $0) } }

    /// What came of it, without the ticks at which nothing was due.
    fileprivate mutating func everySecond(from first: UInt64 = 1000, through last: UInt64) -> [UInt64: Decision] {
        var decisions: [UInt64: Decision] = [:]
        for now in stride(from: first, through: last, by: 1000) {
            let decision = tick(nowMilliseconds: now)
            if decision != .none { decisions[now] = decision }
        }
        return decisions
    }
}
