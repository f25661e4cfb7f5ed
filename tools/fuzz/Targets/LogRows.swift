import ChatModel
import Consensus
import Glibc

@testable import LogStore
@testable import SQLite

/// Content of the log that the disk gives back: rows, marks, and the write-ahead log that they stand in.
extension FuzzTarget {
    /// The first byte tells what it is.
    static let logRows = FuzzTarget(name: "logrows", bytesMax: 256 << 10) { bytes in
        var input = FuzzInput(bytes)
        switch input.byte() % 8 {
        case 0:
            let content = input.all
            guard let state = GroupState(encoded: content) else { return }
            require(state.encoded() == content, "a group's state has another encoding than its own")
        case 1: check(marks: input.all)
        case 2:
            // With a checksum that fits, so that what is behind it is reached.
            var content = input.all
            if content.last != 0x0A { content.append(0x0A) }
            check(marks: content + Array("checksum \(CRC32C.of(content))\n".utf8))
        case 3:
            let content = input.all
            guard let membership = GroupMembership(decoding: content) else { return }
            require(membership.encoded() == content, "a membership has another encoding than its own")
        case 4: check(entryRow: &input)
        case 5:
            let piece = Int(input.byte()) + 1
            require(
                objection(input.rest, input.rest.count) == objection(input.rest, piece), "in pieces of \(piece)")
        case 6: check(writeAheadLog: &input)
        default: check(record: input.all)
        }
    } seeds: { _ in
        let (a, b) = (ServerID(node: "a", store: 1), ServerID(node: "köln", store: .max))
        let membership = GroupMembership(voters: [a], learners: [b])
        var state = GroupState()
        var seeds: [[UInt8]] = [[0] + state.encoded()]
        state.hardState = HardState(term: 7, votedFor: b)
        state.snapshot = SnapshotMark(index: 9, term: 3, membership: membership)
        state.trimmed = LogPosition(index: 4, term: 2)
        seeds.append([0] + state.encoded())
        var marks = Marks(store: 5)
        seeds.append([1] + marks.encoded())
        marks.groups[GroupID(3)] = Marks.Mark(term: 7, vote: b, last: LogPosition(index: 9, term: 6))
        marks.groups[.system] = Marks.Mark(term: 1, last: LogPosition())
        seeds.append([1] + marks.encoded())
        seeds.append([2] + marks.encoded().dropLast(20))
        seeds.append([3] + membership.encoded())
        for kind: UInt8 in 0..<3 { seeds.append([4, 1, 0, 3, 0, 9, 0, 5, 0, kind, 1, 2, 3]) }
        for flags: UInt8 in [0x00, 0xFF, 0x15, 0x2A] { seeds.append([6, flags, 5, 2, 0, 9, 1, 1, 2, 3]) }
        seeds.append([5, 100] + writeAheadLog(pages: [[1], [2], [3]], commits: 0b110, isBigEndian: true))
        let log = GroupEntries()
        log.isNew = true
        var change = GroupChange(log)
        change.set(HardState(term: 2, votedFor: a))
        change.append([
            Entry(index: 1, term: 1, kind: .membership, payload: membership.encoded()),
            Entry(index: 2, term: 2, kind: .command, payload: [1, 2, 3]),
        ])
        var record = SegmentRecord()
        record.appendHead(oldest: 1, [:])
        _ = record.append(change, of: GroupID(3), segment: 1, start: 0)
        _ = record.append(
            moved: [Entry(index: 1, term: 1, kind: .empty, payload: [])], of: GroupID(3), segment: 1, start: 0)
        seeds.append([7] + record.bytes.dropFirst(SegmentRecord.headerBytes))
        seeds.append([5, 255] + writeAheadLog(pages: [[1], [2]], commits: 0b11, isBigEndian: false))
        return seeds
    }

    private static func check(marks bytes: [UInt8]) {
        guard let marks = Marks(encoded: bytes) else { return }
        require(marks.encoded() == bytes, "marks have another encoding than their own")
        _ = marks.objection(to: [:])
    }

    // MARK: - Rows of entries

    private struct Rows: @unchecked Sendable {
        let database: Database
        let statement: Statement
    }

    /// A database in memory that gives back what is bound.
    private static let rows: Rows = {
        do {
            var options = DatabaseOptions()
            options.create = true
            let database = try Database(path: "/dev/shm/chatroom-fuzz-\(getpid()).sqlite", options: options)
            defer { unlink("/dev/shm/chatroom-fuzz-\(getpid()).sqlite") }
            return Rows(database: database, statement: try database.prepare("SELECT ?, ?, ?, ?, ?, ?"))
        } catch { fail("there is no database: \(error)") }
    }()

    /// A row of any numbers, with a checksum that fits or with any.
    private static func check(entryRow input: inout FuzzInput) {
        let isSealed = input.byte() & 1 == 1
        func short(_ input: inout FuzzInput) -> Int64 { Int64(input.byte()) << 8 | Int64(input.byte()) }
        let group = short(&input) - 1
        let (index, term) = (UInt64(bitPattern: short(&input) - 1), UInt64(bitPattern: short(&input) - 1))
        let kind = Int64(Int8(bitPattern: input.byte()))
        let payload = input.all
        var checksum = Int64(payload.first ?? 0)
        if isSealed, let number = UInt16(exactly: group), let raw = UInt8(exactly: kind) {
            checksum = Int64(
                payload.withUnsafeBytes {
                    CRC32C.ofEntry(group: number, index: index, term: term, kind: raw, payload: $0)
                })
        }
        let statement = rows.statement
        defer { statement.reset() }
        statement.bind(1, group)
        statement.bind(bits: index, 2)
        statement.bind(bits: term, 3)
        statement.bind(4, kind)
        statement.bind(5, checksum)
        statement.bind(6, payload)
        guard (try? statement.step()) == true else { fail("the row is not there") }
        let header = EntryHeader(statement, firstColumn: 0)
        let isRight = UInt16(exactly: group) != nil && Entry.Kind.allCases.contains { Int64($0.rawValue) == kind }
        require(!isSealed || (header != nil) == isRight, "a row of group \(group), kind \(kind): \(header != nil)")
        guard let header else { return }
        require(
            Int64(header.group.number) == group && header.index == index && header.term == term
                && Int64(header.kind.rawValue) == kind, "a row is read as another")
    }

    // MARK: - Records of segments

    /// The blocks of a segment's first record, whose checksum has fitted. The logs that they lead to can be written and read again.
    private static func check(record blocks: [UInt8]) {
        guard let logs = try? replay(blocks) else { return }
        var record = SegmentRecord()
        record.appendHead(oldest: 1, logs)
        for (group, log) in logs where log.count > 0 {
            // Their payloads stand where the places say.
            let entries = (log.firstIndex...log.lastIndex).compactMap { index -> Entry? in
                guard let place = log.place(of: index) else { return nil }
                let start = Int(place.start) - SegmentRecord.headerBytes
                let entry = SegmentRecord.entry(Array(blocks[start..<start + Int(place.length)]), of: group)
                require(
                    entry?.index == index && entry?.term == log.term(at: index), "a place is not that of entry \(index)"
                )
                return entry
            }
            _ = record.append(moved: entries, of: group, segment: 1, start: 0)
        }
        let again = try? replay(Array(record.bytes.dropFirst(SegmentRecord.headerBytes)))
        require(again != nil, "what was read can't be written")
        for (group, log) in logs {
            require(
                again?[group]?.state == log.state && again?[group]?.lastIndex == log.lastIndex, "a group is another")
        }
    }

    private static func replay(_ blocks: [UInt8]) throws(LogDamage) -> [GroupID: GroupEntries] {
        let replay = LogReplay(entriesMax: 10_000)
        let result: Result<Void, LogDamage> = blocks.withUnsafeBytes { bytes in
            do throws(LogDamage) {
                return .success(try replay.apply(bytes, segment: 1, start: 0, isFirst: true))
            } catch { return .failure(error) }
        }
        try result.get()
        return try replay.logs()
    }

    // MARK: - The write-ahead log

    private static func objection(_ bytes: UnsafeRawBufferPointer, _ piece: Int) -> String? {
        var check = WriteAheadLogCheck()
        forEachPiece(bytes, of: piece) { bytes in
            check.take(bytes)
            return check.objection == nil
        }
        return check.objection
    }

    /// A log as SQLite writes it has no objection; with one page changed in a transaction that others follow, it has.
    private static func check(writeAheadLog input: inout FuzzInput) {
        let (commits, frames) = (input.byte(), Int(input.byte() % 7) + 1)
        let (place, offset, change) = (Int(input.byte()) % frames, Int(input.byte()) * 2, input.byte())
        let isBigEndian = input.byte() & 1 == 1
        let pages = (0..<frames).map { _ in input.take(8) }
        var log = writeAheadLog(pages: pages, commits: commits, isBigEndian: isBigEndian)
        log[32 + place * (24 + pageBytes) + 24 + offset] ^= change
        let found = log.withUnsafeBytes { objection($0, 300) }
        let end = (place..<frames).first { commits >> UInt8($0) & 1 == 1 }
        if change == 0 {
            require(found == nil, "a log that is right is refused: \(found ?? "")")
        } else if let end, end < frames - 1 {
            require(found != nil, "frame \(place) of \(frames) was changed in a transaction that others follow")
        }
    }

    private static let pageBytes = 512

    /// https://sqlite.org/fileformat2.html#walformat
    private static func writeAheadLog(pages: [[UInt8]], commits: UInt8, isBigEndian: Bool) -> [UInt8] {
        var log: [UInt8] = []
        var sum: (UInt32, UInt32) = (0, 0)
        func append(_ number: UInt32) { withUnsafeBytes(of: number.bigEndian) { log.append(contentsOf: $0) } }
        func add(_ bytes: ArraySlice<UInt8>) {
            func word(_ at: Int) -> UInt32 {
                let word = bytes[at..<at + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                return isBigEndian ? word : word.byteSwapped
            }
            for at in stride(from: bytes.startIndex, to: bytes.endIndex, by: 8) {
                sum.0 &+= word(at) &+ sum.1
                sum.1 &+= word(at + 4) &+ sum.0
            }
        }
        for number in [isBigEndian ? 0x377F_0683 : 0x377F_0682, 3_007_000, UInt32(pageBytes), 1, 77, 78] {
            append(number)
        }
        add(log[0..<24])
        append(sum.0)
        append(sum.1)
        for (number, content) in pages.enumerated() {
            let start = log.count
            append(UInt32(number + 1))
            append(commits >> UInt8(number) & 1 == 1 ? UInt32(number + 1) : 0)
            append(77)
            append(78)
            let page = Array((content + [UInt8](repeating: UInt8(number), count: pageBytes)).prefix(pageBytes))
            add(log[start..<start + 8])
            add(page[...])
            append(sum.0)
            append(sum.1)
            log += page
        }
        return log
    }
}
