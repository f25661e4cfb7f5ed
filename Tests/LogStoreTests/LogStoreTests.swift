import Consensus
import LogStore
import StorageTestKit
import Testing
import WaitTestKit

@Suite struct LogStoreTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: LogFormat.allCases)
    func `what was saved is there after a restart`(format: LogFormat) async throws {
        let membership = GroupMembership(
            voters: [ServerID(node: "n1", store: 7), ServerID(node: "n2", store: .max)],
            learners: [ServerID(node: "ü", store: 1)])
        let state = HardState(term: 3, votedFor: ServerID(node: "n2", store: .max))
        let snapshot = SnapshotMark(index: 0, term: 0, membership: membership)
        var store = try LogStore.open(configuration(directory, create: true, format))
        let identity = store.storeID
        try await store.save([
            GroupSave(group: groupA, hardState: state, snapshot: snapshot, entries: entries(1...3)),
            GroupSave(group: .system, entries: [Entry(index: 1, term: 9, kind: .membership, payload: [])]),
        ])
        try await store.save(GroupSave(group: groupA, entries: entries(4...5, term: 3)))
        store.close()

        store = try LogStore.open(configuration(directory))
        defer { store.close() }
        #expect(store.storeID == identity)
        #expect(try store.groups() == [groupA, .system])
        let restored = try store.restored(groupA)
        #expect(restored.hardState == state)
        #expect(restored.snapshot == snapshot)
        #expect(restored.firstIndex == 1)
        #expect(restored.lastIndex == 5)
        #expect(restored.recent == entries(1...3) + entries(4...5, term: 3))
        #expect((1...5).map { restored.terms.term(at: $0) } == [1, 1, 1, 3, 3])
        #expect(try store.restored(.system).recent.map(\.kind) == [.membership])
        #expect(try store.restored(groupB).lastIndex == 0)
    }

    @Test(arguments: LogFormat.allCases)
    func `entries that change the servers are restored, however far back they are`(format: LogFormat) async throws {
        func membership(_ index: UInt64) -> Entry {
            Entry(index: index, term: 1, kind: .membership, payload: [UInt8(index)])
        }
        var settings = configuration(directory, create: true, format)
        settings.recentBytesPerGroup = 1_000
        var store = try LogStore.open(settings)
        try await store.save(
            GroupSave(group: groupA, entries: [entry(1), membership(2), entry(3), membership(4)] + entries(5...40)))
        try await store.save(
            GroupSave(group: groupA, entries: [membership(41)] + entries(42...100, bytes: 100) + [membership(101)]))
        for isReopened in [false, true] {
            let restored = try store.restored(groupA)
            let recent = try #require(restored.recent.first?.index)
            #expect(restored.memberships == [membership(2), membership(4), membership(41)] && recent > 41)
            #expect(restored.recent.last == membership(101), "those at hand are not told twice")
            guard !isReopened else { break }
            store.close()
            settings.create = false
            store = try LogStore.open(settings)
        }
        // What is cut or trimmed is forgotten.
        store.trim(groupA, through: 2)
        #expect(try store.restored(groupA).memberships == [membership(4), membership(41)])
        try await store.save(GroupSave(group: groupA, truncateFrom: 41, entries: entries(41...99, bytes: 100)))
        #expect(try store.restored(groupA).memberships == [membership(4)])
        store.close()
    }

    @Test(arguments: LogFormat.allCases)
    func `a directory without a log is opened only when told to make one, and made once`(format: LogFormat) throws {
        #expect(throws: LogStoreError.self) { try LogStore.open(configuration(directory)) }
        #expect(try directory.names().isEmpty)
        let store = try LogStore.open(configuration(directory, create: true, format))
        store.close()
        do throws(LogStoreError) {
            _ = try LogStore.open(configuration(directory, create: true, format))
            Issue.record("made twice")
        } catch {
            #expect(error.code == .alreadyExists)
        }
    }

    @Test(arguments: LogFormat.allCases)
    func `a log that is open cannot be opened again`(format: LogFormat) throws {
        let store = try LogStore.open(configuration(directory, create: true, format))
        defer { store.close() }
        do throws(LogStoreError) {
            _ = try LogStore.open(configuration(directory))
            Issue.record("opened twice")
        } catch {
            #expect(error.code == .inUse)
        }
    }

    @Test(arguments: LogFormat.allCases)
    func `a truncation replaces the end, also after a restart`(format: LogFormat) async throws {
        var store = try LogStore.open(configuration(directory, create: true, format))
        try await store.save(GroupSave(group: groupA, entries: entries(1...10)))
        try await store.save([
            GroupSave(group: groupA, entries: entries(11...12)),
            GroupSave(group: groupA, truncateFrom: 12, entries: entries(12...12, term: 2)),
            GroupSave(group: groupA, truncateFrom: 6, entries: entries(6...7, term: 3)),
        ])
        let expected = entries(1...5) + entries(6...7, term: 3)
        #expect(try store.restored(groupA).recent == expected)
        store.close()
        store = try LogStore.open(configuration(directory))
        defer { store.close() }
        #expect(try store.restored(groupA).recent == expected)
        #expect(try store.restored(groupA).lastIndex == 7)
    }

    @Test(arguments: LogFormat.allCases)
    func `a truncation to nothing is not behind the marks`(format: LogFormat) async throws {
        var store = try LogStore.open(configuration(directory, create: true, format))
        try await store.save(GroupSave(group: groupA, entries: entries(1...10)))
        store.close()
        store = try LogStore.open(configuration(directory))
        try await store.save(GroupSave(group: groupA, truncateFrom: 1))
        store.close()
        store = try LogStore.open(configuration(directory))
        defer { store.close() }
        #expect(try store.restored(groupA).lastIndex == 0)
    }

    @Test(arguments: LogFormat.allCases)
    func `gaps, overlaps and cuts below the trimmed entry are refused and change nothing`(format: LogFormat)
        async throws
    {
        let store = try LogStore.open(configuration(directory, create: true, format))
        defer { store.close() }
        try await store.save(GroupSave(group: groupA, entries: entries(1...10)))
        store.trim(groupA, through: 4)
        #expect(try store.restored(groupA).firstIndex == 5)
        for wrong in [
            GroupSave(group: groupA, hardState: HardState(term: 99), entries: entries(12...12)),
            GroupSave(group: groupA, hardState: HardState(term: 99), entries: entries(10...11)),
            GroupSave(group: groupA, hardState: HardState(term: 99), entries: [entry(11), entry(13)]),
            GroupSave(group: groupA, hardState: HardState(term: 99), truncateFrom: 4),
            GroupSave(group: groupA, truncateFrom: 12, entries: entries(12...12)),
            GroupSave(group: groupA, hardState: HardState(term: 99), truncateFrom: 12),
            GroupSave(group: groupB, entries: entries(2...2)),
        ] {
            do throws(LogStoreError) {
                // Together with a good one, which must not suffer.
                try await store.save([GroupSave(group: GroupID(9), hardState: HardState(term: 5)), wrong])
                Issue.record("accepted: \(wrong)")
            } catch {
                #expect(error.code == .outOfOrder)
            }
        }
        #expect(try store.restored(groupA).hardState.term == 0)
        #expect(try store.restored(groupA).lastIndex == 10)
        #expect(try store.restored(groupB).lastIndex == 0)
        #expect(try store.restored(GroupID(9)).hardState.term == 5)
    }

    @Test(arguments: LogFormat.allCases)
    func `a trimmed log starts after the trimmed entry and remembers its term`(format: LogFormat) async throws {
        var store = try LogStore.open(configuration(directory, create: true, format))
        try await store.save(GroupSave(group: groupA, entries: entries(1...500) + entries(501...3000, term: 2)))
        try await store.save(GroupSave(group: groupB, entries: entries(1...10)))
        store.trim(groupA, through: 2_500)
        store.trim(groupA, through: 700)
        store.trim(groupB, through: 99)
        for _ in 0..<2 {
            let a = try store.restored(groupA)
            #expect(a.trimmed == LogPosition(index: 2_500, term: 2))
            #expect(a.firstIndex == 2_501)
            #expect(a.lastIndex == 3_000)
            #expect(a.recent == entries(2_501...3_000, term: 2))
            #expect(a.terms.term(at: 2_501) == 2)
            let b = try store.restored(groupB)
            #expect(b.firstIndex == 11)
            #expect(b.lastIndex == 10)
            #expect(b.trimmed == LogPosition(index: 10, term: 1))
            store.close()
            store = try LogStore.open(configuration(directory))
        }
        do throws(LogStoreError) {
            _ = try await store.entries(groupA, 2_500...2_600)
            Issue.record("read a trimmed entry")
        } catch {
            #expect(error.code == .unavailable)
        }
        try await store.save(GroupSave(group: groupB, entries: entries(11...11)))
        store.close()
    }

    @Test(arguments: LogFormat.allCases)
    func `a snapshot beyond the log replaces it, and one inside leaves it`(format: LogFormat) async throws {
        let membership = GroupMembership(voters: [ServerID(node: "n", store: 1)])
        var store = try LogStore.open(configuration(directory, create: true, format))
        try await store.save(GroupSave(group: groupA, entries: entries(1...10)))
        try await store.save(
            GroupSave(group: groupA, snapshot: SnapshotMark(index: 5, term: 1, membership: membership)))
        #expect(try store.restored(groupA).recent == entries(1...10))
        try await store.save([
            GroupSave(group: groupA, entries: entries(11...11)),
            GroupSave(
                group: groupA, snapshot: SnapshotMark(index: 100, term: 7, membership: membership),
                entries: entries(101...102, term: 8)),
        ])
        for _ in 0..<2 {
            let restored = try store.restored(groupA)
            #expect(restored.trimmed == LogPosition(index: 100, term: 7))
            #expect(restored.recent == entries(101...102, term: 8))
            #expect(restored.snapshot?.index == 100)
            store.close()
            store = try LogStore.open(configuration(directory))
        }
        // An entry of another term where the snapshot ends: everything goes.
        try await store.save(
            GroupSave(group: groupA, snapshot: SnapshotMark(index: 101, term: 9, membership: membership)))
        store.close()
        store = try LogStore.open(configuration(directory))
        defer { store.close() }
        #expect(try store.restored(groupA).lastIndex == 101)
        #expect(try store.restored(groupA).recent.isEmpty)
    }

    @Test(arguments: LogFormat.allCases)
    func `a snapshot with a cut right behind it replaces the log, whether or not the log held its end`(
        format: LogFormat
    )
        async throws
    {
        let membership = GroupMembership(voters: [ServerID(node: "n", store: 1)])
        // The log ends before the snapshot, holds its end, or holds another entry there.
        for (count, term) in [(3, 1), (10, 1), (10, 2)] as [(UInt64, UInt64)] {
            let directory = try TemporaryDirectory()
            var store = try LogStore.open(configuration(directory, create: true, format))
            try await store.save(GroupSave(group: groupA, entries: entries(1...count)))
            try await store.save(
                GroupSave(
                    group: groupA, snapshot: SnapshotMark(index: 5, term: term, membership: membership),
                    truncateFrom: 6, entries: entries(6...7, term: 3)))
            for _ in 0..<2 {
                let restored = try store.restored(groupA)
                #expect(restored.lastIndex == 7)
                #expect(Array(restored.recent.suffix(2)) == entries(6...7, term: 3))
                #expect(restored.snapshot?.index == 5)
                store.close()
                store = try LogStore.open(configuration(directory))
            }
            store.close()
        }
    }

    @Test(arguments: LogFormat.allCases)
    func `older entries are read in bounded pieces`(format: LogFormat) async throws {
        let store = try LogStore.open(configuration(directory, create: true, format))
        defer { store.close() }
        try await store.save(GroupSave(group: groupA, entries: entries(1...3_000, bytes: 1_000)))
        #expect(try await store.entries(groupA, 1...3_000) == entries(1...3_000, bytes: 1_000))
        #expect(try await store.entries(groupA, 5...3_000, bytesMax: 2_500) == entries(5...6, bytes: 1_000))
        #expect(try await store.entries(groupA, 5...3_000, bytesMax: 0) == entries(5...5, bytes: 1_000))
        #expect(try await store.entries(groupA, 2_999...9_999) == entries(2_999...3_000, bytes: 1_000))
    }

    @Test(arguments: LogFormat.allCases)
    func `restored returns no more recent bytes than configured`(format: LogFormat) async throws {
        var small = configuration(directory, create: true, format)
        small.recentBytesPerGroup = 2_999
        let store = try LogStore.open(small)
        defer { store.close() }
        try await store.save(GroupSave(group: groupA, entries: entries(1...10, bytes: 1_000)))
        #expect(try store.restored(groupA).recent == entries(9...10, bytes: 1_000))
        #expect(try store.restored(groupA).firstIndex == 1)
    }

    @Test(arguments: LogFormat.allCases)
    func `saves that wait at the same time share a sync`(format: LogFormat) async throws {
        let disk = FaultDisk()
        let store = try LogStore.open(configuration(directory, create: true, disk: disk, format))
        let before = disk.syncs
        disk.delaySyncs(microseconds: 20_000)
        let done = Waiting<Result<Void, LogStoreError>>()
        for index in 1...50 as ClosedRange<UInt64> {
            for group in 0..<16 as Range<UInt16> {
                store.save([GroupSave(group: GroupID(group), entries: [entry(index)])]) { done.deliver($0) }
            }
        }
        for _ in 0..<800 { try await done.next().get() }
        #expect(disk.syncs - before < 100)
        disk.delaySyncs(microseconds: 0)
        store.close()
    }

    @Test(arguments: LogFormat.allCases)
    func `a disk that does not answer takes no writes until it does`(format: LogFormat) async throws {
        let disk = FaultDisk()
        var options = configuration(directory, create: true, disk: disk, format)
        options.hangLimit = .zero
        let store = try LogStore.open(options)
        try await poll("the disk answers") { store.takesWrites }
        disk.delaySyncs(microseconds: 500_000)
        let done = Waiting<Result<Void, LogStoreError>>()
        store.save([GroupSave(group: groupA, entries: [entry(1)])]) { done.deliver($0) }
        try await poll("the disk is seen to hang") { !store.takesWrites }
        #expect(store.status.failure?.code == .io)
        try await done.next().get()
        disk.delaySyncs(microseconds: 0)
        // The writer ends its turn behind the answer.
        try await poll("the disk answers") { store.takesWrites && store.status.failure == nil }
        disk.delaySyncs(microseconds: 0)
        store.close()
    }

    @Test(arguments: LogFormat.allCases)
    func `more than the bound is refused at once`(format: LogFormat) async throws {
        let disk = FaultDisk()
        var bounded = configuration(directory, create: true, disk: disk, format)
        bounded.waitingBytesMax = 10_000
        let store = try LogStore.open(bounded)
        disk.delaySyncs(microseconds: 100_000)
        let done = Waiting<Result<Void, LogStoreError>>()
        for index in 1...30 as ClosedRange<UInt64> {
            store.save([GroupSave(group: groupA, entries: [entry(index, bytes: 1_000)])]) { done.deliver($0) }
        }
        var codes: [LogStoreError.Code?] = []
        for _ in 0..<30 {
            do {
                try await done.next().get()
                codes.append(nil)
            } catch let error as LogStoreError {
                codes.append(error.code)
            }
        }
        #expect(codes.contains(.overloaded))
        let kept = codes.filter { $0 == nil }.count
        #expect(try store.restored(groupA).lastIndex == UInt64(kept))
        disk.delaySyncs(microseconds: 0)
        store.close()
    }

    @Test(arguments: LogFormat.allCases)
    func `after close every call is refused`(format: LogFormat) async throws {
        let store = try LogStore.open(configuration(directory, create: true, format))
        store.close()
        store.close()
        await #expect(throws: LogStoreError.self) { try await store.save(GroupSave(group: groupA)) }
        await #expect(throws: LogStoreError.self) { try await store.entries(groupA, 1...2) }
        #expect(throws: LogStoreError.self) { try store.restored(groupA) }
    }
}
