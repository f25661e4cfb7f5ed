import Consensus
import SQLite

/// The opening of the segments: which files hold which, and what is in them.
///
/// Every record is synced before the next one is written, so at most the last one can be torn. Whatever is found of the
/// same segment behind a record that does not fit shows that this one had been on the disk: it is damaged, and the log is
/// refused.
struct SegmentOpening {
    private let configuration: LogStoreConfiguration
    private let store: UInt64
    private let table: LogTable
    private var files: [SegmentFile]
    /// Those with segments, ascending.
    private var used: [SegmentFile] = []
    /// The number of the first record of each.
    private var firsts: [UInt32: UInt64] = [:]
    /// Writes that come before the log is used.
    private var repairs: [(file: SegmentFile, bytes: [UInt8], offset: Int)] = []

    init(_ configuration: LogStoreConfiguration, store: UInt64, table: LogTable) throws {
        self.configuration = configuration
        self.store = store
        self.table = table
        files = []
        do {
            for number in try SegmentFile.numbers(in: configuration.directory) {
                files.append(try SegmentFile(number, configuration))
            }
            try findSegments()
        } catch {
            close()
            throw error
        }
    }

    func close() { for file in files { file.file.close() } }

    private func bytes(_ file: SegmentFile) throws -> [UInt8] { try file.file.read(.max, at: 0) }

    private func header(_ bytes: [UInt8], at offset: Int = 0) -> SegmentRecord.Header? {
        bytes.withUnsafeBytes { SegmentRecord.Header($0, at: offset, store: store) }
    }

    // MARK: - Which there are

    private mutating func findSegments() throws {
        for file in files {
            guard let header = header(try file.file.read(SegmentRecord.headerBytes, at: 0)) else { continue }
            guard firsts.updateValue(header.sequence, forKey: header.segment) == nil else {
                throw LogDamage("there are two segments \(header.segment)")
            }
            file.segment = header.segment
        }
        used = files.filter { $0.segment != nil }.sorted { ($0.segment ?? 0) < ($1.segment ?? 0) }
        try dropUnbegun()
        let next = (used.last?.segment ?? 0) + 1
        for file in files where file.segment == nil && !repairs.contains(where: { $0.file === file }) {
            let found = try bytes(file)
            if isThere(found, from: 0, segment: next, after: 0) {
                throw LogDamage("the first record of segment \(next) does not match its checksum, and others follow it")
            }
        }
        guard let last = used.last, let oldest = try oldest(last) else { return }
        // Older ones were of no use already when the last one was begun.
        used.removeAll { ($0.segment ?? 0) < oldest }
        for (file, follower) in zip(used, used.dropFirst()) where file.segment.map({ $0 + 1 }) != follower.segment {
            throw LogDamage("there is no segment between \(file.segment ?? 0) and \(follower.segment ?? 0)")
        }
    }

    /// The newest one may have been begun when the power was cut. Its header is taken away, so that its number can be
    /// used again.
    private mutating func dropUnbegun() throws {
        guard let file = used.last, let segment = file.segment else { return }
        let all = try bytes(file)
        guard let header = header(all), all.withUnsafeBytes({ header.blocks($0, at: 0) }) == nil else { return }
        guard !isThere(all, from: 0, segment: segment, after: header.sequence) else {
            throw LogDamage("the first record of segment \(segment) does not match its checksum, and others follow it")
        }
        repairs.append((file, [UInt8](repeating: 0, count: SegmentRecord.headerBytes), 0))
        file.segment = nil
        used.removeLast()
    }

    /// The oldest segment that was needed when this one was begun.
    private func oldest(_ file: SegmentFile) throws -> UInt32? {
        let start = try file.file.read(SegmentRecord.headerBytes + 5, at: 0)
        return start.withUnsafeBytes { bytes in
            guard bytes.count == SegmentRecord.headerBytes + 5 else { return nil }
            var reader = SegmentReader(UnsafeRawBufferPointer(rebasing: bytes[SegmentRecord.headerBytes...]))
            guard reader.byte() == SegmentRecord.Block.head.rawValue else { return nil }
            return reader.number(UInt32.self)
        }
    }

    /// Whether the header of a later record of the segment is anywhere behind an offset.
    private func isThere(_ bytes: [UInt8], from offset: Int, segment: UInt32, after sequence: UInt64) -> Bool {
        let store = self.store
        return bytes.withUnsafeBytes { all in
            var place = offset
            let end = all.count - SegmentRecord.headerBytes
            while place <= end {
                // Nearly all places end here.
                if UInt64(littleEndian: all.loadUnaligned(fromByteOffset: place, as: UInt64.self)) == store,
                    let header = SegmentRecord.Header(all, at: place, store: store), header.segment == segment,
                    header.sequence > sequence
                {
                    return true
                }
                place += SegmentRecord.alignment
            }
            return false
        }
    }

    // MARK: - What is in them

    /// The logs of all groups; nil when there is no segment.
    ///
    /// The file of the oldest segment may have been the next one to be written over, because nothing in it was needed any
    /// more: when the power is cut in that write, any of its sectors may be the new ones, and the header the old one. So
    /// where the oldest segment can't be read, the others have to hold all that is needed; if they do not, it is damaged.
    /// - Parameter rows: of the table, where they have not been copied.
    mutating func read(rows: () throws -> [(group: GroupID, header: EntryHeader, row: Int64)]) throws -> (
        home: SegmentHome, logs: [GroupID: GroupEntries]
    )? {
        let found = (used: used, repairs: repairs)
        do { return try readUsed(rows: rows) } catch let damage as LogDamage where found.used.count > 1 {
            used.removeFirst()
            repairs = found.repairs
            do { return try readUsed(rows: rows) } catch is LogDamage { throw damage }
        }
    }

    private mutating func readUsed(rows: () throws -> [(group: GroupID, header: EntryHeader, row: Int64)]) throws -> (
        home: SegmentHome, logs: [GroupID: GroupEntries]
    )? {
        guard let first = used.first?.segment else { return nil }
        let rows = first == 1 ? try rows() : []
        // Also of those that are not read any more: what a head names may have been in them.
        let bytes = try files.reduce(0) { $0 + (try $1.file.size()) }
        let replay = LogReplay(entriesMax: rows.count + bytes / SegmentRecord.entryHeaderBytes)
        var segments: [Segment] = []
        var opened = OpenedSegments()
        var sequence = firsts[first] ?? 0
        // The memory of those that are not kept is used again: new memory costs as much as reading.
        var memory: [UInt8] = []
        var bytesLeft = try used.reduce(0) { $0 + (try $1.file.size()) }
        for (place, file) in used.enumerated() {
            let next = place + 1 < used.count ? used[place + 1].segment : nil
            let segment = try read(
                file, into: &memory, sequence: &sequence, end: next.flatMap { firsts[$0] }, replay,
                rows: place == 0 ? rows : [])
            if bytesLeft <= configuration.openedBytesMax {
                opened.keep(segment.number, memory[..<segment.used])
                memory = []
            }
            bytesLeft -= try file.file.size()
            segments.append(segment)
        }
        let logs = try replay.logs()
        let isUsed = Set(used.map(\.number))
        // Those that never held one first.
        let free = files.filter { !isUsed.contains($0.number) }.sorted { ($0.segment ?? 0) < ($1.segment ?? 0) }
        let home = try SegmentHome(
            configuration, store: store, table: table, logs: logs, segments: segments, free: free, opened: opened,
            sequence: sequence)
        return (home, logs)
    }

    /// - Parameters:
    ///   - all: becomes the content of the file.
    ///   - end: the number of the next segment's first record; nil: this is the last one.
    private mutating func read(
        _ file: SegmentFile, into all: inout [UInt8], sequence: inout UInt64, end: UInt64?, _ replay: LogReplay,
        rows: [(group: GroupID, header: EntryHeader, row: Int64)]
    ) throws -> Segment {
        guard let number = file.segment, firsts[number] == sequence else {
            throw LogDamage("segment \(file.segment ?? 0) does not begin where the one before it ends")
        }
        if try all.count != file.file.size() || !file.file.readAll(into: &all, at: 0) { all = try bytes(file) }
        var (offset, last) = (0, 0)
        try all.withUnsafeBytes { bytes in
            while sequence != end {
                guard let header = SegmentRecord.Header(bytes, at: offset, store: store), header.segment == number,
                    header.sequence == sequence, let blocks = header.blocks(bytes, at: offset)
                else { break }
                try replay.apply(blocks, segment: number, start: offset, isFirst: offset == 0, table: rows)
                last = offset
                offset += SegmentRecord.headerBytes + header.length
                sequence += 1
            }
        }
        if let end {
            guard sequence == end else {
                throw LogDamage("the record at \(offset) of segment \(number) does not match its checksum")
            }
        } else {
            guard !isThere(all, from: offset, segment: number, after: sequence) else {
                throw LogDamage(
                    "the record at \(offset) of segment \(number) does not match its checksum, and others follow it")
            }
            // The process before this one may have ended because a sync failed; then what was read is not certainly on
            // the disk (see `FileSystem.rewrite`). All before it was synced before it was written.
            repairs.append((file, Array(all[last..<offset]), last))
        }
        return Segment(number: number, file: file, used: offset)
    }

    /// Nothing speaks against the log: it is going to be used. A log that is refused is left as it is.
    func settle() throws {
        for repair in repairs {
            try repair.file.file.write(repair.bytes, at: repair.offset)
            try repair.file.file.sync()
        }
    }

    /// The home of a log that has no segment yet.
    func home(logs: [GroupID: GroupEntries]) throws -> SegmentHome {
        try SegmentHome(configuration, store: store, table: table, logs: logs, free: files)
    }
}
