import ChatModel
import Testing

@testable import RoomCore

/// A room keeps kicks through restarts: each dialogue restores the room behind every command.
@Suite struct KickMemoryTests {
    private func kick(_ name: String) -> CommandBody {
        .kick(user(name), banSeconds: nil, NotifyOptions(notify: false))
    }

    @Test func `a kick that nobody is told of is remembered for ten minutes, by its last time`() {
        var it = Dialogue()
        let first = it.now
        it.run(kick("bob"), by: .system)
        it.pass(seconds: 5)
        it.run(kick("bob"), by: .system)
        let last = it.now
        #expect(it.state.kicked(user("bob"), since: last) == .byManager)
        #expect(it.state.kicked(user("bob"), since: first) == .byManager)
        #expect(it.state.kicked(user("bob"), since: last.adding(milliseconds: 1)) == nil)
        #expect(it.state.kicked(user("eve"), since: first) == nil)
        it.pass(seconds: Limits.commandMemorySeconds - 1)
        it.run(kick("eve"), by: .system)
        #expect(it.state.kicked(user("bob"), since: first) == .byManager)
        it.pass(seconds: 1)
        it.run(kick("ann"), by: .system)
        #expect(it.state.kicked(user("bob"), since: first) == nil)
        #expect(it.state.kicked(user("eve"), since: first) == .byManager)
    }

    @Test func `so is a blacklisting that has been lifted since`() {
        var it = Dialogue()
        let start = it.now
        for enable in [true, false] {
            it.run(.setBlacklist(user("bob"), enable: enable, NotifyOptions(notify: false)), by: .system)
        }
        #expect(it.state.kicked(user("bob"), since: start) == .blacklisted)
    }

    @Test func `a refused kick is none`() {
        var it = Dialogue()
        #expect(it.run(kick("manager"), by: member("normal")).code == .forbidden)
        #expect(it.state.kicked(user("manager"), since: Timestamp(0)) == nil)
    }

    @Test func `beyond the bound the oldest are forgotten`() {
        var it = Dialogue()
        let start = it.now
        for number in 0...RecordedKick.countMax { it.run(kick("u\(number)"), by: .system) }
        #expect(it.state.kicked(user("u0"), since: start) == nil)
        #expect(it.state.kicked(user("u1"), since: start) == .byManager)
    }

    @Test func `a room that was closed, or deleted and had back, remembers that everybody was put out`() {
        var it = Dialogue()
        it.facts.keepDeletedSeconds = 60
        #expect(!it.state.everybodyKicked(since: Timestamp(0)))
        it.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        let closedAt = it.now
        it.run(.reopenRoom, by: .system)
        it.pass(seconds: 1)
        it.run(kick("bob"), by: .system)
        #expect(it.state.everybodyKicked(since: closedAt))
        #expect(!it.state.everybodyKicked(since: closedAt.adding(milliseconds: 1)))
        it.pass(seconds: 1)
        it.run(.deleteRoom, by: .system)
        let deletedAt = it.now
        it.pass(seconds: 1)
        it.run(.undeleteRoom, by: .system)
        it.run(.reopenRoom, by: .system)
        #expect(it.state.everybodyKicked(since: deletedAt) && !it.state.everybodyKicked(since: it.now))
    }
}
