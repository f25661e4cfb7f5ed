import ChatModel
import SessionCore
import Testing

/// What nodes tell each other of their users' rates, and what that costs those users.
@Suite struct UserUsesTests {
    private let limits = RateLimits()
    private let user: UserID
    private let change = RateCost.change(bytes: 100)

    init() throws { user = try #require(UserID("ann")) }

    /// Asks so often, over as many sessions as it takes.
    private func ask(_ cost: RateCost, times: Int, _ users: inout UserRates, at now: UInt64) -> Int {
        var taken = 0
        for _ in 0..<times {
            var session = Rates(limits, nowMilliseconds: now)
            if users.take(cost, of: user, and: &session, nowMilliseconds: now) == nil { taken += 1 }
        }
        return taken
    }

    private func wait(_ cost: RateCost, _ users: inout UserRates, at now: UInt64) -> Int64? {
        users.change(user, nowMilliseconds: now) { $0.wait(for: cost, nowMilliseconds: now) }
    }

    @Test func `what was asked is told once, and nothing is told when nobody asks`() {
        var users = UserRates(limits)
        #expect(users.takeUses(nowMilliseconds: 0) == nil)
        #expect(ask(change, times: 5, &users, at: 0) == 5 && ask(.read, times: 7, &users, at: 0) == 7)
        #expect(
            users.takeUses(nowMilliseconds: 0)?.noteworthy == [UserUse(user: user, changes: 5, reads: 7, bytes: 500)])
        #expect(users.takeUses(nowMilliseconds: 5_000) == nil)
        // Not more than once a second or so.
        #expect(ask(change, times: 5, &users, at: 5_000) == 5)
        #expect(users.takeUses(nowMilliseconds: 5_000) != nil)
        #expect(ask(change, times: 4, &users, at: 5_800) == 4)
        #expect(users.takeUses(nowMilliseconds: 5_800) == nil)
        #expect(users.takeUses(nowMilliseconds: 6_000)?.noteworthy.map(\.changes) == [4])
    }

    @Test(arguments: [RateCost.change(bytes: 0): 3, .read: 6, .change(bytes: 95 * 1024): 2])
    func `who asks for little is not told of`(cost: RateCost, enough: Int) {
        var users = UserRates(limits)
        #expect(ask(cost, times: enough - 1, &users, at: 0) == enough - 1)
        #expect(users.takeUses(nowMilliseconds: 0)?.noteworthy == [])
        // What was not told then is not added to what comes later.
        #expect(ask(cost, times: enough, &users, at: 1_000) == enough)
        #expect(users.takeUses(nowMilliseconds: 1_000)?.noteworthy.count == 1)
        // Questions for answers that there are already count at the node alone.
        #expect(ask(.isRepeat, times: 50, &users, at: 2_000) == 50)
        #expect(users.takeUses(nowMilliseconds: 2_000) == nil)
    }

    @Test func `of too many the greediest are told of`() throws {
        var users = UserRates(limits)
        var session = Rates(limits, nowMilliseconds: 0)
        for number in 0..<UserUse.usersMax + 500 {
            let user = try #require(UserID("u\(number)"))
            for _ in 0..<(number < 500 ? 3 : 4) {
                session = Rates(limits, nowMilliseconds: 0)
                #expect(users.take(change, of: user, and: &session, nowMilliseconds: 0) == nil)
            }
        }
        let told = users.takeUses(nowMilliseconds: 0)?.noteworthy ?? []
        #expect(told.count == UserUse.usersMax && told.allSatisfy { $0.changes == 4 })
    }

    @Test func `a repeat is not told of, and copies are when they are known`() {
        var users = UserRates(limits)
        var session = Rates(limits, nowMilliseconds: 0)
        let combine = RateCost.change(bytes: 1_000, copies: Limits.pageBytes)
        for _ in 1...2 { _ = users.take(combine, of: user, and: &session, nowMilliseconds: 0) }
        #expect(ask(change, times: 4, &users, at: 0) == 4)
        users.giveBack(combine, to: user, and: &session, nowMilliseconds: 0)
        #expect(users.takeUses(nowMilliseconds: 0)?.noteworthy == [UserUse(user: user, changes: 5, bytes: 1_400)])
        users.settle(combine, copied: 200_000, of: user, and: &session, nowMilliseconds: 0)
        #expect(users.takeUses(nowMilliseconds: 1_000)?.noteworthy == [UserUse(user: user, bytes: 200_000)])
    }

    @Test func `what is used elsewhere is missing here, and is there again when its time has passed`() {
        var users = UserRates(limits)
        users.take(elsewhere: [UserUse(user: user, changes: 58, reads: 60, bytes: 100)], nowMilliseconds: 1_000)
        #expect(ask(change, times: 10, &users, at: 1_000) == 2)
        #expect(wait(.read, &users, at: 1_000) == 17)
        #expect(ask(change, times: 100, &users, at: 3_000) == 60)
        // What others have told is not told again.
        #expect(users.takeUses(nowMilliseconds: 3_000)?.noteworthy.map(\.changes) == [62])
    }

    @Test func `a lie, said once or again and again, is a debt of five seconds at most`() {
        var users = UserRates(limits)
        let lie = UserUse(user: user, changes: .max, reads: .max, bytes: .max)
        users.take(elsewhere: [lie], nowMilliseconds: 0)
        for now in UInt64(0)..<50 { users.take(elsewhere: [lie, lie], nowMilliseconds: now * 10) }
        #expect(wait(.change(bytes: 0), &users, at: 490) == 5_034)
        #expect(wait(.read, &users, at: 490) == 5_017)
        #expect(wait(.change(bytes: 1), &users, at: 5_490 + 34) == nil)
        // Nothing comes of less than nothing.
        users.take(elsewhere: [UserUse(user: user, changes: -50, reads: .min)], nowMilliseconds: 5_524)
        #expect(ask(change, times: 10, &users, at: 5_524) == 1)
    }

    @Test func `a debt of its own that is deeper stays as it is`() {
        var users = UserRates(limits)
        let huge = RateCost.change(bytes: 40 << 20)
        #expect(ask(huge, times: 1, &users, at: 0) == 1)
        let debt = wait(change, &users, at: 0)
        users.take(elsewhere: [UserUse(user: user, bytes: 1 << 20)], nowMilliseconds: 0)
        #expect(wait(change, &users, at: 0) == debt)
    }

    @Test func `what moves with a session and is told as well is counted twice for five seconds at most`() throws {
        var (here, there) = (UserRates(limits), UserRates(limits))
        #expect(ask(change, times: 100, &here, at: 0) == 60)
        let levels = try #require(here.levels(of: user, nowMilliseconds: 0))
        there.change(user, nowMilliseconds: 0) { $0.restrict(to: levels) }
        let told = here.takeUses(nowMilliseconds: 0)?.noteworthy ?? []
        #expect(told.map(\.changes) == [60])
        there.take(elsewhere: told, nowMilliseconds: 0)
        let wait = wait(change, &there, at: 0) ?? 0
        #expect((1_000...5_034).contains(wait))
    }

    @Test func `of users that nobody here knows only so many are taken up in a minute`() throws {
        var users = UserRates(limits)
        _ = users.turn(nowMilliseconds: 0)
        #expect(ask(change, times: 1, &users, at: 0) == 1)
        for number in 0..<30 {
            let names = (0..<UserUse.usersMax).compactMap { UserID("\(number)-\($0)") }
            users.take(elsewhere: names.map { UserUse(user: $0, reads: 9) }, nowMilliseconds: 0)
        }
        #expect(users.count == 20_001)
        // Who is known here is charged all the same.
        users.take(elsewhere: [UserUse(user: user, changes: 59)], nowMilliseconds: 0)
        #expect(wait(change, &users, at: 0) == 34)
        _ = users.turn(nowMilliseconds: 60_000)
        users.take(elsewhere: [UserUse(user: try #require(UserID("new")), reads: 9)], nowMilliseconds: 60_000)
        #expect(users.count == 20_002)
    }
}
