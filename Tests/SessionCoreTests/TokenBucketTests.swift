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

    @Test(arguments: [3.0, 7, 10, 30, 1_000 / 9.7])
    func `who waits as long as was said is not refused again`(rate: Double) {
        var random = SystemRandomNumberGenerator()
        var bucket = TokenBucket(ratePerSecond: rate, burst: 2, nowMilliseconds: 0)
        var (now, refusals) = (UInt64(0), 0)
        for _ in 0..<20_000 {
            now += UInt64.random(in: 0..<40, using: &random)
            guard let wait = bucket.take(nowMilliseconds: now) else { continue }
            refusals += 1
            now += UInt64(wait)
            let again = bucket.take(nowMilliseconds: now)
            #expect(again == nil, "told \(wait) ms, then \(again ?? 0) more")
        }
        #expect(refusals > 100)
    }
}
