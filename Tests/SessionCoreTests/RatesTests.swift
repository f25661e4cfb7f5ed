import ChatModel
import SessionCore
import Testing

@Suite struct RatesTests {
    private let limits = RateLimits()
    private let user: UserID

    init() throws { user = try #require(UserID("ann")) }

    /// Takes as many as there are, at one moment.
    private func drain(_ cost: RateCost, _ user: UserID, _ rates: inout Rates, _ users: inout UserRates, at now: UInt64)
        -> Int
    {
        var count = 0
        while users.take(cost, of: user, and: &rates, nowMilliseconds: now) == nil, count < 10_000 { count += 1 }
        return count
    }

    @Test func `twenty texts of 32 KB pass at once, and the next one waits until there is a place for it`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        var users = UserRates(limits)
        let cost = RateCost.change(bytes: 32 * 1024)
        #expect(drain(cost, user, &rates, &users, at: 0) == 20)
        #expect(users.take(cost, of: user, and: &rates, nowMilliseconds: 0) == 100)
        #expect(users.take(cost, of: user, and: &rates, nowMilliseconds: 100) == nil)
    }

    @Test func `few but large changes wait for their bytes, small ones behind them too`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        let large = RateCost.change(bytes: 400 * 1024)
        #expect(rates.wait(for: large, nowMilliseconds: 0) == nil)
        rates.take(large)
        // 240 KB are left, so 160 KB are missing: half a second.
        #expect(rates.wait(for: large, nowMilliseconds: 0) == 500)
        #expect(rates.wait(for: .change(bytes: 1024), nowMilliseconds: 0) == nil)
    }

    @Test func `a change that is larger than the burst passes when all is there, and is paid for afterwards`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        let huge = RateCost.change(bytes: 960 * 1024)
        #expect(rates.wait(for: huge, nowMilliseconds: 0) == nil)
        rates.take(huge)
        #expect(rates.wait(for: .change(bytes: 0), nowMilliseconds: 999) == 1)
        #expect(rates.wait(for: .change(bytes: 0), nowMilliseconds: 1000) == nil)
    }

    @Test func `a debt is of a minute at most`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        rates.take(.change(bytes: 960 * 1024))
        #expect(rates.wait(for: .change(bytes: 1), nowMilliseconds: 0) == 1001)
        #expect(rates.wait(for: .read, nowMilliseconds: 0) == nil)
        rates.take(.change(bytes: .max, copies: .max))
        #expect(rates.wait(for: .change(bytes: 0), nowMilliseconds: 0) == 60_000)
    }

    @Test func `all sessions of a user have three times what one has`() throws {
        var users = UserRates(limits)
        var sessions = [Rates](repeating: Rates(limits, nowMilliseconds: 0), count: 5)
        let taken = sessions.indices.map { drain(.change(bytes: 0), user, &sessions[$0], &users, at: 0) }
        #expect(taken == [20, 20, 20, 0, 0])
        // Who was refused for the user has lost nothing of the session's own, and others are not concerned.
        #expect(sessions[4].wait(for: .change(bytes: 0), nowMilliseconds: 0) == nil)
        let bob = try #require(UserID("bob"))
        #expect(drain(.change(bytes: 0), bob, &sessions[4], &users, at: 0) == 20)
    }

    @Test func `what moves to another node brings its levels along, and no new allowance`() throws {
        var here = UserRates(limits)
        var session = Rates(limits, nowMilliseconds: 0)
        #expect(drain(.change(bytes: 0), user, &session, &here, at: 0) == 20)
        session.take(.change(bytes: 1 << 20))
        var there = UserRates(limits)
        var moved = Rates(limits, nowMilliseconds: 77)
        moved.restrict(to: session.levels(nowMilliseconds: 0))
        let levels = try #require(here.levels(of: user, nowMilliseconds: 0))
        there.change(user, nowMilliseconds: 77) { $0.restrict(to: levels) }
        #expect(drain(.change(bytes: 0), user, &moved, &there, at: 77) == 0)
        #expect(moved.levels(nowMilliseconds: 77) == session.levels(nowMilliseconds: 0))
        #expect(there.levels(of: user, nowMilliseconds: 77) == here.levels(of: user, nowMilliseconds: 0))
        // Levels of a node that has more to give change nothing.
        moved.restrict(to: Rates(limits, nowMilliseconds: 0).levels(nowMilliseconds: 0))
        #expect(moved.levels(nowMilliseconds: 77) == session.levels(nowMilliseconds: 0))
    }

    @Test func `what has flowed in since the last request moves along`() {
        var users = UserRates(limits)
        var session = Rates(limits, nowMilliseconds: 0)
        #expect(drain(.change(bytes: 0), user, &session, &users, at: 0) == 20)
        // Nine seconds later its connection breaks, and it goes on at another node.
        var moved = Rates(limits, nowMilliseconds: 9_000)
        moved.restrict(to: session.levels(nowMilliseconds: 9_000))
        #expect(moved.wait(for: .change(bytes: 0), nowMilliseconds: 9_000) == nil)
        let levels = users.levels(of: user, nowMilliseconds: 9_000)
        #expect(levels?.changes == 60_000)
    }

    @Test func `absurd levels of another node are a debt of a minute, or nothing at all`() {
        for level in [Int64.min, .max] {
            var levels = RateLevels()
            (levels.changes, levels.reads, levels.bytes, levels.repeats) = (level, level, level, level)
            var rates = Rates(limits, nowMilliseconds: 0)
            rates.restrict(to: levels)
            let wait = rates.wait(for: .read, nowMilliseconds: 0)
            #expect(level > 0 ? wait == nil : wait == 60_050)
        }
    }

    @Test func `a repeat gives back what it has taken, count and bytes`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        let before = rates.levels(nowMilliseconds: 0)
        rates.take(.change(bytes: 1000))
        #expect(rates.levels(nowMilliseconds: 0) != before)
        rates.giveBack(.change(bytes: 1000))
        #expect(rates.levels(nowMilliseconds: 0) == before)
    }

    @Test func `users who ask for nothing for two minutes are forgotten, and had everything again`() {
        var users = UserRates(limits)
        var session = Rates(limits, nowMilliseconds: 0)
        #expect(users.turn(nowMilliseconds: 0).isEmpty)
        _ = drain(.change(bytes: 0), user, &session, &users, at: 0)
        #expect(users.turn(nowMilliseconds: 59_999).isEmpty && users.levels(of: user, nowMilliseconds: 59_999) != nil)
        #expect(users.turn(nowMilliseconds: 60_000).isEmpty && users.count == 1)
        #expect(users.turn(nowMilliseconds: 120_000).count == 1 && users.count == 0)
    }

    @Test func `other limits keep what is left`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        for _ in 0..<20 { rates.take(.change(bytes: 0)) }
        var wider = limits
        wider.changesBurst = 25
        rates.set(wider)
        var count = 0
        while rates.wait(for: .change(bytes: 0), nowMilliseconds: 0) == nil, count < 100 {
            rates.take(.change(bytes: 0))
            count += 1
        }
        #expect(count == 5)
    }

    @Test func `taps have a rate of their own: 20 requests and 1,000 taps a second`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        var users = UserRates(limits)
        #expect(drain(.taps(1), user, &rates, &users, at: 0) == 20)
        #expect(users.take(.taps(1), of: user, and: &rates, nowMilliseconds: 0) == 50)
        #expect(drain(.taps(100), user, &rates, &users, at: 1_000) == 10, "all taps of a second")
        #expect(users.take(.taps(100), of: user, and: &rates, nowMilliseconds: 1_000) == 100)
        #expect(drain(.read, user, &rates, &users, at: 1_000) == 20, "reads and changes are as they were")
        #expect(drain(.change(bytes: 0), user, &rates, &users, at: 1_000) == 20)
        rates.giveBack(.taps(100))
        #expect(rates.wait(for: .taps(100), nowMilliseconds: 1_000) == nil, "a repeat costs nothing")
    }

    @Test func `searches have a rate of their own, two a second, and are reads, too`() {
        var rates = Rates(limits, nowMilliseconds: 0)
        var users = UserRates(limits)
        #expect(drain(.search, user, &rates, &users, at: 0) == 2)
        #expect(users.take(.search, of: user, and: &rates, nowMilliseconds: 0) == 500)
        #expect(drain(.read, user, &rates, &users, at: 0) == 18)
        #expect(users.take(.search, of: user, and: &rates, nowMilliseconds: 0) == 500)
        #expect(drain(.search, user, &rates, &users, at: 500) == 1)
        var moved = Rates(limits, nowMilliseconds: 500)
        moved.restrict(to: rates.levels(nowMilliseconds: 500))
        #expect(drain(.search, user, &moved, &users, at: 500) == 0, "a session that moves brings no more")
    }

    @Test func `all sessions of a user have three times the taps of one, and one that moves brings no more`() {
        var users = UserRates(limits)
        var sessions = (0..<5).map { _ in Rates(limits, nowMilliseconds: 0) }
        let taken = sessions.indices.map { drain(.taps(50), user, &sessions[$0], &users, at: 0) }
        #expect(taken == [20, 20, 20, 0, 0])
        var moved = Rates(limits, nowMilliseconds: 500)
        moved.restrict(to: sessions[0].levels(nowMilliseconds: 500))
        #expect(moved.wait(for: .taps(501), nowMilliseconds: 500) != nil)
        #expect(moved.wait(for: .taps(500), nowMilliseconds: 500) == nil)
        var idle = Rates(limits, nowMilliseconds: 500)
        idle.restrict(to: Rates(limits, nowMilliseconds: 0).levels(nowMilliseconds: 500))
        #expect(idle.wait(for: .taps(1_000), nowMilliseconds: 500) == nil)
    }
}
