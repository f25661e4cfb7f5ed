import ChatModel
import Testing

@testable import RoomCore

@Suite struct ListingTests {
    /// All pages of a listing.
    private static func all(_ state: RoomState, _ kind: MemberKind, limit: Int, at now: Timestamp) throws -> [UserID] {
        var users: [UserID] = []
        var cursor: String?
        repeat {
            let page = try state.members(kind, after: cursor, limit: limit, at: now)
            #expect(page.items.count <= limit)
            users += page.items.map(\.user)
            cursor = page.next
            if let cursor { #expect(cursor.utf8.count <= Limits.opaqueIDBytes) }
        } while cursor != nil
        return users
    }

    @Test func `fixed members come in the order of becoming so`() throws {
        var it = Dialogue()
        for name in ["z", "y", "x"] {
            it.pass(milliseconds: 1)
            it.run(.setMember(user(name), enable: true, NotifyOptions()), by: .system)
        }
        it.pass(milliseconds: 1)
        it.run(.tempMute(user("a"), seconds: 60, NotifyOptions()), by: .system)
        it.pass(milliseconds: 1)
        it.run(.setMute(user("b"), enable: true, NotifyOptions()), by: .system)
        it.run(.setMember(user("y"), enable: false, NotifyOptions()), by: .system)
        let users = try Self.all(it.state, .fixed, limit: 2, at: it.now)
        #expect(Set(users.prefix(3)) == [user("creator"), user("manager"), user("normal")])
        #expect(users.dropFirst(3) == [user("z"), user("x"), user("b")])
    }

    @Test func `managers include the creator`() throws {
        let it = Dialogue()
        #expect(try Set(Self.all(it.state, .managers, limit: 9, at: it.now)) == [user("creator"), user("manager")])
    }

    @Test func `the muted listing has temporary ones too, while they last`() throws {
        var it = Dialogue()
        it.run(.setMute(user("b"), enable: true, NotifyOptions()), by: .system)
        it.run(.tempMute(user("c"), seconds: 5, NotifyOptions()), by: .system)
        it.run(.tempMute(user("a"), seconds: 6, NotifyOptions()), by: .system)
        #expect(try Self.all(it.state, .muted, limit: 1, at: it.now) == [user("a"), user("b"), user("c")])
        it.pass(seconds: 5)
        #expect(try Self.all(it.state, .muted, limit: 1, at: it.now) == [user("a"), user("b")])
        it.run(.setBlacklist(user("d"), enable: true, NotifyOptions()), by: .system)
        #expect(try Self.all(it.state, .blacklisted, limit: 1, at: it.now) == [user("d")])
    }

    @Test func `a page that is exactly full has no next when it is the last`() throws {
        var it = Dialogue()
        it.run(.setMember(user("a"), enable: true, NotifyOptions()), by: .system)
        #expect(try it.state.members(.fixed, after: nil, limit: 4, at: it.now).next == nil)
        #expect(try it.state.members(.fixed, after: nil, limit: 3, at: it.now).next != nil)
    }

    @Test func `a cursor is good when its member has gone`() throws {
        var it = Dialogue()
        for number in 0..<10 {
            it.pass(milliseconds: 1)
            it.run(.setMember(user("u\(number)"), enable: true, NotifyOptions()), by: .system)
        }
        let page = try it.state.members(.fixed, after: nil, limit: 6, at: it.now)
        it.run(.setMember(user("u2"), enable: false, NotifyOptions()), by: .system)
        let next = try it.state.members(.fixed, after: page.next, limit: 9, at: it.now)
        #expect(next.items.map(\.user.text) == (3..<10).map { "u\($0)" })
    }

    @Test func `users with the longest IDs have cursors too`() throws {
        var it = Dialogue()
        let names = (0..<3).map { String(repeating: "x", count: 63) + "\($0)" }
        for name in names {
            it.run(.setMute(user(name), enable: true, NotifyOptions()), by: .system)
        }
        #expect(try Self.all(it.state, .fixed, limit: 1, at: it.now).count == 6)
        #expect(try Self.all(it.state, .muted, limit: 1, at: it.now).map(\.text) == names)
    }

    @Test func `garbage is no cursor, and who is here is asked of presence`() {
        let it = Dialogue()
        for kind in [MemberKind.fixed, .managers, .muted, .blacklisted, .banned] {
            #expect(throws: ChatError.self) { try it.state.members(kind, after: "a/b", limit: 1, at: it.now) }
        }
        for kind in [MemberKind.temporary, .temporaryReversed, .fixedOnline] {
            #expect(throws: ChatError.self) { try it.state.members(kind, after: nil, limit: 1, at: it.now) }
        }
    }

    @Test func `who is fixed by a flag only is not in the list that others than managers see`() throws {
        var it = Dialogue()
        it.run(.setMute(user("muted"), enable: true, NotifyOptions()), by: .system)
        it.run(.setBlacklist(user("barred"), enable: true, NotifyOptions()), by: .system)
        it.run(.setMute(user("normal"), enable: true, NotifyOptions()), by: .system)
        let all = try Self.all(it.state, .fixed, limit: 2, at: it.now).map(\.text)
        #expect(all.sorted() == ["barred", "creator", "manager", "muted", "normal"])
        let first = try it.state.members(.fixed, after: nil, limit: 2, at: it.now, all: false)
        let rest = try it.state.members(.fixed, after: first.next, limit: 2, at: it.now, all: false)
        #expect((first.items + rest.items).map(\.user.text).sorted() == ["creator", "manager", "normal"])
        #expect(first.items.count == 2 && rest.next == nil)
    }

    @Test func `BANNED lists whom a kick keeps out, until that is over or lifted`() throws {
        var it = Dialogue()
        for (name, seconds) in [("a", 10), ("b", 20), ("c", 30)] as [(String, Int64)] {
            it.run(.kick(user(name), banSeconds: seconds, NotifyOptions()), by: .system)
        }
        #expect(try Self.all(it.state, .banned, limit: 2, at: it.now) == ["a", "b", "c"].map(user))
        let page = try it.state.members(.banned, after: nil, limit: 2, at: it.now)
        #expect(page.items.map(\.banEndsAt) == [it.now.adding(seconds: 10), it.now.adding(seconds: 20)])
        it.run(.kick(user("c"), banSeconds: 0, NotifyOptions()), by: .system)
        it.pass(seconds: 10)
        #expect(try Self.all(it.state, .banned, limit: 2, at: it.now) == [user("b")])
        it.run(.expire, by: .system)
        #expect(try Self.all(it.state, .banned, limit: 2, at: it.now) == [user("b")])
    }
}
