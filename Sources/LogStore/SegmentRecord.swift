import Consensus
import SQLite

/// The bytes of one transaction in a segment, as they are written: a header, then blocks.
///
/// | bytes | header |
/// |---|---|
/// | 8 | the store |
/// | 8 | the number of the transaction, one more than that of the one before, also over the ends of segments |
/// | 4 | the number of the segment |
/// | 4 | the length of the blocks, a multiple of 8 |
/// | 4 | the checksum of the blocks |
/// | 4 | the checksum of the 28 bytes above |
///
/// All numbers are little-endian. The blocks are padded with zeros. So a record that was left by an earlier use of the
/// file, or by another store, is none of this segment.
struct SegmentRecord {
    static let headerBytes = 32
    /// Records begin at multiples of it.
    static let alignment = 8

    /// The kinds of blocks.
    enum Block: UInt8 {
        case padding = 0
        /// The groups as they are before this transaction: the first block of a segment's first record.
        case head = 1
        /// The changes of the transaction to one group.
        case change = 2
        /// Entries that are copied from older places.
        case moved = 3
    }

    /// Parts of a change.
    struct Parts: OptionSet {
        var rawValue: UInt8
        static let state = Parts(rawValue: 1)
        /// Entries behind an index are gone.
        static let cut = Parts(rawValue: 2)
        /// All entries are gone, and the log goes on behind an index.
        static let reset = Parts(rawValue: 4)
        static let all: Parts = [.state, .cut, .reset]
    }

    /// Bytes of an entry before its payload: index, term, kind, length, checksum.
    static let entryHeaderBytes = 25

    private(set) var bytes = [UInt8](repeating: 0, count: headerBytes)

    /// It has no block.
    var isEmpty: Bool { bytes.count == Self.headerBytes }

    /// Begins another record, in the same memory.
    mutating func reset() {
        let isLarge = bytes.capacity > 1 << 20
        bytes.removeAll(keepingCapacity: !isLarge)
        bytes.append(contentsOf: repeatElement(0, count: Self.headerBytes))
    }

    // MARK: - Blocks

    mutating func appendHead(oldest: UInt32, _ logs: [GroupID: GroupEntries]) {
        let known = logs.filter { !$0.value.isNew }
        bytes.append(Block.head.rawValue)
        append(oldest)
        append(UInt32(known.count))
        for (group, log) in known.sorted(by: { $0.key < $1.key }) {
            append(group.number)
            append(log.lastIndex)
            append(log.state)
        }
    }

    /// - Returns: where the entries are, for a record that begins at `start` of the segment.
    mutating func append(
        _ change: GroupChange, of group: GroupID, segment: UInt32, start: Int
    ) -> [EntryPlace] {
        var parts: Parts = []
        if change.isStateChanged || change.isNew { parts.insert(.state) }
        if change.isReset { parts.insert(.reset) } else if change.isCut { parts.insert(.cut) }
        bytes.append(Block.change.rawValue)
        append(group.number)
        bytes.append(parts.rawValue)
        if parts.contains(.state) { append(change.state) }
        if parts.contains(.reset) || parts.contains(.cut) { append(change.keptThrough) }
        append(UInt32(change.entries.count))
        return change.entries.map { append($0, of: group, segment: segment, start: start) }
    }

    /// - Returns: as above.
    mutating func append(moved entries: [Entry], of group: GroupID, segment: UInt32, start: Int) -> [EntryPlace] {
        bytes.append(Block.moved.rawValue)
        append(group.number)
        append(UInt32(entries.count))
        return entries.map { append($0, of: group, segment: segment, start: start) }
    }

    private mutating func append(_ entry: Entry, of group: GroupID, segment: UInt32, start: Int) -> EntryPlace {
        let place = EntryPlace(
            segment: segment, length: Self.entryHeaderBytes + entry.payload.count, start: start + bytes.count)
        let checksum = entry.payload.withUnsafeBytes {
            CRC32C.ofEntry(
                group: group.number, index: entry.index, term: entry.term, kind: entry.kind.rawValue, payload: $0)
        }
        append(entry.index)
        append(entry.term)
        bytes.append(entry.kind.rawValue)
        append(UInt32(entry.payload.count))
        append(checksum)
        bytes += entry.payload
        return place
    }

    private mutating func append(_ state: GroupState) {
        let encoded = state.encoded()
        append(UInt32(encoded.count))
        bytes += encoded
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    // MARK: - The header

    /// Ends the record.
    mutating func seal(store: UInt64, segment: UInt32, sequence: UInt64) {
        let rest = bytes.count % Self.alignment
        if rest > 0 { bytes.append(contentsOf: repeatElement(0, count: Self.alignment - rest)) }
        let length = UInt32(bytes.count - Self.headerBytes)
        bytes.withUnsafeMutableBytes { all in
            var checksum = CRC32C()
            checksum.update(UnsafeRawBufferPointer(rebasing: all[Self.headerBytes...]))
            all.storeBytes(of: store.littleEndian, toByteOffset: 0, as: UInt64.self)
            all.storeBytes(of: sequence.littleEndian, toByteOffset: 8, as: UInt64.self)
            all.storeBytes(of: segment.littleEndian, toByteOffset: 16, as: UInt32.self)
            all.storeBytes(of: length.littleEndian, toByteOffset: 20, as: UInt32.self)
            all.storeBytes(of: checksum.value.littleEndian, toByteOffset: 24, as: UInt32.self)
            let own = Header.checksum(of: UnsafeRawBufferPointer(rebasing: all[..<28]))
            all.storeBytes(of: own.littleEndian, toByteOffset: 28, as: UInt32.self)
        }
    }

    struct Header: Equatable {
        var sequence: UInt64
        var segment: UInt32
        var length: Int
        var checksum: UInt32

        /// Nil for anything that is no header of this store.
        init?(_ bytes: UnsafeRawBufferPointer, at offset: Int, store: UInt64) {
            guard offset >= 0, bytes.count - offset >= headerBytes,
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) == store
            else { return nil }
            func short(_ place: Int) -> UInt32 {
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + place, as: UInt32.self))
            }
            let own = Self.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 28]))
            guard short(28) == own else { return nil }
            sequence = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
            segment = short(16)
            length = Int(short(20))
            checksum = short(24)
        }

        fileprivate static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
            var checksum = CRC32C()
            checksum.update(bytes)
            return checksum.value
        }

        /// The blocks of the record at `offset`; nil when they are not what was written.
        func blocks(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UnsafeRawBufferPointer? {
            let start = offset + headerBytes
            guard length <= bytes.count - start, length % alignment == 0 else { return nil }
            let blocks = UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
            return Self.checksum(of: blocks) == checksum ? blocks : nil
        }
    }

    /// The entry at a place, from the bytes there; nil when they are not what was written.
    static func entry(_ bytes: [UInt8], of group: GroupID) -> Entry? {
        bytes.withUnsafeBytes { entry($0, of: group) }
    }

    static func entry(_ bytes: UnsafeRawBufferPointer, of group: GroupID) -> Entry? {
        var reader = SegmentReader(bytes)
        guard let found = reader.entry(of: group), reader.isAtEnd else { return nil }
        return Entry(index: found.index, term: found.term, kind: found.kind, payload: Array(found.payload))
    }
}
