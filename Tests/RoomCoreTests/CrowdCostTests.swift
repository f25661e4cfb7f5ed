import ChatModel
import Testing

@testable import RoomCore

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a crowd costs: nothing that happens for each message, enter or page may grow with the number of members.
///
/// Measured in CPU time of this thread, which a busy machine does not stretch, and as the least of several rounds: with
/// sixteen times the members a step that goes through all of them costs sixteen times as much.
@Suite(.serialized) struct CrowdCostTests {
    private static let small = 2_000
    private static let large = 32_000
    /// Far below 16, and far above what a few more levels of a search cost.
    private static let growthMax = 5.0

    private static func visitor(_ number: Int, at time: Timestamp) throws -> Visitor {
        let node = try #require(NodeID("n\(number % 3)"))
        let key = PresenceKey(node: node, session: try #require(SessionID("s\(number)")))
        return Visitor(
            key: key, laneNumber: number % 2, user: user("u\(number)"), profile: Profile(nick: "nick \(number)"),
            anonymous: false, device: .web, enteredAt: time)
    }

    private static func crowd(_ count: Int, role: Role = .guest, at time: Timestamp) throws -> Presence {
        var presence = Presence(policy: RoomPolicy())
        for number in 0..<count {
            _ = try presence.enter(try visitor(number, at: time), role: role, notify: .all, at: time)
        }
        return presence
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// How much more a step costs in the large crowd.
    private func growth(role: Role = .guest, _ step: (inout Presence, Int) throws -> Void) throws -> Double {
        let now = Timestamp(1_700_000_000_000)
        var least = [Double.infinity, Double.infinity]
        for (place, count) in [Self.small, Self.large].enumerated() {
            var presence = try Self.crowd(count, role: role, at: now)
            for round in 0..<6 {
                let start = Self.cpuSeconds()
                for number in 0..<100 { try step(&presence, count + round * 100 + number) }
                least[place] = min(least[place], Self.cpuSeconds() - start)
            }
            #expect(presence.online == count, "a step leaves the crowd as it was")
        }
        return least[1] / least[0]
    }

    @Test func `coming and going cost the same in a crowd`() throws {
        let now = Timestamp(1_700_000_001_000)
        let growth = try growth { presence, number in
            let visitor = try Self.visitor(number, at: now)
            _ = try presence.enter(visitor, role: .guest, notify: .all, at: now)
            presence.setAway(visitor.key, at: now)
            presence.move(visitor.key, lane: 7, encoding: .protobuf)
            _ = presence.exit(visitor.key, notify: .all, at: now)
        }
        #expect(growth < Self.growthMax)
    }

    @Test func `who came first goes as easily as who came last, also as a fixed member`() throws {
        for role in [Role.guest, .normal] {
            let now = Timestamp(1_700_000_001_000)
            let growth = try growth(role: role) { presence, number in
                let first = try Self.visitor(number % 1_000, at: now)
                _ = presence.exit(first.key, notify: .all, at: now)
                _ = try presence.enter(first, role: role, notify: .all, at: now)
            }
            #expect(growth < Self.growthMax, "\(role)")
        }
    }

    @Test func `what is asked for each message, digest and count costs the same in a crowd`() throws {
        var time = Timestamp(1_700_000_001_000)
        let growth = try growth { presence, number in
            time = time.adding(milliseconds: 1)
            _ = presence.tick(at: time)
            let users = [user("u\(number % 1_000)"), user("nobody")]
            _ = (presence.online, presence.lanes, presence.encodings, presence.isWithoutPeople)
            _ = (presence.sessions(of: users), presence.isAddressable(users[0]), presence.profile(of: users[1]))
        }
        #expect(growth < Self.growthMax)
    }

    @Test(arguments: [MemberKind.temporary, .temporaryReversed, .fixedOnline])
    func `a page costs the same in a crowd, wherever it begins`(kind: MemberKind) throws {
        var cursor: String?
        let growth = try growth(role: kind == .fixedOnline ? .normal : .guest) { presence, _ in
            let page = try presence.users(kind, after: cursor, limit: 20)
            #expect(!page.items.isEmpty)
            cursor = page.next
        }
        #expect(growth < Self.growthMax)
    }

    @Test func `a sorted list compares and moves as often as its height, not as its length`() throws {
        let count = 20_000
        var list = SortedList<Counted>()
        for number in 0..<count { list.insert(Counted(value: number * 2)) }
        Counted.comparisons = 0
        for number in stride(from: 1, to: count, by: 20) {
            list.insert(Counted(value: number))
            list.remove(Counted(value: number))
        }
        // Two searches for each of two steps: over the chunks, and in one.
        #expect(Counted.comparisons < 1_000 * 2 * 2 * 16)
    }
}

/// Counts how often two of it are compared.
private struct Counted: Comparable, Sendable {
    nonisolated(unsafe) static var comparisons = 0
    var value: Int

    static func < (a: Counted, b: Counted) -> Bool {
        comparisons += 1
        return a.value < b.value
    }

    static func == (a: Counted, b: Counted) -> Bool {
        comparisons += 1
        return a.value == b.value
    }
}
