import Consensus
import Foundation
import StorageTestKit
import Testing
import WaitTestKit

@testable import LogStore

/// How segments go, and how the table is brought to them.
@Suite struct SegmentCleaningTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func bytes(of prefix: String) throws -> Int {
        try directory.names().filter { $0.hasPrefix(prefix) }.reduce(0) { sum, name in
            let path = directory.path + "/" + name
            return sum + (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
        }
    }

    @Test func `one busy group among 128 that are idle keeps the log within a bound`() async throws {
        var options = configuration(directory, create: true)
        options.segmentBytes = 32 << 10
        var store = try LogStore.open(options)
        options.create = false
        // Each idle group needs one entry, and all of them are in different segments.
        var busy: UInt64 = 0
        for number in 2...128 as ClosedRange<UInt16> {
            try await store.save(GroupSave(group: GroupID(number), entries: [entry(1, bytes: 300)]))
            for _ in 0..<4 {
                busy += 1
                try await store.save(GroupSave(group: groupA, entries: [entry(busy, bytes: 4_000)]))
            }
            store.trim(groupA, through: busy - 2)
        }
        for _ in 0..<400 {
            busy += 1
            try await store.save(GroupSave(group: groupA, entries: [entry(busy, bytes: 4_000)]))
            store.trim(groupA, through: busy - 2)
        }
        for isReopened in [false, true] {
            // Twice what is needed (51 KB), four segments and two files for the next ones; a segment may be longer by a
            // record.
            #expect(try bytes(of: "log.segment.") < 2 * 51_000 + 8 * (36 << 10))
            for number in 2...128 as ClosedRange<UInt16> {
                #expect(try store.restored(GroupID(number)).recent == [entry(1, bytes: 300)])
            }
            #expect(try store.restored(groupA).lastIndex == busy)
            #expect(try store.restored(groupA).recent.last == entry(busy, bytes: 4_000))
            guard !isReopened else { break }
            store.close()
            store = try LogStore.open(options)
        }
        store.close()
    }

    /// The offset of a file's first hole; its size when it has none. Space that is only reserved is a hole.
    private func hole(_ name: String) throws -> Int {
        let file = open(directory.path + "/" + name, O_RDONLY)
        defer { close(file) }
        return Int(lseek(file, 0, 4))  // SEEK_HOLE
    }

    /// It can't fail on a file system that knows no holes.
    @Test func `a new file is full of zeros before it is used, and a record that was written is not filled over`()
        async throws
    {
        var options = configuration(directory, create: true)
        options.segmentBytes = 1 << 20
        let store = try LogStore.open(options)
        var index: UInt64 = 0
        func save() async throws {
            index += 1
            try await store.save(GroupSave(group: groupA, entries: [entry(index, bytes: 60_000)]))
        }
        // Up to the middle: the next file is made, and filled between saves and while nobody saves.
        while try !directory.names().contains("log.segment.1") { try await save() }
        try await poll("the next file is filled") { try hole("log.segment.1") == 1 << 20 }
        #expect(try directory.bytes("log.segment.1").allSatisfy { $0 == 0 })
        // Into that file, and into the one behind it, which is used before it is filled.
        while try !directory.names().contains("log.segment.2") { try await save() }
        for _ in 0..<12 { try await save() }
        store.close()
        options.create = false
        let again = try LogStore.open(options)
        #expect(try again.restored(groupA).lastIndex == index)
        #expect(try again.restored(groupA).recent == entries(1...index, bytes: 60_000))
        again.close()
    }

    // MARK: - Conversion

    private func makeTable(_ options: LogStoreConfiguration) async throws {
        var options = options
        options.create = true
        options.makesSegments = false
        let store = try LogStore.open(options)
        try await store.save([
            GroupSave(group: groupA, hardState: HardState(term: 2), entries: entries(1...600, bytes: 500)),
            GroupSave(group: groupB, entries: entries(1...5)),
        ])
        try await store.save(GroupSave(group: groupA, truncateFrom: 590, entries: entries(590...595, term: 2)))
        store.trim(groupA, through: 100)
        _ = try store.groups()
        store.close()
    }

    private func expectContent(_ store: LogStore, last: UInt64 = 595) throws {
        let a = try store.restored(groupA)
        #expect(a.trimmed == LogPosition(index: 100, term: 1) && a.hardState == HardState(term: 2))
        #expect(
            a.recent.prefix(495)
                == entries(101...589, bytes: 500)[...] + entries(590...595, term: 2)[...])
        #expect(a.lastIndex == last)
        #expect(try store.restored(groupB).recent == entries(1...5))
    }

    @Test func `a log of rows is brought to segments while it is written to, and its rows go`() async throws {
        let options = configuration(directory)
        try await makeTable(options)
        var store = try LogStore.open(options)
        store.useSegments()
        try await store.save(GroupSave(group: groupA, entries: entries(596...600, term: 2)))
        try expectContent(store, last: 600)
        try await poll("the table is empty") { [directory] in
            (try? directory.bytes("log.sqlite").count).map { $0 < 24 << 10 } ?? false
        }
        store.close()
        for _ in 0..<2 {
            store = try LogStore.open(options)
            try expectContent(store, last: 600)
            store.close()
        }
    }

    @Test func `a conversion that is killed at any step goes on at the next start, and loses nothing`() async throws {
        let made = try TemporaryDirectory()
        try await makeTable(configuration(made))
        var isDone = false
        var operations: Int64 = 0
        while !isDone {
            for seed in [0, UInt64(operations) + 1] {
                let directory = try TemporaryDirectory()
                for name in try made.names() { try directory.write(try made.bytes(name), to: name) }
                let disk = FaultDisk()
                var store = try LogStore.open(configuration(directory, disk: disk))
                disk.cutPower(after: operations)
                store.useSegments()
                var index: UInt64 = 595
                do throws(LogStoreError) {
                    while index < 600 {
                        try await store.save(GroupSave(group: groupA, entries: [entry(index + 1, term: 2)]))
                        index += 1
                    }
                } catch {}
                isDone = disk.isPowered && index == 600
                disk.cutPower()
                store.close()
                #expect(disk.powerOn(seed: seed))
                store = try LogStore.open(configuration(directory, disk: disk))
                let last = try store.restored(groupA).lastIndex
                #expect(last == index || last == index + 1, "\(operations) operations")
                try expectContent(store, last: last)
                // And whatever was there, the rest of it is done now.
                store.useSegments()
                try await store.save(GroupSave(group: groupA, entries: [entry(last + 1, term: 2)]))
                store.close()
                store = try LogStore.open(configuration(directory, disk: disk))
                try expectContent(store, last: last + 1)
                store.close()
            }
            operations += operations < 40 ? 1 : 9
        }
    }

    @Test func `a conversion that finds the disk full goes on when there is space`() async throws {
        try await makeTable(configuration(directory))
        let disk = FaultDisk()
        let store = try LogStore.open(configuration(directory, disk: disk))
        disk.isFull = true
        store.useSegments()
        try await poll("it has been tried") { !store.takesWrites }
        try expectContent(store)
        disk.isFull = false
        try await poll("the log takes writes") { store.takesWrites }
        try await store.save(GroupSave(group: groupA, entries: [entry(596, term: 2)]))
        try await poll("there are segments") { [directory] in
            (try? directory.names().contains("log.segment.0")) ?? false
        }
        try expectContent(store, last: 596)
        store.close()
    }

    // MARK: - A model

    private struct Model {
        var hardState = HardState()
        var trimmed: UInt64 = 0
        var entries: [Entry] = []
        var last: UInt64 { trimmed + UInt64(entries.count) }
    }

    @Test(arguments: SeededGenerator.seeds(9))
    func `random saves, cuts, snapshots, trims and restarts leave what a list would hold`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var options = configuration(directory, create: true, seed.isMultiple(of: 3) ? .table : .segments)
        options.segmentBytes = 8 << 10
        var store = try LogStore.open(options)
        options.create = false
        let groups = (0..<6).map { GroupID($0) }
        var models = Dictionary(uniqueKeysWithValues: groups.map { ($0, Model()) })
        for step in 0..<400 {
            let group = groups[Int.random(in: 0..<10, using: &random) % 6]
            var model = models[group] ?? Model()
            var save = GroupSave(group: group)
            var term = max(1, model.hardState.term)
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                term += 1
                save.hardState = HardState(term: term)
                model.hardState = HardState(term: term)
            case 1 where !model.entries.isEmpty:
                let from = UInt64.random(in: model.trimmed + 1...model.last, using: &random)
                save.truncateFrom = from
                model.entries.removeLast(Int(model.last - from + 1))
            case 2:
                let index = model.last + 5
                save.snapshot = SnapshotMark(
                    index: index, term: term, membership: GroupMembership(voters: [ServerID(node: "n", store: 1)]))
                (model.trimmed, model.entries) = (index, [])
            default: break
            }
            for index in (model.last + 1)..<(model.last + 1 + .random(in: 0...4, using: &random)) {
                let added = entry(index, term: term, bytes: .random(in: 0...900, using: &random))
                save.entries.append(added)
                model.entries.append(added)
            }
            try await store.save(save)
            if Int.random(in: 0..<4, using: &random) == 0, group != groups[5], model.entries.count > 3 {
                let count = model.entries.count - 2
                model.entries.removeFirst(count)
                model.trimmed += UInt64(count)
                store.trim(group, through: model.trimmed)
            }
            models[group] = model
            if step == 150, seed.isMultiple(of: 3) { store.useSegments() }
            guard step % 60 == 59 else { continue }
            // The store answers behind everything that waits.
            _ = try store.groups()
            if Bool.random(using: &random) {
                store.close()
                store = try LogStore.open(options)
            }
            for (group, model) in models {
                let stored = try store.restored(group)
                #expect(stored.hardState == model.hardState, "seed \(seed), step \(step), group \(group.number)")
                #expect(stored.trimmed.index == model.trimmed && stored.lastIndex == model.last)
                #expect(stored.recent == model.entries, "seed \(seed), step \(step), group \(group.number)")
            }
        }
        store.close()
    }
}
