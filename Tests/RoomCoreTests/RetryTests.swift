import ChatModel
import Testing

@testable import RoomCore

@Suite struct RetryTests {
    private static let post = CommandBody.post(MessageDraft(body: .text("hello")))

    @Test func `a repeated post gets the first result and nothing else, for 10 minutes`() {
        var it = Dialogue()
        let first = it.run(Self.post, by: member("bob"), key: 1)
        it.pass(milliseconds: Limits.commandMemorySeconds * 1000 - 1)
        #expect(it.run(Self.post, by: member("bob"), key: 1) == first.suffix(1))
        it.pass(milliseconds: 1)
        #expect(it.run(Self.post, by: member("bob"), key: 1).posted?.place == .kept(seq: 2))
    }

    @Test func `a kept post leaves no command row`() {
        var it = Dialogue()
        #expect(it.run(Self.post, by: member("bob"), key: 1).rows.isEmpty)
    }

    @Test func `anything else leaves one`() {
        var it = Dialogue()
        var unkept = MessageDraft(body: .text("x"))
        unkept.keep = false
        for (key, body) in [
            CommandBody.post(unkept), .muteRoom(enable: true, NotifyOptions()),
            .queueSet(QueueWrite(key: "k", value: "v"), NotifyOptions()),
            .queueTake(key: "k", NotifyOptions()), .recall([], NotifyOptions()),
        ].enumerated() {
            let first = it.run(body, by: .system, key: UInt64(key))
            #expect(first.rows.count { $0.kind == .command } == 1)
            #expect(it.run(body, by: .system, key: UInt64(key)) == first.suffix(1))
        }
        #expect(it.state.queueCount == 0)
    }

    @Test func `a refused try does not use the ID up`() {
        var it = Dialogue()
        it.run(.muteRoom(enable: true, NotifyOptions()), by: member("creator"))
        #expect(it.run(Self.post, by: member("bob"), key: 1).code == .roomMuted)
        it.run(.muteRoom(enable: false, NotifyOptions()), by: member("creator"))
        #expect(it.run(Self.post, by: member("bob"), key: 1).error == nil)
    }

    @Test func `the lookup goes before every other check`() {
        var it = Dialogue()
        let first = it.run(Self.post, by: member("bob"), key: 1)
        it.run(.setBlacklist(user("bob"), enable: true, NotifyOptions()), by: member("creator"))
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(it.run(Self.post, by: member("bob"), key: 1) == first.suffix(1))
    }

    @Test func `a lowered priority is remembered with the post`() {
        var it = Dialogue()
        var high = MessageDraft(body: .text("x"))
        high.priority = .high
        it.run(.post(high), by: .system, key: 1)
        it.run(.post(high), by: member("bob"), key: 2)
        #expect(it.run(.post(high), by: .system, key: 1).posted?.priority == .high)
        #expect(it.run(.post(high), by: member("bob"), key: 2).posted?.priority == .normal)
    }

    @Test func `commands without an ID are all different`() {
        var it = Dialogue()
        #expect(it.run(Self.post, by: member("bob")).posted?.place == .kept(seq: 1))
        #expect(it.run(Self.post, by: member("bob")).posted?.place == .kept(seq: 2))
    }

    @Test func `what is too old leaves memory and catalogue`() {
        var it = Dialogue()
        for key in 0..<100 {
            it.run(.muteRoom(enable: key % 2 == 0, NotifyOptions()), by: .system, key: UInt64(key))
            it.run(Self.post, by: member("bob"), key: 1000 + UInt64(key))
            it.pass(seconds: 1)
        }
        #expect(it.state.ledger.results.count == 100)
        // The others came into a muted room.
        #expect(it.state.ledger.posts.count == 50)
        // Two minutes more than it is remembered for.
        it.pass(seconds: Limits.commandMemorySeconds + 120)
        for _ in 0..<13 { it.run(Self.post, by: member("bob")) }
        #expect(it.state.ledger.results.isEmpty)
        #expect(it.state.ledger.posts.count == 0)
    }

    @Test func `a leader can ask for a remembered result without proposing`() {
        var it = Dialogue()
        let result = it.run(Self.post, by: member("bob"), key: 1).result
        let key = CommandKey(high: 7, low: 1)
        let command = Command(id: nil, room: it.room, actor: member("bob"), body: Self.post)
        #expect(it.state.remembered(key, of: command, at: it.now) == result)
        #expect(!it.state.remembers(CommandKey(high: 7, low: 2), at: it.now))
        it.pass(seconds: Limits.commandMemorySeconds)
        #expect(!it.state.remembers(key, at: it.now))
        #expect(it.state.remembered(key, of: command, at: it.now) == nil)
    }
}
