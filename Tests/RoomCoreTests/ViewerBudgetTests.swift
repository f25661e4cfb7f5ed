import ChatModel
import Testing

@testable import RoomCore

/// A big room's stream: decides messages and keeps what everybody was shown.
private struct Stream {
    var budget = ViewerBudget()
    var perSecond = 50
    var now = Timestamp(1_700_000_000_000)
    var lastSeq: UInt64 = 0

    mutating func kept(
        from sender: String = "ann", _ change: (inout Message) -> Void = { _ in }
    ) -> ViewerBudget.Audience {
        lastSeq += 1
        return decide(.kept(seq: lastSeq), sender, change)
    }

    mutating func unkept(
        from sender: String = "ann", _ change: (inout Message) -> Void = { _ in }
    ) -> ViewerBudget.Audience {
        decide(.unkept(after: lastSeq), sender, change)
    }

    mutating func notification() -> ViewerBudget.Audience {
        kept {
            $0.from = nil
            $0.body = .notification(Notification(.roomInfoUpdated))
        }
    }

    private mutating func decide(
        _ place: MessagePlace, _ sender: String, _ change: (inout Message) -> Void
    ) -> ViewerBudget.Audience {
        let from = Sender(user: user(sender), profile: Profile(), role: .guest)
        var message = Message(
            room: RoomID("r"), place: place, messageID: "m", time: now, from: from, body: .text("hello"))
        change(&message)
        return budget.audience(of: message, perSecond: perSecond, at: now)
    }

    mutating func pass(_ milliseconds: Int64) { now = now.adding(milliseconds: milliseconds) }
}

@Suite struct ViewerBudgetTests {
    private static let session = PresenceKey.robot(user("viewer"))

    @Test func `a second shows the sample's share and not one more`() {
        var stream = Stream()
        var shown = 0
        for _ in 0..<1000 {
            if stream.kept() == .everybody { shown += 1 }
            stream.pass(1)
        }
        // A fifth is left free for what comes first.
        #expect(shown == 40)
    }

    @Test func `under the budget everything is shown`() {
        var stream = Stream()
        for _ in 0..<200 {
            #expect(stream.kept() == .everybody)
            stream.pass(30)
        }
        #expect(stream.budget.reportDueAt == nil)
    }

    @Test func `a budget of one shows one message a second`() {
        var stream = Stream(perSecond: 1)
        var shown: [Int64] = []
        for _ in 0..<3000 {
            if stream.kept() == .everybody { shown.append(stream.now.milliseconds) }
            stream.pass(1)
        }
        #expect((2...3).contains(shown.count))
        for (first, second) in zip(shown, shown.dropFirst()) { #expect(second - first >= 1000) }
    }

    @Test func `notifications and mentionAll come first, up to four fifths of the budget`() {
        var stream = Stream(perSecond: 10)
        for _ in 0..<100 { _ = stream.kept() }
        for _ in 0..<7 { #expect(stream.notification() == .everybody) }
        #expect(stream.kept { $0.mentionAll = true } == .everybody)
        #expect(stream.notification() == .only([]))
        // The last fifth is each viewer's own.
        let (eve, bob) = (user("eve"), user("bob"))
        #expect(stream.kept(from: "eve") { $0.mentions = [bob] } == .only([bob, eve]))
        #expect(stream.kept(from: "eve") == .only([eve]))
        #expect(stream.kept(from: "eve") == .only([]))
        stream.pass(999)
        #expect(stream.notification() == .only([]))
        stream.pass(1)
        #expect(stream.notification() == .everybody)
    }

    @Test func `HIGH is shown while the second has room for it`() {
        var stream = Stream(perSecond: 10)
        for _ in 0..<1000 { if stream.kept() == .everybody { stream.pass(1) } }
        var high = 0
        for _ in 0..<20 { if stream.kept({ $0.priority = .high }) == .everybody { high += 1 } }
        #expect(high >= 2, "the sample leaves a fifth free")
        #expect(stream.kept(from: "eve") { $0.priority = .high } == .only([user("eve")]))
    }

    @Test func `who is mentioned and who sent it are shown what the others are not`() {
        var stream = Stream(perSecond: 10)
        while stream.kept() == .everybody {}
        let mentioned = stream.kept { $0.mentions = [user("bob"), user("cid"), user("bob"), user("ann")] }
        #expect(mentioned == .only([user("bob"), user("cid"), user("ann")]))
    }

    @Test func `a viewer who is mentioned all the time stays within the budget`() {
        var stream = Stream(perSecond: 10)
        var bob = 0
        for number in 0..<200 {
            switch stream.kept(from: "u\(number)", { $0.mentions = [user("bob")] }) {
            case .everybody: break
            case .only(let users): if users.contains(user("bob")) { bob += 1 }
            }
        }
        #expect(bob == 10)
        #expect(stream.kept(from: "eve") == .only([user("eve")]), "others are not concerned")
    }

    @Test func `directed messages go to theirs and are counted for whoever is full`() throws {
        let viewer = try #require(Self.session)
        var stream = Stream(perSecond: 2)
        for _ in 0..<2 {
            #expect(stream.unkept { $0.to = [user("viewer")] } == .only([user("viewer"), user("ann")]))
        }
        #expect(stream.unkept(from: "bob") { $0.to = [user("viewer")] } == .only([user("bob")]))
        stream.budget.noteSpared(viewer)
        stream.pass(1000)
        let taken = stream.budget.takeReport(at: stream.now)
        let report = try #require(taken)
        #expect(report.ranges.isEmpty && report.unkept == 0)
        #expect(report.unkept(of: viewer) == 1)
    }

    @Test func `the report comes a second after the first that was left out, and then once a second`() throws {
        var stream = Stream(perSecond: 1)
        #expect(stream.kept() == .everybody)
        #expect(stream.kept() == .only([user("ann")]))
        #expect(stream.kept() == .only([]), "more of its own than the budget")
        stream.pass(999)
        #expect(stream.budget.takeReport(at: stream.now) == nil)
        stream.pass(1)
        let taken = stream.budget.takeReport(at: stream.now)
        let first = try #require(taken)
        #expect(first.ranges == [2...3])
        #expect(stream.kept() == .everybody)
        #expect(stream.kept() == .only([user("ann")]))
        #expect(stream.budget.takeReport(at: stream.now) == nil)
        stream.pass(1000)
        let second = stream.budget.takeReport(at: stream.now)
        #expect(second?.ranges == [5...5])
    }

    @Test func `who enters late, and who was shown it, is told less of the unkept`() throws {
        let (shown, late) = (try #require(Self.session), try #require(PresenceKey.robot(user("late"))))
        var stream = Stream(perSecond: 1)
        _ = stream.unkept()
        for name in ["bob", "cid", "dan"] { #expect(stream.unkept(from: name) == .only([user(name)])) }
        stream.budget.noteShown(to: shown)
        stream.budget.noteEntered(late)
        #expect(stream.unkept(from: "bob") == .only([]))
        stream.pass(1000)
        let taken = stream.budget.takeReport(at: stream.now)
        let report = try #require(taken)
        #expect(report.unkept == 4 && report.unkept(of: shown) == 3 && report.unkept(of: late) == 1)
    }

    @Test func `who comes back within a minute is told what it may not have been told`() throws {
        var stream = Stream(perSecond: 1)
        for _ in 1...5 { _ = stream.kept() }
        #expect(stream.budget.untold(through: 5, at: stream.now) == nil, "it is still to come")
        stream.pass(1000)
        _ = stream.budget.takeReport(at: stream.now)
        #expect(stream.budget.untold(through: 1, at: stream.now) == nil)
        #expect(stream.budget.untold(through: 4, at: stream.now) == 2...4)
        stream.pass(59_999)
        #expect(stream.budget.untold(through: 9, at: stream.now) == 2...9)
        stream.pass(1)
        #expect(stream.budget.untold(through: 9, at: stream.now) == nil)
    }

    @Test func `the ranges of a report are bounded and cover everything`() throws {
        var stream = Stream(perSecond: 1000)
        var left: [UInt64] = []
        for _ in 0..<5_000 where stream.kept() != .everybody { left.append(stream.lastSeq) }
        // Every second one is shown, as a notification.
        for _ in 0..<2_000 {
            if stream.kept() != .everybody { left.append(stream.lastSeq) }
            _ = stream.notification()
        }
        stream.pass(1000)
        while stream.kept() != .everybody { left.append(stream.lastSeq) }
        let taken = stream.budget.takeReport(at: stream.now)
        let ranges = try #require(taken).ranges
        #expect(ranges.count <= ViewerBudget.rangesMax)
        #expect(left.allSatisfy { seq in ranges.contains { $0.contains(seq) } })
        for (first, second) in zip(ranges, ranges.dropFirst()) { #expect(first.upperBound < second.lowerBound) }
    }

    @Test func `clients that send by the same clock get equal shares`() {
        var stream = Stream()
        var shares = [Int](repeating: 0, count: 20)
        for _ in 0..<600 {
            for sender in shares.indices {
                if stream.kept(from: "u\(sender)") == .everybody { shares[sender] += 1 }
                stream.pass(5)
            }
        }
        let mean = Double(shares.reduce(0, +)) / Double(shares.count)
        for share in shares { #expect(Double(share) > mean / 2 && Double(share) < mean * 2, "\(shares)") }
    }
}
