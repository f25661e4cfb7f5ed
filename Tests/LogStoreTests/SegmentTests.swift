import Consensus
import StorageTestKit
import Testing
import WaitTestKit

@testable import LogStore

/// Damage to segments after a crash, on real files: either everything that was acknowledged is there, or opening is
/// refused with a sentence that says what to do.
@Suite struct SegmentTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// The files of a log after a crash. Each record is one entry; every second one also gives a vote.
    private struct Crash {
        var files: [String: [UInt8]]
        /// The file that is written to.
        var last: String
        /// The offsets at which its records begin, and the end of the last one.
        var records: [Int]
        var oldMarks: [UInt8]
        var newMarks: [UInt8]
        /// Entries before this file, and in all.
        var before: UInt64
        var count: UInt64
    }

    private static func vote(_ index: UInt64) -> HardState {
        index >= 2 ? HardState(term: 1, votedFor: ServerID(node: "n ü", store: 7)) : HardState()
    }

    /// Saves entries one by one and ends like a process that was killed.
    private func crash(_ count: UInt64, bytes: Int = 100, segmentBytes: Int = 64 << 10) async throws -> Crash {
        let disk = FaultDisk()
        var options = configuration(directory, create: true, disk: disk)
        options.segmentBytes = segmentBytes
        try LogStore.open(options).close()
        let oldMarks = try directory.bytes("log.marks")
        options.create = false
        let store = try LogStore.open(options)
        for index in 1...count {
            let hardState = index.isMultiple(of: 2) ? Self.vote(index) : nil
            try await store.save(GroupSave(group: groupA, hardState: hardState, entries: [entry(index, bytes: bytes)]))
        }
        disk.cutPower()
        store.close()
        #expect(disk.powerOn(seed: 0))
        var crash = Crash(
            files: [:], last: "", records: [], oldMarks: oldMarks, newMarks: try directory.bytes("log.marks"),
            before: 0,
            count: count)
        var newest: UInt32 = 0
        for name in try directory.names() where name.hasPrefix(SegmentFile.prefix) {
            let file = try directory.bytes(name)
            crash.files[name] = file
            let records = records(of: file, store: store.storeID)
            guard let segment = records.first?.header.segment, segment > newest else { continue }
            newest = segment
            crash.last = name
            crash.records = records.map(\.offset) + [records.last.map { $0.offset + 32 + $0.header.length } ?? 0]
            crash.before = (records.first?.header.sequence ?? 1) - 1
        }
        return crash
    }

    private func records(of file: [UInt8], store: UInt64) -> [(offset: Int, header: SegmentRecord.Header)] {
        file.withUnsafeBytes { bytes in
            var found: [(offset: Int, header: SegmentRecord.Header)] = []
            var offset = 0
            while let header = SegmentRecord.Header(bytes, at: offset, store: store) {
                if let first = found.first, first.header.segment != header.segment { break }
                found.append((offset, header))
                offset += SegmentRecord.headerBytes + header.length
            }
            return found
        }
    }

    private enum Outcome: Equatable {
        case opened(UInt64, HardState)
        case refused(LogStoreError.Code)
    }

    private func open(_ crash: Crash, last: [UInt8], marks: [UInt8]) throws -> Outcome {
        for (name, bytes) in crash.files { try directory.write(name == crash.last ? last : bytes, to: name) }
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

    @Test(arguments: [64 << 10, 2_048])
    func `a flipped bit anywhere is refused, but in the last record, which may be torn`(segmentBytes: Int) async throws
    {
        let crash = try await crash(segmentBytes == 2_048 ? 19 : 7, segmentBytes: segmentBytes)
        let file = try #require(crash.files[crash.last])
        try #require(crash.records.count > 3)
        #expect(try open(crash, last: file, marks: crash.oldMarks) == all(crash))
        let end = try #require(crash.records.last)
        let last = crash.records[crash.records.count - 2]
        // All bytes of headers, and a part of the others.
        let headers = crash.records.flatMap { Array($0..<min(end, $0 + SegmentRecord.headerBytes)) }
        for place in headers + Array(stride(from: 0, to: end, by: 13)) where place < end {
            var bad = file
            bad[place] ^= 1 << UInt8(place % 8)
            let outcome = try open(crash, last: bad, marks: crash.oldMarks)
            if place < last {
                #expect(outcome == .refused(.corrupt), "byte \(place)")
            } else {
                #expect(outcome == .opened(crash.count - 1, Self.vote(crash.count - 1)), "byte \(place)")
            }
            if place % 5 == 0 {
                guard case .refused = try open(crash, last: bad, marks: crash.newMarks) else {
                    Issue.record("opened with a flipped bit at \(place)")
                    continue
                }
            }
        }
        // The bytes behind the end mean nothing.
        #expect(try open(crash, last: file + [1, 2, 3] + file.prefix(40), marks: crash.newMarks) == all(crash))
    }

    @Test func `a segment that ends early is a prefix without marks and refused with them`() async throws {
        let crash = try await crash(6)
        let file = try #require(crash.files[crash.last])
        let ends = crash.records.dropFirst()
        let end = try #require(ends.last)
        for length in Array(stride(from: 0, to: end, by: 17)) + ends {
            let kept = UInt64(ends.filter { $0 <= length }.count)
            let cut = Array(file[..<length])
            #expect(try open(crash, last: cut, marks: crash.oldMarks) == .opened(kept, Self.vote(kept)), "\(length)")
            let expected: Outcome = length >= end ? all(crash) : .refused(.behindMarks)
            #expect(try open(crash, last: cut, marks: crash.newMarks) == expected, "\(length)")
        }
    }

    @Test func `a flipped bit in an older segment, or one that is missing, is refused`() async throws {
        let crash = try await crash(40, segmentBytes: 2_048)
        try #require(crash.files.count > 3)
        let file = try #require(crash.files[crash.last])
        for (name, good) in crash.files where name != crash.last {
            // A file that was made for the next segment.
            guard let end = records(of: good, store: try storeID(crash)).last.map({ $0.offset + 32 + $0.header.length })
            else { continue }
            for place in stride(from: 0, to: end, by: 61) {
                var damaged = crash
                damaged.files[name]?[place] ^= 16
                #expect(try open(damaged, last: file, marks: crash.oldMarks) == .refused(.corrupt), "\(name) \(place)")
            }
            var missing = crash
            missing.files[name] = nil
            try directory.remove(name)
            #expect(try open(missing, last: file, marks: crash.oldMarks) == .refused(.corrupt), "\(name)")
        }
        #expect(try open(crash, last: file, marks: crash.newMarks) == all(crash))
    }

    /// As when the power is cut while the next segment is written over the oldest one: any of its sectors are the new ones.
    @Test(arguments: [false, true])
    func `a torn oldest segment is left where nobody needs it, and refused where somebody does`(isNeeded: Bool)
        async throws
    {
        var options = configuration(directory, create: true)
        options.segmentBytes = 4_096
        var store = try LogStore.open(options)
        options.create = false
        let last: UInt64 = 20
        for index in 1...last {
            try await store.save(GroupSave(group: groupA, entries: [entry(index, bytes: 500)]))
        }
        if !isNeeded { store.trim(groupA, through: last - 1) }
        try await store.save(GroupSave(group: groupA, entries: [entry(last + 1, bytes: 500)]))
        let id = store.storeID
        store.close()
        var files: [String: [UInt8]] = [:]
        for name in try directory.names() where name.hasPrefix(SegmentFile.prefix) {
            files[name] = try directory.bytes(name)
        }
        let marks = try directory.bytes("log.marks")
        let segments = files.compactMap { file in
            records(of: file.value, store: id).first.map { (name: file.key, number: $0.header.segment) }
        }
        let oldest = try #require(segments.min { $0.number < $1.number })
        #expect(segments.count > 2 && oldest.number == 1)
        let good = try #require(files[oldest.name])
        for sector in 0..<(good.count / 512) {
            for (name, bytes) in files { try directory.write(bytes, to: name) }
            try directory.write(marks, to: "log.marks")
            var torn = good
            // The header of the first sector is still the old one.
            for place in max(SegmentRecord.headerBytes, sector * 512)..<(sector * 512 + 512) { torn[place] ^= 0x55 }
            try directory.write(torn, to: oldest.name)
            guard !isNeeded else {
                #expect(throws: LogStoreError.self, "sector \(sector)") { try LogStore.open(options).close() }
                continue
            }
            // Also when it is written over and found again.
            for end in [last + 1, last + 31] {
                store = try LogStore.open(options)
                #expect(try store.restored(groupA).lastIndex == end)
                #expect(try store.restored(groupA).recent.last == entry(end, bytes: 500))
                for index in (end + 1)...(end + 30) {
                    try await store.save(GroupSave(group: groupA, entries: [entry(index, bytes: 500)]))
                }
                store.close()
            }
            for name in try directory.names() where name.hasPrefix(SegmentFile.prefix) { try directory.remove(name) }
        }
    }

    private func storeID(_ crash: Crash) throws -> UInt64 {
        for (name, bytes) in crash.files { try directory.write(bytes, to: name) }
        let store = try LogStore.open(configuration(directory))
        defer { store.close() }
        return store.storeID
    }

    /// With checksums that fit, so that what is behind them is reached.
    @Test(arguments: SeededGenerator.seeds(20))
    func `records with any content are refused with a sentence, and never with a trap`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let group = GroupEntries()
        group.isNew = true
        var change = GroupChange(group)
        change.append(entries(1...3))
        var record = SegmentRecord()
        record.appendHead(oldest: 1, [:])
        _ = record.append(change, of: groupA, segment: 1, start: 0)
        record.seal(store: 5, segment: 1, sequence: 1)
        let good = Array(record.bytes[SegmentRecord.headerBytes...])
        func apply(_ blocks: [UInt8]) -> LogDamage? {
            blocks.withUnsafeBytes { blocks in
                let replay = LogReplay(entriesMax: 1_000)
                do throws(LogDamage) {
                    try replay.apply(blocks, segment: 1, start: 0, isFirst: true)
                    _ = try replay.logs()
                    return nil
                } catch {
                    return error
                }
            }
        }
        #expect(apply(good) == nil)
        for length in 0..<good.count where good[length...].contains(where: { $0 != 0 }) {
            #expect(apply(Array(good[..<length])) != nil || length == 9 || length == 0, "cut at \(length)")
        }
        for _ in 0..<500 {
            var bad = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bad[Int.random(in: 0..<bad.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            _ = apply(bad)
            _ = apply((0..<Int.random(in: 0...80, using: &random)).map { _ in .random(in: 0...3, using: &random) })
        }
    }

    // MARK: - Failed records

    @Test func `what failed records left is not taken for one that was saved`() async throws {
        for writes in 0..<3 as Range<Int64> {
            let directory = try TemporaryDirectory()
            let disk = FaultDisk()
            var options = configuration(directory, create: true, disk: disk)
            options.segmentBytes = 4_096
            let store = try LogStore.open(options)
            try await store.save(GroupSave(group: groupA, entries: entries(1...3)))
            for last in [20, 9] as [UInt64] {
                disk.fillUp(after: writes)
                do throws(LogStoreError) {
                    try await store.save(GroupSave(group: groupA, entries: entries(4...last, bytes: 3_000)))
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

    /// A start asks for all entries of all groups, one by one. They are in memory for the first seconds, and not longer.
    @Test func `entries that were read at the opening are not read again before the first probe`() async throws {
        var options = configuration(directory, create: true)
        options.openedBytesMax = 128 << 20
        let store = try LogStore.open(options)
        for index in 1...600 as ClosedRange<UInt64> {
            try await store.save([
                GroupSave(group: groupA, entries: [entry(index, bytes: 300)]),
                GroupSave(group: groupB, entries: [entry(index, bytes: 20)]),
            ])
        }
        store.close()
        options.create = false
        options.probeInterval = .seconds(3_600)
        var again = try LogStore.open(options)
        try await again.save(GroupSave(group: groupA, entries: [entry(601, bytes: 300)]))
        let files = try directory.names().filter { $0.hasPrefix(SegmentFile.prefix) }
        #expect(files.count > 3)
        let former = try files.map { (name: $0, bytes: try directory.bytes($0)) }
        for file in former { try directory.write([UInt8](repeating: 0, count: file.bytes.count), to: file.name) }
        #expect(try await again.entries(groupA, 1...600) == entries(1...600, bytes: 300))
        #expect(try again.restored(groupB).recent == entries(1...600))
        // The disk alone has the entry that came later.
        await #expect(throws: LogStoreError.self) { try await again.entries(groupA, 601...601) }
        for file in former { try directory.write(file.bytes, to: file.name) }
        again.close()

        options.probeInterval = .milliseconds(20)
        again = try LogStore.open(options)
        try await poll("the memory is given back") {
            for file in former { try directory.write([UInt8](repeating: 0, count: file.bytes.count), to: file.name) }
            defer { for file in former { try? directory.write(file.bytes, to: file.name) } }
            do throws(LogStoreError) { _ = try await again.entries(groupA, 1...600) } catch {
                return error.code == .corrupt
            }
            return false
        }
        #expect(try await again.entries(groupA, 1...601) == entries(1...601, bytes: 300))
        again.close()
    }

    @Test(arguments: [0, 2_048, 5_000, 128 << 20])
    func `a log is the same, however much of it stays in memory from the opening on`(openedBytesMax: Int) async throws {
        var options = configuration(directory, create: true)
        options.segmentBytes = 2_048
        let store = try LogStore.open(options)
        for index in 1...200 as ClosedRange<UInt64> {
            try await store.save([
                GroupSave(group: groupA, entries: [entry(index, bytes: Int(index * 7 % 400))]),
                GroupSave(group: groupB, hardState: Self.vote(index), entries: [entry(index)]),
            ])
        }
        store.close()
        options.create = false
        options.openedBytesMax = openedBytesMax
        let again = try LogStore.open(options)
        #expect(try directory.names().count { $0.hasPrefix(SegmentFile.prefix) } > 10)
        #expect(try again.restored(groupB).recent == entries(1...200))
        let all = (1...200).map { entry($0, bytes: Int($0 * 7 % 400)) }
        #expect(try await again.entries(groupA, 1...200) == all)
        #expect(try again.restored(groupB).hardState == Self.vote(200))
        again.close()
    }
}
