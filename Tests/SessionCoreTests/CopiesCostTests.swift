import ChatModel
import SessionCore
import Testing

/// What a COMBINE costs: the most that it may copy, until it is known how much that was.
@Suite struct CopiesCostTests {
    private let limits = RateLimits()
    private let user: UserID
    private let combine = RateCost.change(bytes: 1000, copies: Limits.pageBytes)

    init() throws { user = try #require(UserID("ann")) }

    private func start() -> (UserRates, Rates) { (UserRates(limits), Rates(limits, nowMilliseconds: 0)) }

    @Test func `two pass at once, and a third has to wait for their answers or the time`() {
        var (users, session) = start()
        for _ in 1...2 { #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) == nil) }
        let wait = users.take(combine, of: user, and: &session, nowMilliseconds: 0)
        #expect((1...1000).contains(wait ?? 0))
        // A text does not wait behind them.
        #expect(users.take(.change(bytes: 1000), of: user, and: &session, nowMilliseconds: 0) == nil)
        users.settle(combine, copied: 1000, of: user, and: &session, nowMilliseconds: 0)
        #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) == nil)
    }

    @Test func `small ones, each after the answer to the one before, pass as often as other changes do`() {
        var (users, session) = start()
        for _ in 1...20 {
            #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) == nil)
            users.settle(combine, copied: 2000, of: user, and: &session, nowMilliseconds: 0)
        }
        // The number of changes is what is used up.
        #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) == 100)
        let used = Int64(20 * 3000)
        #expect(session.levels(nowMilliseconds: 0).bytes == (640 * 1024 - used) * 1000)
        #expect(users.levels(of: user, nowMilliseconds: 0)?.bytes == (3 * 640 * 1024 - used) * 1000)
    }

    @Test(arguments: [0, 2000, Limits.pageBytes, .max, -1])
    func `what it has not copied comes back, and no more`(copied: Int) {
        var (users, session) = start()
        #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) == nil)
        users.settle(combine, copied: copied, of: user, and: &session, nowMilliseconds: 0)
        let used = Int64(1000 + min(max(0, copied), Limits.pageBytes))
        let levels = session.levels(nowMilliseconds: 0)
        #expect(levels.bytes == (640 * 1024 - used) * 1000 && levels.changes == 19_000)
        #expect(users.levels(of: user, nowMilliseconds: 0)?.bytes == (3 * 640 * 1024 - used) * 1000)
    }

    @Test func `one that is given up keeps its charge, in another session of the user too`() {
        var (users, session) = start()
        var sessions = [session, session, session]
        for index in sessions.indices {
            for _ in 1...2 {
                #expect(users.take(combine, of: user, and: &sessions[index], nowMilliseconds: 0) == nil)
                users.settle(combine, copied: .max, of: user, and: &sessions[index], nowMilliseconds: 0)
            }
        }
        // Three sessions have used up what the user may have; a fourth has all of its own.
        _ = users.take(combine, of: user, and: &session, nowMilliseconds: 0)
        #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) != nil)
        #expect(session.wait(for: .change(bytes: 300 * 1024), nowMilliseconds: 0) == nil)
    }

    @Test func `a repeat costs nothing, nor do its copies`() {
        var (users, session) = start()
        let (before, full) = (session.levels(nowMilliseconds: 0), Int64(3 * 640 * 1024) * 1000)
        #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) == nil)
        users.giveBack(combine, to: user, and: &session, nowMilliseconds: 0)
        #expect(session.levels(nowMilliseconds: 0) == before)
        #expect(users.levels(of: user, nowMilliseconds: 0)?.bytes == full)
    }

    @Test func `with a burst below what one may copy it passes when all is there`() {
        var narrow = limits
        (narrow.bytesPerSecond, narrow.bytesBurst) = (32 * 1024, 64 * 1024)
        var users = UserRates(narrow)
        var session = Rates(narrow, nowMilliseconds: 0)
        #expect(users.take(combine, of: user, and: &session, nowMilliseconds: 0) == nil)
        #expect(users.take(.change(bytes: 1), of: user, and: &session, nowMilliseconds: 0) != nil)
        users.settle(combine, copied: 0, of: user, and: &session, nowMilliseconds: 0)
        #expect(users.take(.change(bytes: 1), of: user, and: &session, nowMilliseconds: 0) == nil)
    }
}
