import Consensus
import SQLite
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit

@testable import LogStore

/// What a group must still know, by what its saves' completions have said.
private struct Promise: Sendable {
    var hardState = HardState()
    var snapshot: SnapshotMark?
    var trimmed: UInt64 = 0
    /// The entries from index 1 on; those up to `trimmed` may be gone.
    var entries: [Entry] = []

    mutating func apply(_ save: GroupSave) {
        hardState = save.hardState ?? hardState
        if let mark = save.snapshot {
            snapshot = mark
            let isHeld =
                mark.index >= 1 && mark.index <= entries.count && entries[Int(mark.index) - 1].term == mark.term
            if mark.index > trimmed, !isHeld {
                entries = (0..<mark.index).map { Entry(index: $0 + 1, term: mark.term, kind: .empty, payload: []) }
                trimmed = mark.index
            }
        }
        if let from = save.truncateFrom, from <= entries.count { entries.removeLast(entries.count - Int(from) + 1) }
        entries += save.entries
    }
}

@Suite struct LogStoreFaultTests {
    let directory: TemporaryDirectory
    let disk = FaultDisk()

    init() throws { directory = try TemporaryDirectory() }

    /// Random saves of three groups, the power cut at any moment, again and again. Whatever was acknowledged is there;
    /// what was not is there wholly or not at all.
    @Test(arguments: SeededGenerator.seeds(20), LogFormat.allCases)
    func `every acknowledged save survives a power cut`(seed: UInt64, format: LogFormat) async throws {
        var random = SeededGenerator(seed: seed)
        var options = configuration(directory, create: true, disk: disk, format)
        options.marksInterval = .milliseconds(1)
        options.checkpointPages = 20
        // Many segments, each of a few records.
        options.segmentBytes = 16 << 10
        try LogStore.open(options).close()
        options.create = false
        // Every second log of rows is converted while it is written to.
        let isConverted = format == .table && seed.isMultiple(of: 2)
        var promises: [GroupID: [Promise]] = [:]
        for _ in 0..<4 {
            let store = try LogStore.open(options)
            for group in [groupA, groupB, .system] {
                let stored = try store.restored(group)
                let possible = promises[group] ?? [Promise()]
                let found = possible.last { Self.matches(stored, $0) }
                try #require(found != nil, "seed \(seed): group \(group.number) is \(stored.lastIndex)")
                // From here on this is the truth.
                promises[group] = found.map { [$0] }
            }
            disk.cutPower(after: .random(in: 0...250, using: &random))
            if isConverted, Bool.random(using: &random) { store.useSegments() }
            promises = await Self.work(on: store, from: promises.compactMapValues(\.last), &random)
            disk.cutPower()
            store.close()
            let loss: UInt64 = Bool.random(using: &random) ? 0 : .random(in: 1 ... .max, using: &random)
            #expect(disk.powerOn(seed: loss))
        }
    }

    /// Saves without waiting for each other. Returns, per group, the last acknowledged state and those that were asked
    /// for after it and may have come to the disk.
    private static func work(
        on store: LogStore, from start: [GroupID: Promise], _ random: inout SeededGenerator
    ) async -> [GroupID: [Promise]] {
        let acknowledged = Mutex<[GroupID: Int]>([:])
        let failed = Mutex<Set<GroupID>>([])
        var states = start.mapValues { [$0] }
        await withTaskGroup { tasks in
            for number in 0..<80 {
                guard let group = [groupA, groupB, .system].randomElement(using: &random),
                    var promise = states[group]?.last
                else { continue }
                let save = save(group, promise, &random)
                promise.apply(save)
                // A trim has no completion: the store may or may not have got to it.
                let trim = Int.random(in: 0..<6, using: &random) == 0 ? UInt64(promise.entries.count) * 2 / 3 : 0
                states[group]?.append(promise)
                let position = (states[group]?.count ?? 0) - 1
                let isDone = AsyncStream<Void>.makeStream()
                store.save([save]) { result in
                    switch result {
                    case .success:
                        // Nothing may be acknowledged after something before it was not.
                        if failed.withLock({ $0.contains(group) }) { Issue.record("acknowledged after a failure") }
                        acknowledged.withLock { $0[group] = position }
                    case .failure: _ = failed.withLock { $0.insert(group) }
                    }
                    isDone.continuation.finish()
                }
                if trim > promise.trimmed {
                    store.trim(group, through: trim)
                    states[group]?[position].trimmed = trim
                }
                if number % 7 == 0 { for await _ in isDone.stream {} }
                tasks.addTask { for await _ in isDone.stream {} }
            }
        }
        var result: [GroupID: [Promise]] = [:]
        for (group, all) in states {
            result[group] = Array(all[(acknowledged.withLock { $0[group] } ?? 0)...])
        }
        return result
    }

    private static func save(_ group: GroupID, _ promise: Promise, _ random: inout SeededGenerator) -> GroupSave {
        var save = GroupSave(group: group)
        var term = max(promise.hardState.term, 1)
        if Int.random(in: 0..<5, using: &random) == 0 {
            term += 1
            save.hardState = HardState(term: term, votedFor: ServerID(node: "n\(term)", store: term))
        }
        var last = UInt64(promise.entries.count)
        if Int.random(in: 0..<15, using: &random) == 0 {
            last += 10
            save.snapshot = SnapshotMark(
                index: last, term: term, membership: GroupMembership(voters: [ServerID(node: "n", store: last)]))
        } else if last > promise.trimmed, Int.random(in: 0..<6, using: &random) == 0 {
            last = .random(in: promise.trimmed..<last, using: &random)
            save.truncateFrom = last + 1
        }
        // A save of nothing, or a cut where the log ends, needs no disk, so that it would succeed without one.
        let countMin: UInt64 = save.hardState == nil && save.snapshot == nil ? 1 : 0
        for index in (last + 1)..<(last + 1 + .random(in: countMin...8, using: &random)) {
            save.entries.append(
                Entry(
                    index: index, term: term, kind: .command,
                    payload: (0..<Int.random(in: 0...3_000, using: &random)).map { UInt8(truncatingIfNeeded: $0) &* 3 })
            )
        }
        return save
    }

    private static func matches(_ stored: StoredGroup, _ promise: Promise) -> Bool {
        guard stored.hardState == promise.hardState, stored.snapshot == promise.snapshot,
            stored.lastIndex == promise.entries.count, stored.trimmed.index <= max(promise.trimmed, 0)
        else { return false }
        return stored.recent == Array(promise.entries[Int(stored.trimmed.index)...])
    }

    @Test(arguments: LogFormat.allCases)
    func `after a failed sync everything is refused until the node restarts`(format: LogFormat) async throws {
        var store = try LogStore.open(configuration(directory, create: true, disk: disk, format))
        try await store.save(GroupSave(group: groupA, entries: entries(1...5)))
        disk.failSyncs(1)
        for attempt in 0..<3 {
            do throws(LogStoreError) {
                try await store.save(GroupSave(group: groupA, entries: [entry(6)]))
                Issue.record("saved without a sync, attempt \(attempt)")
            } catch {
                #expect(error.code == .restartNeeded)
                #expect(error.message.contains("restart the node"))
            }
        }
        #expect(store.refusal?.code == .restartNeeded)
        #expect(try store.restored(groupA).lastIndex == 5)
        store.close()
        // The failed entry may be seen in the write-ahead log; if so it must be as durable as all others now.
        store = try LogStore.open(configuration(directory, disk: disk))
        let seen = try store.restored(groupA).lastIndex
        try await store.save(GroupSave(group: groupA, entries: [entry(seen + 1)]))
        disk.cutPower()
        store.close()
        #expect(disk.powerOn(seed: 0))
        store = try LogStore.open(configuration(directory, disk: disk))
        #expect(try store.restored(groupA).recent == entries(1...(seen + 1)))
        store.close()
    }

    @Test(arguments: LogFormat.allCases)
    func `after a save that was not kept none is taken before somebody has asked what the disk holds`(format: LogFormat)
        async throws
    {
        let store = try LogStore.open(configuration(directory, create: true, disk: disk, format))
        defer { store.close() }
        try await store.save(GroupSave(group: groupA, entries: entries(1...5)))
        disk.isFull = true
        // The first of two saves that are under way: its entries are to take the place of the old ones.
        await #expect(throws: LogStoreError.self) {
            try await store.save(GroupSave(group: groupA, truncateFrom: 5, entries: entries(5...5, term: 2)))
        }
        disk.isFull = false
        do throws(LogStoreError) {
            // By its index it would follow the entry that is still there.
            try await store.save(GroupSave(group: groupA, entries: entries(6...6, term: 2)))
            Issue.record("taken behind a hole")
        } catch {
            #expect(error.code == .outOfOrder)
        }
        try await store.save(GroupSave(group: groupB, entries: entries(1...1)))
        #expect(try store.restored(groupA).recent == entries(1...5))
        try await store.save(
            GroupSave(group: groupA, truncateFrom: 5, entries: entries(5...5, term: 2) + entries(6...6, term: 2)))
        #expect(try store.restored(groupA).recent.map(\.term) == [1, 1, 1, 1, 2, 2])
    }

    @Test(arguments: LogFormat.allCases)
    func `on a full disk saves fail whole, and work again when there is space`(format: LogFormat) async throws {
        var store = try LogStore.open(configuration(directory, create: true, disk: disk, format))
        try await store.save(GroupSave(group: groupA, entries: entries(1...5)))
        disk.isFull = true
        do throws(LogStoreError) {
            try await store.save([
                GroupSave(group: groupA, hardState: HardState(term: 9), entries: entries(6...9)),
                GroupSave(group: groupB, entries: entries(1...1)),
            ])
            Issue.record("saved on a full disk")
        } catch {
            #expect(error.code == .full)
        }
        #expect(store.status.failure?.code == .full)
        let restored = try store.restored(groupA)
        #expect(restored.lastIndex == 5)
        #expect(restored.hardState.term == 0)
        #expect(try store.restored(groupB).lastIndex == 0)
        store.trim(groupA, through: 2)
        disk.isFull = false
        try await store.save(GroupSave(group: groupA, entries: entries(6...7)))
        try await store.save(GroupSave(group: groupB, entries: entries(1...1)))
        #expect(store.status.failure == nil)
        store.close()
        store = try LogStore.open(configuration(directory, disk: disk))
        #expect(try store.restored(groupA).firstIndex == 3)
        #expect(try store.restored(groupA).recent == entries(3...7))
        store.close()
    }

    @Test(arguments: [FaultFiles.Step.write, .shortWrite, .sync], LogFormat.allCases)
    func `a store that nobody writes to finds out that its disk takes nothing, and when it does again`(
        step: FaultFiles.Step, format: LogFormat
    ) async throws {
        let files = FaultFiles()
        var options = configuration(directory, create: true, disk: disk, format)
        options.files = files
        options.probeInterval = .milliseconds(20)
        let store = try LogStore.open(options)
        #expect(store.takesWrites)
        files.fail(step)
        try await poll("it is found out") { !store.takesWrites }
        #expect(store.status.failure?.code == (step == .sync ? .io : .full))
        files.fail(nil)
        try await poll("it has space again") { store.takesWrites }
        store.close()
        #expect(try !directory.names().contains("log.probe"), "nothing is left")
    }

    @Test(arguments: LogFormat.allCases)
    func `small saves that succeed do not hide that the disk has no space for more`(format: LogFormat) async throws {
        let files = FaultFiles()
        var options = configuration(directory, create: true, disk: disk, format)
        options.files = files
        options.probeInterval = .milliseconds(20)
        let store = try LogStore.open(options)
        defer { store.close() }
        files.fail(.shortWrite)
        try await poll("it is found out") { !store.takesWrites }
        for number in UInt64(1)...20 {
            try await store.save(GroupSave(group: groupA, entries: [entry(number)]))
            #expect(!store.takesWrites, "after save \(number)")
        }
        files.fail(nil)
        var number: UInt64 = 20
        try await poll("it has space again, though it is written to all the time") {
            number += 1
            let saved = entry(number)
            store.save([GroupSave(group: groupA, entries: [saved])]) { _ in }
            return store.takesWrites
        }
    }

    @Test(arguments: [FaultFiles.Step.write, .shortWrite], LogFormat.allCases)
    func `a trickle of small saves does not keep a full disk from being found out`(
        step: FaultFiles.Step, format: LogFormat
    ) async throws {
        let files = FaultFiles()
        var options = configuration(directory, create: true, disk: disk, format)
        options.files = files
        // Longer than what is between two saves.
        options.probeInterval = .milliseconds(200)
        let store = try LogStore.open(options)
        defer { store.close() }
        files.fail(step)
        var number: UInt64 = 0
        let start = ContinuousClock.now
        while store.takesWrites, ContinuousClock.now - start < .seconds(20) {
            number += 1
            try await store.save(GroupSave(group: groupA, entries: [entry(number)]))
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(!store.takesWrites, "after \(number) saves")
        #expect(store.status.failure?.code == .full)
        files.fail(nil)
        try await poll("it has space again") { store.takesWrites }
    }

    /// The write-ahead log takes saves and can't be brought to the file, so it grows and grows.
    @Test func `a checkpoint that fails is told until one succeeds, whatever saves succeed meanwhile`() async throws {
        var options = configuration(directory, create: true, disk: disk, .table)
        options.checkpointPages = 20
        // How often the store said behind a commit that all is well.
        let opened = Mutex<LogStore?>(nil)
        let relapses = Mutex(0)
        options.onSync = { _, _ in
            if opened.withLock({ $0 })?.takesWrites == true { relapses.withLock { $0 += 1 } }
        }
        let store = try LogStore.open(options)
        disk.isDatabaseFull = true
        var number: UInt64 = 0
        while store.takesWrites, number < 2_000 {
            number += 1
            try await store.save(GroupSave(group: groupA, entries: [entry(number, bytes: 2_000)]))
        }
        #expect(store.status.failure?.code == .full)
        opened.withLock { $0 = store }
        for _ in 0..<50 {
            number += 1
            try await store.save(GroupSave(group: groupA, entries: [entry(number, bytes: 2_000)]))
            #expect(!store.takesWrites, "after save \(number)")
        }
        opened.withLock { $0 = nil }
        #expect(relapses.withLock { $0 } == 0)
        disk.isDatabaseFull = false
        try await poll("a checkpoint succeeds") { store.takesWrites }
        store.close()
        let again = try LogStore.open(configuration(directory, disk: disk))
        #expect(try again.restored(groupA).lastIndex == number)
        again.close()
    }

    @Test(arguments: LogFormat.allCases)
    func `after a save that failed the store says that it takes some again before anybody tries`(format: LogFormat)
        async throws
    {
        let store = try LogStore.open(configuration(directory, create: true, disk: disk, format))
        defer { store.close() }
        try await store.save(GroupSave(group: groupA, entries: entries(1...5)))
        disk.isFull = true
        await #expect(throws: LogStoreError.self) {
            try await store.save(GroupSave(group: groupA, entries: [entry(6)]))
        }
        #expect(!store.takesWrites)
        let operations = disk.operations
        try await poll("the log was tried again") { disk.operations > operations }
        #expect(!store.takesWrites, "other files may still have space")
        disk.isFull = false
        try await poll("it takes saves") { store.takesWrites }
        #expect(try store.restored(groupA).lastIndex == 5)
        try await store.save(GroupSave(group: groupA, entries: [entry(6)]))
    }

    // MARK: - Damage

    /// A closed log with entries whose payloads can be found in the file.
    private func makeLog() async throws {
        let store = try LogStore.open(configuration(directory, create: true, .table))
        try await store.save(
            GroupSave(group: groupA, hardState: HardState(term: 4), entries: entries(1...200, term: 4, bytes: 100)))
        store.close()
    }

    private func expectRefusal(_ code: LogStoreError.Code, _ what: String) {
        do throws(LogStoreError) {
            try LogStore.open(configuration(directory)).close()
            Issue.record("opened: \(what)")
        } catch {
            #expect(error.code == code, "\(what): \(error)")
            #expect(error.message.contains(directory.path), "\(error)")
            #expect(error.message.contains("joins as a new server"), "\(error)")
        }
    }

    @Test func `a flipped bit in an entry is found at open, and the message says what to do`() async throws {
        try await makeLog()
        let good = try directory.bytes("log.sqlite")
        for number in [1, 77, 200] as [UInt64] {
            let place = try #require(good.firstRange(of: entry(number, bytes: 100).payload))
            var bad = good
            bad[place.lowerBound + 50] ^= 4
            try directory.write(bad, to: "log.sqlite")
            expectRefusal(.corrupt, "entry \(number)")
        }
        try directory.write(good, to: "log.sqlite")
        try LogStore.open(configuration(directory)).close()
    }

    @Test func `damaged pages are refused, wherever they are`() async throws {
        try await makeLog()
        let good = try directory.bytes("log.sqlite")
        for page in 0..<(good.count / 4096) {
            var bad = good
            for offset in (page * 4096)..<(page * 4096 + 200) { bad[offset] ^= 0x55 }
            try directory.write(bad, to: "log.sqlite")
            expectRefusal(.corrupt, "page \(page)")
        }
    }

    @Test func `a log that is shorter than its marks is refused`() async throws {
        try await makeLog()
        let older = try directory.bytes("log.sqlite")
        let store = try LogStore.open(configuration(directory))
        try await store.save(GroupSave(group: groupA, entries: [entry(201, term: 4)]))
        store.close()
        try directory.write(older, to: "log.sqlite")
        expectRefusal(.behindMarks, "an older copy")
    }

    @Test func `a log that has forgotten a term is refused`() async throws {
        try await makeLog()
        let older = try directory.bytes("log.sqlite")
        let store = try LogStore.open(configuration(directory))
        try await store.save(GroupSave(group: groupA, hardState: HardState(term: 5)))
        store.close()
        try directory.write(older, to: "log.sqlite")
        expectRefusal(.behindMarks, "a vote could be given twice")
    }

    @Test func `marks that are missing, damaged or another store's are refused`() async throws {
        try await makeLog()
        let marks = try directory.bytes("log.marks")
        try directory.remove("log.marks")
        expectRefusal(.behindMarks, "no marks")
        for length in 0..<marks.count {
            try directory.write(Array(marks[..<length]), to: "log.marks")
            expectRefusal(.corrupt, "marks cut at \(length)")
        }
        for index in marks.indices {
            var bad = marks
            bad[index] ^= 1
            try directory.write(bad, to: "log.marks")
            expectRefusal(.corrupt, "marks changed at \(index)")
        }
        let other = try TemporaryDirectory()
        try LogStore.open(configuration(other, create: true)).close()
        try directory.write(try other.bytes("log.marks"), to: "log.marks")
        expectRefusal(.behindMarks, "another store's marks")
        try directory.write(marks, to: "log.marks")
        try LogStore.open(configuration(directory)).close()
    }

    /// Nothing is wrong with it, so nobody is told to do away with it.
    private func expectOtherVersion(_ name: String, _ found: Int64, _ own: Int64, _ known: String) throws {
        let before = try directory.bytes(name)
        do throws(LogStoreError) {
            try LogStore.open(configuration(directory)).close()
            Issue.record("opened a \(name) of format \(found)")
        } catch {
            #expect(error.code == .unsupported)
            for words in [
                "\(directory.path)/\(name)", "has format \(found)", known,
                found > own ? "newer" : "older",
                "CHANGELOG.md",
            ] {
                #expect(error.message.contains(words), "\(error)")
            }
            for word in ["damaged", "away", "delete", "remove", "new server"] {
                #expect(!error.message.contains(word), "\(error)")
            }
        }
        #expect(try directory.bytes(name) == before)
    }

    @Test(arguments: [1, 4] as [Int64])
    func `a log of another version is refused with both numbers, and left as it is`(version: Int64) async throws {
        try await makeLog()
        func put(_ pragma: String, _ number: Int64) throws {
            let log = try Database(path: directory.path + "/log.sqlite", options: DatabaseOptions())
            defer { log.close() }
            try log.execute("PRAGMA \(pragma) = \(number)")
        }
        try put("user_version", version)
        try expectOtherVersion("log.sqlite", version, 3, "formats 2 to 3 only")
        // Of another program, with our number.
        try put("user_version", 2)
        try put("application_id", 77)
        do throws(LogStoreError) {
            try LogStore.open(configuration(directory)).close()
            Issue.record("opened")
        } catch {
            #expect(error.code == .unsupported && error.message.contains("application_id is 77"), "\(error)")
        }
    }

    @Test(arguments: [0, 2] as [Int64])
    func `marks of another version are refused with both numbers, and left as they are`(version: Int64) async throws {
        try await makeLog()
        let text = String(decoding: try directory.bytes("log.marks"), as: UTF8.self)
        var lines = text.split(separator: "\n").dropLast().map(String.init)
        lines[0] = "chatroom log marks \(version)"
        lines.append("something that only that version knows")
        let body = Array((lines.joined(separator: "\n") + "\n").utf8)
        try directory.write(body + Array("checksum \(CRC32C.of(body))\n".utf8), to: "log.marks")
        try expectOtherVersion("log.marks", version, 1, "format 1 only")
        // And whole, or it is not of another version but damaged.
        try directory.write(body + Array("checksum 1\n".utf8), to: "log.marks")
        expectRefusal(.corrupt, "the checksum does not fit")
    }

    @Test func `a file that is no log is refused`() throws {
        try directory.write([UInt8](repeating: 65, count: 10_000), to: "log.sqlite")
        expectRefusal(.corrupt, "letters")
    }

    @Test(arguments: LogFormat.allCases)
    func `the making of a log can be repeated when the power was cut in it`(format: LogFormat) throws {
        for operations in 0...40 as ClosedRange<Int64> {
            let directory = try TemporaryDirectory()
            disk.cutPower(after: operations)
            do throws(LogStoreError) {
                let store = try LogStore.open(configuration(directory, create: true, disk: disk, format))
                disk.cutPower()
                store.close()
            } catch {}
            disk.cutPower()
            #expect(disk.powerOn(seed: UInt64(operations)))
            var store: LogStore?
            do throws(LogStoreError) {
                store = try LogStore.open(configuration(directory, create: true, disk: disk, format))
            } catch {
                // It was complete; then it opens as it is.
                #expect(error.code == .alreadyExists, "after \(operations): \(error)")
                store = try LogStore.open(configuration(directory, disk: disk))
            }
            store?.close()
        }
    }
}
