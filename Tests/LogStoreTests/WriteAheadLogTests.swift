import Consensus
import LogStore
import SQLite
import StorageTestKit
import Testing

/// Damage to the log's write-ahead log after a crash, on real files: either everything that was acknowledged is there,
/// or opening is refused with a sentence that says what to do.
@Suite struct WriteAheadLogTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let stride = 24 + 4_096

    /// The files of a log after a crash. Each transaction is one entry; every second one also gives a vote.
    private struct Crash {
        var log: [UInt8]
        var wal: [UInt8]
        /// As they were when the log was made, and as they were at the end.
        var oldMarks: [UInt8]
        var newMarks: [UInt8]
        /// For each frame, which transaction (from 0) it is part of.
        var transactions: [Int] = []
        /// Entries that had been acknowledged.
        var count: UInt64

        var frames: Int { (wal.count - 32) / WriteAheadLogTests.stride }

        /// The bytes at which the transactions end.
        var ends: [Int] {
            transactions.indices.filter { $0 + 1 == transactions.count || transactions[$0] != transactions[$0 + 1] }
                .map { 32 + ($0 + 1) * WriteAheadLogTests.stride }
        }
    }

    private static func vote(_ index: UInt64) -> HardState {
        index >= 2 ? HardState(term: 1, votedFor: ServerID(node: "n ü", store: 7)) : HardState()
    }

    /// Saves entries one by one and ends like a process that was killed. `before` runs after the log was opened.
    private func crash(
        _ count: UInt64, bytes: Int = 300, checkpointPages: Int = 4_000,
        before: (LogStore) async throws -> Void = { _ in }
    ) async throws -> Crash {
        let disk = FaultDisk()
        var options = configuration(directory, create: true, disk: disk, .table)
        options.checkpointPages = checkpointPages
        try LogStore.open(options).close()
        let oldMarks = try directory.bytes("log.marks")
        options.create = false
        let store = try LogStore.open(options)
        try await before(store)
        let first = try store.restored(groupA).lastIndex + 1
        for index in first..<(first + count) {
            let hardState = index.isMultiple(of: 2) ? Self.vote(index) : nil
            try await store.save(GroupSave(group: groupA, hardState: hardState, entries: [entry(index, bytes: bytes)]))
        }
        disk.cutPower()
        store.close()
        #expect(disk.powerOn(seed: 0))
        var crash = Crash(
            log: try directory.bytes("log.sqlite"), wal: try directory.bytes("log.sqlite-wal"), oldMarks: oldMarks,
            newMarks: try directory.bytes("log.marks"), count: first + count - 1)
        // By the format's own words: the salts of the header, and the size after a transaction in its last frame.
        var transaction = 0
        for frame in 0..<crash.frames {
            let start = 32 + frame * Self.stride
            guard crash.wal[(start + 8)..<(start + 16)] == crash.wal[16..<24] else { break }
            crash.transactions.append(transaction)
            if crash.wal[(start + 4)..<(start + 8)] != [0, 0, 0, 0] { transaction += 1 }
        }
        return crash
    }

    private enum Outcome: Equatable {
        case opened(UInt64, HardState)
        case refused(LogStoreError.Code)
    }

    /// Opens the log after a crash that left `wal`. A refusal must change nothing, so that the next start, which a
    /// service manager makes at once, refuses as well.
    private func open(_ crash: Crash, wal: [UInt8]?, marks: [UInt8]) throws -> Outcome {
        try directory.write(crash.log, to: "log.sqlite")
        if let wal {
            try directory.write(wal, to: "log.sqlite-wal")
        } else {
            try directory.remove("log.sqlite-wal")
        }
        try directory.write(marks, to: "log.marks")
        do throws(LogStoreError) {
            let store = try LogStore.open(configuration(directory))
            defer { store.close() }
            let restored = try store.restored(groupA)
            let isPrefix = restored.recent.allSatisfy { $0 == entry($0.index, bytes: $0.payload.count) }
            #expect(isPrefix && restored.recent.count == Int(restored.lastIndex))
            return .opened(restored.lastIndex, restored.hardState)
        } catch {
            #expect(error.message.contains("Do not start this node with it"), "\(error)")
            #expect(error.message.contains("joins as a new server"), "\(error)")
            #expect(error.message.contains("restore a backup"), "\(error)")
            do throws(LogStoreError) {
                try LogStore.open(configuration(directory)).close()
                Issue.record("opened after it was refused: \(error)")
            } catch let second {
                #expect(second.message == error.message)
            }
            return .refused(error.code)
        }
    }

    private func all(_ crash: Crash) -> Outcome { .opened(crash.count, Self.vote(crash.count)) }

    // MARK: - Flipped bits

    @Test func `a flipped bit anywhere is refused when the marks have come as far as the log`() async throws {
        let crash = try await crash(7)
        try #require(Set(crash.transactions).count == 7)
        #expect(try open(crash, wal: crash.wal, marks: crash.newMarks) == all(crash))
        for place in Self.places(crash.frames) {
            var wal = crash.wal
            wal[place] ^= 1 << UInt8(place % 8)
            guard case .refused = try open(crash, wal: wal, marks: crash.newMarks) else {
                Issue.record("opened with a flipped bit at \(place)")
                continue
            }
        }
    }

    @Test
    func `without newer marks a flipped bit is refused before the last transaction, and in it loses no other one`()
        async throws
    {
        let crash = try await crash(7)
        let last = try #require(crash.ends.dropLast().last)
        for place in Self.places(crash.frames) {
            for bit in [UInt8(place % 7), 7] {
                var wal = crash.wal
                wal[place] ^= 1 << bit
                let outcome = try open(crash, wal: wal, marks: crash.oldMarks)
                if place < last {
                    #expect(outcome == .refused(.corrupt), "bit \(bit) of byte \(place)")
                } else if outcome != .refused(.corrupt) {
                    #expect(outcome == .opened(6, Self.vote(6)), "bit \(bit) of byte \(place)")
                }
            }
        }
    }

    /// All bytes of the file's header and of some page in each frame, and of all frame headers.
    private static func places(_ frames: Int) -> [Int] {
        var places = Array(0..<32)
        for frame in 0..<frames {
            let start = 32 + frame * stride
            places += start..<(start + 24)
            places += [start + 24, start + 24 + (frame * 977) % 4_096, start + stride - 1]
        }
        return places
    }

    @Test(arguments: SeededGenerator.seeds(3))
    func `damage of any kind loses at most the transactions after the last one that is known`(seed: UInt64)
        async throws
    {
        var random = SeededGenerator(seed: seed)
        let crash = try await crash(.random(in: 2...12, using: &random), bytes: .random(in: 0...6_000, using: &random))
        for round in 0..<30 {
            var wal = crash.wal
            let start = Int.random(in: 0..<wal.count, using: &random)
            let end = min(wal.count, start + .random(in: 1...5_000, using: &random))
            let kind = Int.random(in: 0..<4, using: &random)
            switch kind {
            case 0: wal[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: for place in start..<end { wal[place] = 0 }
            case 2: for place in start..<end { wal[place] = .random(in: 0...255, using: &random) }
            default: wal.removeSubrange(start...)
            }
            if wal == crash.wal { continue }
            // What is found behind the damage and is whole tells that all before it had been synced. Zeros and noise
            // may also hide where a transaction ended, so that two look like one.
            let hit = crash.ends.firstIndex { start < $0 } ?? 0
            let behind = kind == 3 ? 0 : crash.ends.count - 1 - (crash.ends.firstIndex { end <= $0 } ?? hit)
            let withOld = try open(crash, wal: wal, marks: crash.oldMarks)
            let withNew = try open(crash, wal: wal, marks: crash.newMarks)
            let what = "seed \(seed), round \(round): kind \(kind), \(start)..<\(end) of \(wal.count)"
            if withNew != all(crash) {
                guard case .refused = withNew else {
                    Issue.record("\(what): \(withNew)")
                    continue
                }
            }
            if case .opened(let index, let state) = withOld {
                #expect(behind < 2, "\(what): \(withOld)")
                #expect(index == UInt64(hit) && state == Self.vote(index), "\(what): \(withOld)")
            }
        }
    }

    // MARK: - Cuts

    @Test func `a log that ends early is a prefix without marks and refused with them`() async throws {
        let crash = try await crash(8)
        var lengths = [0, 1, 31, 32, 33]
        for frame in 0..<crash.frames {
            let start = 32 + frame * Self.stride
            lengths += [start, start + 1, start + 23, start + 24, start + 2_000, start + Self.stride - 1]
        }
        for length in lengths {
            let wal = Array(crash.wal[..<length])
            let kept = UInt64(crash.ends.filter { $0 <= length }.count)
            #expect(try open(crash, wal: wal, marks: crash.oldMarks) == .opened(kept, Self.vote(kept)), "\(length)")
            #expect(try open(crash, wal: wal, marks: crash.newMarks) == .refused(.behindMarks), "\(length)")
        }
        #expect(try open(crash, wal: crash.wal, marks: crash.newMarks) == all(crash))
        #expect(try open(crash, wal: nil, marks: crash.oldMarks) == .opened(0, HardState()))
        #expect(try open(crash, wal: nil, marks: crash.newMarks) == .refused(.behindMarks))
    }

    @Test func `a vote that was lost is refused, even when the term and the entries are there`() async throws {
        let crash = try await crash(1) { store in
            try await store.save(GroupSave(group: groupA, hardState: HardState(term: 3), entries: [entry(1, bytes: 1)]))
            try await store.save(
                GroupSave(group: groupA, hardState: HardState(term: 3, votedFor: ServerID(node: "", store: 1))))
        }
        let stale = Array(crash.wal[..<crash.ends[0]])
        #expect(try open(crash, wal: stale, marks: crash.oldMarks) == .opened(1, HardState(term: 3)))
        #expect(try open(crash, wal: stale, marks: crash.newMarks) == .refused(.behindMarks))
    }

    @Test func `frames after the last transaction that never ended are left out`() async throws {
        let crash = try await crash(6)
        // A transaction that was torn: a frame of the present log whose own page never came.
        for tail in [32 + 3 * Self.stride, 32 + 4 * Self.stride].map({ Array(crash.wal[$0..<($0 + 24)]) }) {
            for zeros in [0, 1, 4_095, 4_096, 3 * Self.stride] {
                let wal = crash.wal + tail + [UInt8](repeating: 0, count: zeros)
                #expect(try open(crash, wal: wal, marks: crash.newMarks) == all(crash))
            }
        }
    }

    @Test func `frames of an earlier log behind the end are left out`() async throws {
        // At 20 pages the log was checkpointed, and then begun anew.
        let crash = try await crash(3, checkpointPages: 20) { store in
            for index in 1...20 as ClosedRange<UInt64> {
                try await store.save(GroupSave(group: groupA, entries: [entry(index, bytes: 300)]))
            }
        }
        try #require(crash.transactions.count < crash.frames)
        #expect(try open(crash, wal: crash.wal, marks: crash.newMarks) == all(crash))
        // Damage in them means nothing.
        var wal = crash.wal
        wal[32 + crash.transactions.count * Self.stride + 100] ^= 1
        #expect(try open(crash, wal: wal, marks: crash.newMarks) == all(crash))
    }

    // MARK: - Headers and sizes

    @Test func `a header that is no header is refused where frames follow, and means nothing where none do`()
        async throws
    {
        let crash = try await crash(4)
        let letters = [UInt8](repeating: 65, count: 32)
        #expect(try open(crash, wal: letters + crash.wal[32...], marks: crash.oldMarks) == .refused(.corrupt))
        #expect(try open(crash, wal: letters, marks: crash.oldMarks) == .opened(0, HardState()))
        #expect(try open(crash, wal: [], marks: crash.oldMarks) == .opened(0, HardState()))
    }

    @Test func `a write-ahead log without its database is refused`() async throws {
        var crash = try await crash(4)
        crash.log = []
        #expect(try open(crash, wal: crash.wal, marks: crash.newMarks) == .refused(.corrupt))
        #expect(try directory.bytes("log.sqlite-wal") == crash.wal)
    }

    @Test func `the pieces in which the file is read do not matter, and little of it is kept`() async throws {
        let crash = try await crash(6)
        for damage in [nil, 32 + 24 + 5, crash.wal.count - 9] as [Int?] {
            var wal = crash.wal
            if let damage { wal[damage] ^= 1 }
            for length in [1, 7, 4_096, 65_536] {
                var check = WriteAheadLogCheck()
                var rest = wal[...]
                while !rest.isEmpty {
                    check.take(rest.prefix(length))
                    rest = rest.dropFirst(length)
                }
                #expect((check.objection != nil) == (damage == 32 + 24 + 5), "pieces of \(length)")
            }
        }
    }

    // MARK: - Failed transactions

    @Test func `what failed transactions left is not taken for one that was saved`() async throws {
        for writes in 0..<24 as Range<Int64> {
            let directory = try TemporaryDirectory()
            let disk = FaultDisk()
            let store = try LogStore.open(configuration(directory, create: true, disk: disk, .table))
            try await store.save(GroupSave(group: groupA, entries: entries(1...3)))
            // The disk is full at any place in a long transaction, then at any place in a shorter one: its end may be
            // there, with frames of the long one behind it.
            for (last, room) in [(20, 24), (9, writes)] as [(UInt64, Int64)] {
                disk.fillUp(after: room)
                do throws(LogStoreError) {
                    try await store.save(GroupSave(group: groupA, entries: entries(4...last, bytes: 3_000)))
                    // There was room enough.
                    disk.isFull = false
                    try await store.save(GroupSave(group: groupA, truncateFrom: 4))
                } catch {
                    #expect(error.code == .full)
                }
                disk.isFull = false
                #expect(try store.restored(groupA).lastIndex == 3)
            }
            try await store.save(GroupSave(group: groupA, entries: [entry(4)]))
            disk.cutPower()
            store.close()
            #expect(disk.powerOn(seed: 0))
            let reopened = try LogStore.open(configuration(directory))
            #expect(try reopened.restored(groupA).recent == entries(1...4))
            reopened.close()
        }
    }
}
