import ChatModel
import Foundation
import RoomCore

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The cost of a poll with very many voters: each vote as the room applies it, the memory of all, and the time that a room takes
/// to be there again from its rows. Build it for release: `swift run -c release poll-benchmark [VOTERS]`.
@main
struct PollBenchmark {
    private struct BadName: Error {}
    private static let now = Timestamp(1_700_000_000_000)

    static func main() throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        guard let id = RoomID("crowd"), let creator = UserID("creator") else { throw BadName() }
        var room = RoomState(absent: id)
        var index: UInt64 = 0
        var votes: [String: CatalogueChange] = [:]
        var others: [String: CatalogueChange] = [:]

        func apply(_ body: CommandBody, by actor: Actor) throws {
            index += 1
            var facts = CommandFacts()
            facts.pollKey = PollKey(high: 1, low: 2)
            let command = Command(id: nil, room: id, actor: actor, body: body, facts: facts)
            for effect in room.apply(command, key: nil, at: Stamp(index: index, time: now)) {
                switch effect {
                case .result(.refused(let error)): throw error
                case .catalogue(let change) where change.kind == .votes: votes[change.key] = change
                case .catalogue(let change): others[change.key] = change
                default: break
                }
            }
        }

        try apply(.createRoom(creator: creator, set: RoomChanges()), by: .system)
        let draft = PollDraft(title: "Which one?", options: ["a", "b", "c", "d"], seconds: 86_400)
        try apply(.openPoll(id: "p", draft, NotifyOptions()), by: .system)

        var times: [Int] = []
        times.reserveCapacity(count)
        var rowBytes = 0
        let before = residentBytes()
        for number in 0..<count {
            guard let user = UserID("user-\(number)") else { throw BadName() }
            let actor = Actor.member(user, Profile(nick: "n"), anonymous: false)
            let start = cpuNanoseconds()
            try apply(.vote(poll: "p", option: Int64(number % 4)), by: actor)
            times.append(cpuNanoseconds() - start)
        }
        let megabytes = (residentBytes() - before) / 1024 / 1024
        for case .votes(let some)? in votes.values.map(\.value) { rowBytes += some.bytes.count }
        let rowSize = rowBytes / max(1, votes.count)
        print("\(count) voters. A vote: \(summary(times)); \(votes.count) rows of \(rowSize) bytes.")
        print("Memory for them, with the times of this measurement: \(megabytes) MB.")

        guard case .room(let record)? = room.roomRow?.value else { throw BadName() }
        let rows = Array(others.values) + Array(votes.values)
        let start = cpuNanoseconds()
        let restored = RoomState(restoring: record, rows: rows, recentCommands: [])
        let nanoseconds = cpuNanoseconds() - start
        guard restored.pollList.first?.counts.reduce(0, +) == Int64(count) else { throw BadName() }
        print("There again from its rows after \(nanoseconds / 1_000_000) ms.")
    }

    /// The CPU time of this thread.
    private static func cpuNanoseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Linux tells it in pages.
    private static func residentBytes() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * 4096
    }

    private static func summary(_ nanoseconds: [Int]) -> String {
        let sorted = nanoseconds.sorted()
        func microseconds(_ place: Int) -> String {
            "\(sorted[place] / 1000).\(sorted[place] % 1000 / 100) us"
        }
        let last = sorted.count - 1
        return "p50 \(microseconds(last / 2)), p99 \(microseconds(last * 99 / 100)), worst \(microseconds(last))"
    }
}
