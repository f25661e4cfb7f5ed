import Consensus
import SQLite

/// Reads the blocks of a record. Every read is nil when the bytes do not hold what is asked for.
struct SegmentReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { offset == bytes.count }

    /// Whether only zeros follow.
    var isPadding: Bool { bytes[offset...].allSatisfy { $0 == 0 } }

    mutating func byte() -> UInt8? {
        guard offset < bytes.count else { return nil }
        defer { offset += 1 }
        return bytes[offset]
    }

    mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        let size = MemoryLayout<Number>.size
        guard bytes.count - offset >= size else { return nil }
        defer { offset += size }
        return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    mutating func group() -> GroupID? { number(UInt16.self).map { GroupID($0) } }

    mutating func state() -> GroupState? {
        number(UInt32.self).flatMap { take(Int($0)) }.flatMap { GroupState(encoded: Array($0)) }
    }

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    struct FoundEntry {
        var index: UInt64
        var term: UInt64
        var kind: Entry.Kind
        var payload: UnsafeRawBufferPointer
    }

    /// An entry that matches its checksum.
    mutating func entry(of group: GroupID) -> FoundEntry? {
        guard let index = number(UInt64.self), let term = number(UInt64.self), let raw = byte(),
            let kind = Entry.Kind(rawValue: raw), let length = number(UInt32.self), let checksum = number(UInt32.self),
            let payload = take(Int(length)),
            CRC32C.ofEntry(group: group.number, index: index, term: term, kind: raw, payload: payload) == checksum
        else { return nil }
        return FoundEntry(index: index, term: term, kind: kind, payload: payload)
    }
}
