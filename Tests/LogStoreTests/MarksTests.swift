import Consensus
import LogStore
import SQLite
import StorageTestKit
import Testing
import WaitTestKit

/// The file that tells how far the log had come, on a disk that fails and a machine that crashes at any moment: a log
/// that has lost nothing is never refused for it.
@Suite struct MarksTests {
    let directory: TemporaryDirectory
    let disk = FaultDisk()
    let files = FaultFiles()

    init() throws { directory = try TemporaryDirectory() }

    /// How a log comes to hold less than before, or something else in its place.
    enum Cut: Sendable, CaseIterable {
        case truncation, snapshotInside, snapshotAtEnd, snapshotThenEntries, two

        var saves: [GroupSave] {
            let mark = { (index: UInt64) in
                SnapshotMark(
                    index: index, term: 2, membership: GroupMembership(voters: [ServerID(node: "n", store: 1)]))
            }
            let state = HardState(term: 2)
            return switch self {
            case .truncation:
                [GroupSave(group: groupA, hardState: state, truncateFrom: 4, entries: entries(4...4, term: 2))]
            case .snapshotInside: [GroupSave(group: groupA, hardState: state, snapshot: mark(5))]
            case .snapshotAtEnd: [GroupSave(group: groupA, hardState: state, snapshot: mark(8))]
            case .snapshotThenEntries:
                [GroupSave(group: groupA, hardState: state, snapshot: mark(5), entries: entries(6...7, term: 2))]
            case .two:
                [
                    GroupSave(group: groupA, hardState: state, truncateFrom: 6, entries: entries(6...9, term: 2)),
                    GroupSave(group: groupA, truncateFrom: 3),
                ]
            }
        }

        var lastIndex: UInt64 {
            switch self {
            case .truncation: 4
            case .snapshotInside: 5
            case .snapshotAtEnd: 8
            case .snapshotThenEntries: 7
            case .two: 2
            }
        }
    }

    /// After the first one no write of the marks but those that a save waits for, and a retry.
    private func options(create: Bool = false, _ format: LogFormat = .segments) -> LogStoreConfiguration {
        var options = configuration(directory, create: create, disk: disk, format)
        options.marksInterval = .seconds(600)
        options.files = files
        return options
    }

    /// A log of eight entries of term 1, and marks that say so.
    private func opened(_ format: LogFormat) async throws -> LogStore {
        let store = try LogStore.open(options(create: true, format))
        try await store.save(GroupSave(group: groupA, hardState: HardState(term: 1), entries: entries(1...8)))
        store.close()
        return try LogStore.open(options())
    }

    /// The power goes with what is not on the disk, and comes back.
    private func crash(_ store: LogStore, seed: UInt64) throws -> LogStore {
        disk.cutPower()
        files.cutPower(afterSteps: 0)
        store.close()
        #expect(disk.powerOn(seed: seed))
        try files.crash(seed: seed)
        return try LogStore.open(options())
    }

    @Test(arguments: FaultFiles.Step.allCases, LogFormat.allCases)
    func `after a failed write of the marks the log can be cut, and is opened after a crash`(
        step: FaultFiles.Step, format: LogFormat
    ) async throws {
        for cut in Cut.allCases {
            let test = try MarksTests()
            var store = try await test.opened(format)
            test.files.fail(step)
            let error = await #expect(throws: LogStoreError.self, "\(cut)") { try await store.save(cut.saves) }
            #expect(error?.code == .full || error?.code == .io, "\(cut): \(String(describing: error))")
            #expect(store.refusal == nil, "what the marks' disk refuses it may take later")
            #expect(try store.restored(groupA).lastIndex == 8)
            test.files.fail(nil)
            try await store.save(cut.saves)
            store = try test.crash(store, seed: 0)
            #expect(try store.restored(groupA).lastIndex == cut.lastIndex, "\(cut)")
            store.close()
        }
    }

    @Test(arguments: LogFormat.allCases)
    func `marks that could not be written once are written on`(format: LogFormat) async throws {
        var options = configuration(directory, create: true, disk: disk, format)
        options.marksInterval = .milliseconds(1)
        options.files = files
        let store = try LogStore.open(options)
        defer { store.close() }
        try await store.save(GroupSave(group: groupA, hardState: HardState(term: 1), entries: entries(1...8)))
        try await reach("last 8 of term 1")
        files.fail(.write, count: 1)
        await #expect(throws: LogStoreError.self) {
            try await store.save(GroupSave(group: groupA, truncateFrom: 6, entries: entries(6...6, term: 1)))
        }
        #expect(try store.restored(groupA).lastIndex == 8)
        try await store.save(GroupSave(group: groupA, entries: entries(9...12)))
        try await reach("last 12 of term 1")
    }

    @Test(arguments: LogFormat.allCases)
    func `marks that nobody waits for and that can't be written are told`(format: LogFormat) async throws {
        var options = configuration(directory, create: true, disk: disk, format)
        options.marksInterval = .milliseconds(1)
        options.files = files
        let store = try LogStore.open(options)
        defer { store.close() }
        files.fail(.rename)
        try await store.save(GroupSave(group: groupA, entries: entries(1...8)))
        try await poll("it is told") { store.status.marksFailure?.code == .io }
        let failures = store.status.marksFailures
        try await poll("it is counted") { store.status.marksFailures > failures }
        #expect(store.takesWrites, "the log itself does")
        files.fail(nil)
        try await poll("it is written again") { store.status.marksFailure == nil }
        try await reach("last 8 of term 1")
    }

    /// The frames of a transaction may all be in the write-ahead log when its sync fails: the next start takes them for
    /// committed, and the marks must be true of that log as well as of the former one.
    @Test(arguments: Cut.allCases, LogFormat.allCases)
    func `a log whose cut could not be synced is opened at the next start, whichever of the two it is`(
        cut: Cut, format: LogFormat
    ) async throws {
        try await opened(format).close()
        var options = options()
        options.marksInterval = .milliseconds(1)
        let store = try LogStore.open(options)
        // The first commit of a new write-ahead log also syncs its head.
        try await store.save(GroupSave(group: groupB, entries: entries(1...1)))
        disk.failSyncs(1)
        let error = await #expect(throws: LogStoreError.self) { try await store.save(cut.saves) }
        #expect(error?.code == .restartNeeded)
        // Writes the marks that are left.
        store.close()
        let again = try LogStore.open(options)
        let found = try again.restored(groupA)
        let isNew = found.lastIndex == cut.lastIndex && found.hardState.term == 2
        let isOld = found.lastIndex == 8 && found.recent == entries(1...8)
        #expect(isNew || isOld, "\(cut): \(found.lastIndex)")
        try await again.save(GroupSave(group: groupA, entries: [entry(found.lastIndex + 1, term: 3)]))
        again.close()
        try LogStore.open(options).close()
    }

    /// As above, where the disk takes something again before the process ends: what failed may have left frames until the
    /// write-ahead log has been written anew.
    @Test(arguments: Cut.allCases, LogFormat.allCases)
    func `a log whose cut could not be written is opened after a crash, and the marks follow it again`(
        cut: Cut, format: LogFormat
    ) async throws {
        try await opened(format).close()
        var options = options()
        options.marksInterval = .milliseconds(1)
        let store = try LogStore.open(options)
        try await store.save(GroupSave(group: groupB, entries: entries(1...1)))
        disk.isFailing = true
        let error = await #expect(throws: LogStoreError.self) { try await store.save(cut.saves) }
        #expect(error?.code == .io)
        disk.isFailing = false
        #expect(try store.restored(groupA).lastIndex == 8)
        try await store.save(GroupSave(group: groupA, entries: entries(9...12)))
        try await reach("last 12 of term 1")
        let again = try crash(store, seed: 0)
        #expect(try again.restored(groupA).recent == entries(1...12))
        again.close()
    }

    private func reach(_ text: String) async throws {
        try await poll("marks with '\(text)'") {
            String(decoding: try directory.bytes("log.marks"), as: UTF8.self).contains(text)
        }
    }

    @Test(arguments: Cut.allCases, LogFormat.allCases)
    func `a crash between any two steps of a cut leaves a log that opens, as it was or as it was to be`(
        cut: Cut, format: LogFormat
    ) async throws {
        // Of the marks' file, and then of the log's, until there are none left to stop at.
        for isMarks in [true, false] {
            for steps in 0..<40 {
                let test = try MarksTests()
                var store = try await test.opened(format)
                if isMarks { test.files.cutPower(afterSteps: steps) } else { test.disk.cutPower(after: Int64(steps)) }
                var isSaved = true
                do throws(LogStoreError) { try await store.save(cut.saves) } catch { isSaved = false }
                store = try test.crash(store, seed: UInt64(steps))
                let found = try store.restored(groupA)
                let isNew = found.lastIndex == cut.lastIndex && found.hardState.term == 2
                let isOld = found.lastIndex == 8 && found.hardState.term == 1 && found.recent == entries(1...8)
                #expect(isNew || (isOld && !isSaved), "\(cut), \(steps) steps of marks \(isMarks): \(found.lastIndex)")
                // And it goes on.
                try await store.save(GroupSave(group: groupA, entries: [entry(found.lastIndex + 1, term: 3)]))
                store.close()
                if isSaved { break }
            }
        }
    }

    /// Any failure, any crash, again and again: the log is never refused.
    @Test(arguments: SeededGenerator.seeds(10), LogFormat.allCases)
    func `whatever fails and whenever the power goes, a log that lost nothing is opened`(
        seed: UInt64, format: LogFormat
    ) async throws {
        var random = SeededGenerator(seed: seed)
        var options = options(create: true, format)
        options.marksInterval = .milliseconds(1)
        try LogStore.open(options).close()
        options.create = false
        for round in 0..<6 {
            let store = try LogStore.open(options)
            for _ in 0..<25 {
                files.fail(
                    FaultFiles.Step.allCases.randomElement(using: &random), count: .random(in: 0...2, using: &random))
                let stored = try store.restored(groupA)
                let (last, trimmed) = (stored.lastIndex, stored.trimmed.index)
                var save = GroupSave(group: groupA)
                let term = stored.hardState.term + .random(in: 0...1, using: &random)
                save.hardState = HardState(term: max(1, term))
                let lastTerm = save.hardState?.term ?? 1
                var next = last + 1
                switch Int.random(in: 0..<4, using: &random) {
                case 0 where last > trimmed:
                    next = .random(in: trimmed + 1...last, using: &random)
                    save.truncateFrom = next
                case 1 where last > trimmed:
                    let index = UInt64.random(in: trimmed + 1...last, using: &random)
                    save.hardState = HardState(term: lastTerm + 1)
                    save.snapshot = SnapshotMark(
                        index: index, term: lastTerm + 1,
                        membership: GroupMembership(voters: [ServerID(node: "n", store: 1)]))
                    next = index + 1
                default: break
                }
                save.entries = (next..<next + 3).map { entry($0, term: save.hardState?.term ?? 1) }
                do throws(LogStoreError) { try await store.save(save) } catch {
                    #expect(error.code == .full || error.code == .io, "round \(round): \(error)")
                }
            }
            files.fail(nil)
            disk.cutPower()
            files.cutPower(afterSteps: .random(in: 0...4, using: &random))
            store.close()
            let loss = UInt64.random(in: 0...9, using: &random)
            #expect(disk.powerOn(seed: loss))
            try files.crash(seed: loss)
        }
        try LogStore.open(options).close()
    }
}
