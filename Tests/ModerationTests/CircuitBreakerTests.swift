import ChatModel
import Moderation
import Testing

struct CircuitBreakerTests {
    private func ask(_ breaker: inout CircuitBreaker, _ now: Timestamp) -> Bool { breaker.admit(at: now) }

    @Test func `it opens at the last failure in a row, and a success in between starts anew`() {
        var breaker = CircuitBreaker()
        let now = Timestamp(1_000)
        for _ in 1..<CircuitBreaker.failuresMax { breaker.failed(at: now) }
        #expect(ask(&breaker, now))
        breaker.succeeded()
        for _ in 1..<CircuitBreaker.failuresMax { breaker.failed(at: now) }
        #expect(breaker.isClosed)
        breaker.failed(at: now)
        #expect(!breaker.isClosed)
        #expect(!ask(&breaker, now))
    }

    @Test func `when the pause is over one probe goes, and its success closes`() {
        var breaker = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failuresMax { breaker.failed(at: Timestamp(0)) }
        #expect(!ask(&breaker, Timestamp(CircuitBreaker.pauseMin - 1)))
        let end = Timestamp(CircuitBreaker.pauseMin)
        #expect(ask(&breaker, end))
        #expect(!ask(&breaker, end))
        breaker.succeeded()
        #expect(ask(&breaker, end))
        #expect(breaker.isClosed)
    }

    @Test func `a failed probe doubles the pause up to a bound, and one that is never heard of is followed by another`()
    {
        var breaker = CircuitBreaker()
        var now = Timestamp(0)
        for _ in 0..<CircuitBreaker.failuresMax { breaker.failed(at: now) }
        var pause = CircuitBreaker.pauseMin
        for _ in 0..<10 {
            now = now.adding(milliseconds: pause)
            #expect(ask(&breaker, now))
            breaker.failed(at: now)
            pause = min(CircuitBreaker.pauseMax, pause * 2)
            #expect(!ask(&breaker, now.adding(milliseconds: pause - 1)))
        }
        now = now.adding(milliseconds: pause)
        #expect(ask(&breaker, now))
        #expect(!ask(&breaker, now.adding(milliseconds: pause - 1)))
        #expect(ask(&breaker, now.adding(milliseconds: pause)))
    }
}
