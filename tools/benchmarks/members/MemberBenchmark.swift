import ChatModel
import RoomCore

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The cost of listings of a room with very many members: every page of every kind is read and timed, half of the
/// members guests and half of them fixed. In CPU time, so that what else runs here does not count. Build it for
/// release: `swift run -c release member-benchmark [MEMBERS]`.
@main
struct MemberBenchmark {
    private static let now = Timestamp(1_700_000_000_000)
    private static let pageLimit = 100

    static func main() throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        var room = try Crowd()
        let entering = try timed(count) { try room.enter($0) }
        print("\(count) members, half of them fixed. To enter: \(entering)")
        for kind in [MemberKind.temporary, .temporaryReversed, .fixedOnline, .fixed] {
            var cursor: String?
            var members = 0
            var pages: [Int] = []
            repeat {
                let start = cpuNanoseconds()
                let page = try room.members(kind, after: cursor, limit: pageLimit)
                pages.append(cpuNanoseconds() - start)
                members += page.items.count
                cursor = page.next
            } while cursor != nil
            print("\(kind): \(members) members on pages of \(pageLimit): \(summary(pages))")
        }
    }

    private static func timed(_ count: Int, _ step: (Int) throws -> Void) rethrows -> String {
        var times: [Int] = []
        times.reserveCapacity(count)
        for number in 0..<count {
            let start = cpuNanoseconds()
            try step(number)
            times.append(cpuNanoseconds() - start)
        }
        return summary(times)
    }

    /// The CPU time of this thread.
    private static func cpuNanoseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    private static func summary(_ nanoseconds: [Int]) -> String {
        let sorted = nanoseconds.sorted()
        func microseconds(_ place: Int) -> String {
            "\(sorted[place] / 1000).\(sorted[place] % 1000 / 100) us"
        }
        let last = sorted.count - 1
        return "p50 \(microseconds(last / 2)), p99 \(microseconds(last * 99 / 100)), worst \(microseconds(last))"
    }

    /// A room as its leader has it.
    private struct Crowd {
        private struct BadName: Error {}

        var state: RoomState
        var presence: Presence
        private let id: RoomID
        private var policy = RoomPolicy()
        private var index: UInt64 = 0

        init() throws {
            guard let id = RoomID("crowd"), let creator = UserID("creator") else { throw BadName() }
            self.id = id
            policy.fixedMembersMax = 10_000_000
            state = RoomState(absent: id)
            presence = Presence(policy: policy)
            apply(.createRoom(creator: creator, set: RoomChanges()))
        }

        private mutating func apply(_ body: CommandBody) {
            index += 1
            let command = Command(
                id: nil, room: id, actor: .system, body: body, facts: CommandFacts(policy: policy))
            _ = state.apply(command, key: nil, at: Stamp(index: index, time: now))
        }

        mutating func enter(_ number: Int) throws {
            guard let user = UserID("user-\(number)"), let node = NodeID("n\(number % 8)"),
                let session = SessionID("session-\(number)")
            else { throw BadName() }
            if number % 2 == 1 { apply(.setMember(user, enable: true, NotifyOptions(notify: false))) }
            let visitor = Visitor(
                key: PresenceKey(node: node, session: session), laneNumber: number % 2, user: user,
                profile: Profile(nick: "Nick \(number)"), anonymous: false, device: .web, enteredAt: now)
            _ = try presence.enter(visitor, role: state.role(of: user), notify: .all, at: now)
        }

        /// As the room answers it.
        func members(_ kind: MemberKind, after cursor: String?, limit: Int) throws -> Page<Member, String> {
            if kind == .fixed {
                var page = try state.members(kind, after: cursor, limit: limit, at: now)
                page.items = page.items.map(presence.overlay)
                return page
            }
            let page = try presence.users(kind, after: cursor, limit: limit)
            return Page(items: page.items.map { presence.overlay(state.member($0, at: now)) }, next: page.next)
        }
    }
}
