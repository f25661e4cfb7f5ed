import ChatModel
import Testing

@testable import RoomCore

/// Polls as `apply` decides them; each command also restores the room from its rows (`Dialogue`).
@Suite struct PollTests {
    private static let quiet = NotifyOptions()

    @discardableResult
    private static func open(
        _ it: inout Dialogue, _ id: String = "p", options: Int = 3, seconds: Int64 = 60, mayChange: Bool = false,
        by actor: Actor = member("manager"), key: UInt64? = nil
    ) -> [Effect] {
        it.facts.pollKey = PollKey(high: 5, low: 6)
        defer { it.facts.pollKey = nil }
        let draft = PollDraft(
            title: "which", options: (0..<options).map { "option \($0)" }, seconds: seconds, mayChange: mayChange)
        return it.run(.openPoll(id: id, draft, quiet), by: actor, key: key)
    }

    @discardableResult
    private static func vote(
        _ it: inout Dialogue, _ name: String, _ option: Int64, in id: String = "p", key: UInt64? = nil
    )
        -> [Effect]
    { it.run(.vote(poll: id, option: option), by: member(name), key: key) }

    private static func poll(_ effects: [Effect]) -> Poll? {
        if case .poll(let poll)? = effects.result { poll } else { nil }
    }

    @Test func `a user has one vote, and its counts are told with 363`() {
        var it = Dialogue()
        let opened = Self.open(&it)
        #expect(opened.events == [.pollOpened] && Self.poll(opened)?.counts == [0, 0, 0])
        #expect(Self.poll(opened)?.closesAt == it.now.adding(seconds: 60))
        #expect(Self.poll(Self.vote(&it, "ann", 1))?.counts == [0, 1, 0])
        #expect(Self.poll(Self.vote(&it, "bob", 1))?.counts == [0, 2, 0])
        #expect(Self.vote(&it, "ann", 2).code == .conflict)
        #expect(Self.vote(&it, "eve", 3).code == .badParameter && Self.vote(&it, "eve", -1).code == .badParameter)
        #expect(Self.vote(&it, "eve", 0, in: "none").code == .notFound)
        #expect(it.run(.vote(poll: "p", option: 0), by: member("eve", anonymous: true)).code == .forbidden)
        #expect(it.run(.vote(poll: "p", option: 0), by: .system).code == .forbidden)
        #expect(it.state.pollCounts.map(\.key) == ["poll:p:0", "poll:p:1", "poll:p:2"])
        let closed = it.run(.closePoll(id: "p", Self.quiet), by: member("manager"))
        #expect(closed.events == [.pollClosed])
        guard case .poll(let told)? = closed.notifications.first?.data else {
            Issue.record("no poll")
            return
        }
        #expect(told.counts == [0, 2, 0] && told.closed && told.title == "which")
        #expect(Self.vote(&it, "eve", 0).code == .conflict)
        #expect(it.run(.closePoll(id: "p", Self.quiet), by: member("manager")).code == .conflict)
        #expect(it.state.pollList == [told] && it.state.pollCounts.isEmpty)
    }

    @Test func `a repeat is not answered with the texts of another poll that has the ID by then`() throws {
        var it = Dialogue()
        Self.open(&it, options: 2)
        Self.vote(&it, "ann", 0, key: 1)
        let close = CommandBody.closePoll(id: "p", Self.quiet)
        it.run(close, by: member("manager"), key: 2)
        #expect(Self.poll(Self.vote(&it, "ann", 0, key: 1))?.options == ["option 0", "option 1"])
        it.now = it.now.adding(seconds: 1)
        Self.open(&it, options: 3)
        for effects in [Self.vote(&it, "ann", 0, key: 1), it.run(close, by: member("manager"), key: 2)] {
            let poll = try #require(Self.poll(effects))
            #expect(poll.counts == [1, 0] && poll.options == ["", ""] && poll.title.isEmpty)
        }
    }

    @Test func `with mayChange a second vote moves the first`() {
        var it = Dialogue()
        Self.open(&it, mayChange: true)
        Self.vote(&it, "ann", 0)
        Self.vote(&it, "bob", 0)
        #expect(Self.poll(Self.vote(&it, "ann", 2))?.counts == [1, 0, 1])
        let again = Self.vote(&it, "ann", 2)
        #expect(Self.poll(again)?.counts == [1, 0, 1] && again.rows.isEmpty, "nothing has changed")
        #expect(Self.poll(Self.vote(&it, "ann", 0))?.counts == [2, 0, 0])
    }

    @Test func `managers and the server open and close; a muted member votes`() {
        var it = Dialogue()
        for actor in [member("bob"), member("normal"), member("eve", anonymous: true)] {
            #expect(Self.open(&it, by: actor).code == .forbidden)
        }
        for (id, actor) in [("a", member("creator")), ("b", .system)] as [(String, Actor)] {
            #expect(Self.open(&it, id, by: actor).error == nil)
            #expect(it.run(.closePoll(id: id, Self.quiet), by: member("bob")).code == .forbidden)
        }
        it.run(.setMute(user("bob"), enable: true, Self.quiet), by: .system)
        #expect(Self.vote(&it, "bob", 0, in: "a").error == nil)
        it.run(.setBlacklist(user("bob"), enable: true, Self.quiet), by: .system)
        #expect(Self.vote(&it, "bob", 0, in: "b").code == .blacklisted)
    }

    @Test func `a poll closes by its time, and takes no vote after it`() {
        var it = Dialogue()
        Self.open(&it, seconds: 60)
        Self.open(&it, "later", seconds: 90)
        Self.vote(&it, "ann", 0)
        #expect(
            it.state.nextDeadline == it.now.adding(seconds: 60) && it.store.deadlines.first == it.state.nextDeadline)
        it.pass(seconds: 60)
        #expect(Self.vote(&it, "bob", 0).code == .conflict, "before anybody says that it is over")
        let expired = it.run(.expire, by: .system)
        #expect(expired.events == [.pollClosed] && it.state.pollList.map(\.closed) == [true, false])
        #expect(expired.notifications.first?.operator == nil)
        it.pass(seconds: 30)
        #expect(it.run(.expire, by: .system).events == [.pollClosed])
    }

    @Test func `five are open at most, and an ID is free again when its poll is closed`() {
        var it = Dialogue()
        for number in 1...5 { #expect(Self.open(&it, "p\(number)").error == nil) }
        #expect(Self.open(&it, "p6").code == .conflict)
        it.run(.closePoll(id: "p1", Self.quiet), by: .system)
        #expect(Self.open(&it, "p2").code == .conflict, "it is open")
        #expect(Self.open(&it, "p1").error == nil)
        #expect(Self.poll(Self.vote(&it, "ann", 0, in: "p1"))?.counts == [1, 0, 0])
    }

    @Test func `votes of closed polls are removed a part at a time, also of one whose ID is taken again`() {
        var it = Dialogue()
        Self.open(&it)
        for number in 0..<600 { Self.vote(&it, "user\(number)", Int64(number % 3)) }
        it.run(.closePoll(id: "p", Self.quiet), by: .system)
        Self.open(&it)
        #expect(Self.poll(Self.vote(&it, "user1", 2))?.counts == [0, 0, 1], "a poll of its own")
        var rounds = 0
        while let due = it.state.nextDeadline, due <= it.now, rounds < 10 {
            it.run(.expire, by: .system)
            rounds += 1
        }
        #expect(rounds == 3, "256 rows each")
        #expect(it.state.polls.abandoned.isEmpty && it.state.pollList.map(\.counts) == [[0, 0, 1]])
        it.run(.closePoll(id: "p", Self.quiet), by: .system)
        it.run(.expire, by: .system)
        #expect(it.state.polls["p"]?.voters.parts.isEmpty == true && it.state.pollList.map(\.counts) == [[0, 0, 1]])
        #expect(it.store.deadlines.isEmpty, "nothing of it is due any more: a row that stays due hides others")
    }

    @Test func `polls without a vote are due for nothing, and bounded by twenty, too`() {
        var it = Dialogue()
        for number in 1...25 {
            Self.open(&it, "p\(number)")
            it.run(.closePoll(id: "p\(number)", Self.quiet), by: .system)
        }
        #expect(it.store.deadlines.isEmpty)
        #expect(it.state.nextDeadline == it.now)
        it.run(.expire, by: .system)
        #expect(it.state.pollList.count == 20 && it.state.nextDeadline == nil)
    }

    @Test func `of closed polls the latest twenty are listed`() {
        var it = Dialogue()
        for number in 1...25 {
            Self.open(&it, "p\(number)")
            Self.vote(&it, "ann", 0, in: "p\(number)")
            it.run(.closePoll(id: "p\(number)", Self.quiet), by: .system)
        }
        it.run(.expire, by: .system)
        #expect(it.state.pollList.map(\.id) == (6...25).map { "p\($0)" })
    }

    @Test func `a repeat of a vote gets its first answer`() {
        var it = Dialogue()
        let opened = Self.open(&it, key: 1)
        #expect(Self.open(&it, key: 1).result == opened.result)
        let first = Self.vote(&it, "ann", 1, key: 2)
        Self.vote(&it, "bob", 1, key: 3)
        #expect(Self.vote(&it, "ann", 1, key: 2).result == first.result && first.error == nil)
    }

    @Test func `a poll is full with its voters, and who has voted is known among them`() {
        var voters = PollVoters(options: 2)
        let key = PollKey(high: 1, low: 2)
        for number in 0..<20_000 { voters.set(number % 2, of: PollVoters.hash(user("u\(number)"), key)) }
        #expect(voters.total == 20_000 && voters.counts == [10_000, 10_000])
        for number in stride(from: 0, to: 20_000, by: 777) {
            #expect(voters.option(of: PollVoters.hash(user("u\(number)"), key)) == number % 2)
        }
        #expect(voters.option(of: PollVoters.hash(user("nobody"), key)) == nil)
        #expect(voters.option(of: PollVoters.hash(user("u1"), PollKey(high: 1, low: 3))) == nil)
        var restored = PollVoters(options: 2)
        for (part, bytes) in voters.parts { restored.restore(part, PollVotes(bytes: bytes)) }
        #expect(restored.parts == voters.parts && restored.counts == voters.counts && restored.total == voters.total)
        restored.restore(0, PollVotes(bytes: [1, 2, 3]))
    }

    @Test func `a deleted room that is had back has its polls, which go on to their end`() {
        var it = Dialogue()
        Self.open(&it, seconds: 600)
        Self.vote(&it, "ann", 2)
        it.facts.keepDeletedSeconds = 60
        it.run(.deleteRoom, by: .system)
        #expect(it.store.deadlines.count == 1, "the room's own")
        it.run(.undeleteRoom, by: .system)
        #expect(it.state.pollList.map(\.counts) == [[0, 0, 1]])
        it.pass(seconds: 600)
        #expect(it.run(.expire, by: .system).events == [.pollClosed])
    }
}
