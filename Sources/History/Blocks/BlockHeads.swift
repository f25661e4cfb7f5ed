import ChatModel
import SQLite
import Wire

/// The rows of a block without their payloads, as they lie in its column `heads`.
///
/// One byte that names the format; then for each row, in the order of seqs, as varints: how far its seq, its index and its
/// time are from those of the row before (the last two may be negative: zigzag), its type (zigzag), a byte of flags, the 16
/// bytes of its command, big-endian, the length of its sender and its bytes, and the length of its payload. The first row
/// counts from 0.
struct BlockHeads: Sendable {
    struct Row: Sendable, Hashable {
        var seq: UInt64
        var index: UInt64
        var time: Timestamp
        var type: Int
        var command: CommandKey?
        /// A range of the bytes of the heads.
        var sender: Range<Int>?
        /// A range of the bytes of the payloads.
        var payload: Range<Int>
    }

    let rows: [Row]
    private let bytes: [UInt8]

    static let format: UInt8 = 1
    /// More are not in a block of any version.
    static let rowsMax = 4_096

    fileprivate struct Flags: OptionSet {
        var rawValue: UInt8

        static let hasCommand = Flags(rawValue: 1)
        static let hasSender = Flags(rawValue: 2)
        /// The sender is that of the row before, whose bytes are not repeated.
        static let hasSameSender = Flags(rawValue: 4)
    }

    /// Throws `.corrupt` unless all of it is understood.
    init(decoding bytes: [UInt8]) throws(SQLiteError) {
        guard let rows = Self.decode(bytes) else {
            throw SQLiteError(code: .corrupt, message: "the heads of a block of history can't be read")
        }
        (self.rows, self.bytes) = (rows, bytes)
    }

    /// Those of a block from one seq through another: damage does not send anybody in circles.
    init(decoding bytes: [UInt8], from first: Int64, through last: Int64) throws(SQLiteError) {
        try self.init(decoding: bytes)
        guard rows.first.map({ Int64(clamping: $0.seq) }) == first, rows.last.map({ Int64(clamping: $0.seq) }) == last
        else { throw SQLiteError(code: .corrupt, message: "a block of history has other rows than it says") }
    }

    func sender(of row: Row) -> String? { row.sender.map { String(decoding: bytes[$0], as: UTF8.self) } }

    /// The place of the first row with that seq or a later one.
    func place(of seq: UInt64) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = low + (high - low) / 2
            if rows[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The place of the row with exactly that seq.
    func number(of seq: UInt64) -> Int? {
        let place = place(of: seq)
        return place < rows.count && rows[place].seq == seq ? place : nil
    }

    /// Whether a row is here as it is, or as a later entry made it. One entry makes a row always the same.
    func hasAlready(_ row: PackedRow) -> Bool {
        guard let number = number(of: row.head.seq) else { return false }
        return rows[number].index >= row.head.index && row.head.flags.isDisjoint(with: .keepsOut)
            && (rows[number].command != nil || !row.head.flags.contains(.hasCommand))
    }

    private static func decode(_ bytes: [UInt8]) -> [Row]? {
        bytes.withUnsafeBytes { all in
            var reader = HeadReader(all)
            guard reader.byte() == format else { return nil }
            var rows: [Row] = []
            var (seq, index, time, payloadEnd) = (UInt64(0), Int64(0), Int64(0), 0)
            var sender: Range<Int>?
            while !reader.isAtEnd {
                guard let seqStep = reader.varint(), let indexStep = reader.zigzag(), let timeStep = reader.zigzag(),
                    let type = reader.zigzag(), let flags = reader.byte().map(Flags.init), rows.count < rowsMax,
                    rows.isEmpty || seqStep > 0
                else { return nil }
                let (nextSeq, isTooFar) = seq.addingReportingOverflow(seqStep)
                guard !isTooFar, nextSeq <= UInt64(Int64.max) else { return nil }
                (seq, index, time) = (nextSeq, index &+ indexStep, time &+ timeStep)
                var command: CommandKey?
                if flags.contains(.hasCommand) {
                    guard let high = reader.word(), let low = reader.word() else { return nil }
                    command = CommandKey(high: high, low: low)
                }
                if flags.contains(.hasSender) {
                    guard let range = reader.range() else { return nil }
                    sender = range
                } else if flags.contains(.hasSameSender) {
                    guard sender != nil else { return nil }
                } else {
                    sender = nil
                }
                guard let length = reader.varint(), length <= UInt64(Int32.max) else { return nil }
                let payload = payloadEnd..<payloadEnd + Int(length)
                payloadEnd = payload.upperBound
                rows.append(
                    Row(
                        seq: seq, index: UInt64(bitPattern: index), time: Timestamp(time), type: Int(type),
                        command: command, sender: sender, payload: payload))
            }
            return rows.isEmpty ? nil : rows
        }
    }
}

/// Makes a block of rows that are given in the order of their seqs.
struct BlockBuilder {
    private(set) var heads: [UInt8] = [BlockHeads.format]
    private(set) var payloads: [UInt8] = []
    private(set) var count = 0
    private(set) var (first, last) = (UInt64(0), UInt64(0))
    private var (index, time) = (Int64(0), Int64(0))
    private var sender: Range<Int>?

    /// Rows that one read has to look at, and bytes that it has to read for one of them.
    private static let (rowsMax, payloadBytesMax) = (64, 32 << 10)

    /// The seqs of rows that may share blocks; nil when these may not: messages as they were said, in the order of their seqs.
    static func seqs(of places: [Int], in bytes: UnsafeRawBufferPointer) -> ClosedRange<UInt64>? {
        var seqs: ClosedRange<UInt64>?
        for place in places {
            let head = PackedRow(bytes, at: place).head
            guard head.flags.isDisjoint(with: .keepsOut), head.seq <= UInt64(Int64.max),
                head.seq > seqs?.upperBound ?? 0 || seqs == nil
            else { return nil }
            seqs = (seqs?.lowerBound ?? head.seq)...head.seq
        }
        return seqs
    }

    /// Whether there is room for one more.
    func fits(_ row: PackedRow) -> Bool {
        count < Self.rowsMax && (count == 0 || payloads.count + row.payload.count <= Self.payloadBytesMax)
    }

    mutating func append(_ row: PackedRow) {
        let head = row.head
        if count == 0 { first = head.seq }
        let newIndex = Int64(bitPattern: head.index)
        putVarint(head.seq &- last)
        putZigzag(newIndex &- index)
        putZigzag(head.time &- time)
        putZigzag(head.type)
        (last, index, time) = (head.seq, newIndex, head.time)
        count += 1
        let name = row.sender
        let isSame = sender.map { heads[$0].elementsEqual(name) } ?? false
        var flags: BlockHeads.Flags = head.flags.contains(.hasCommand) ? .hasCommand : []
        if head.flags.contains(.hasSender) { flags.insert(isSame ? .hasSameSender : .hasSender) }
        heads.append(flags.rawValue)
        if head.flags.contains(.hasCommand) {
            putWord(head.commandHigh)
            putWord(head.commandLow)
        }
        if !head.flags.contains(.hasSender) {
            sender = nil
        } else if !isSame {
            putVarint(UInt64(name.count))
            sender = heads.count..<heads.count + name.count
            heads.append(contentsOf: name)
        }
        putVarint(UInt64(row.payload.count))
        payloads.append(contentsOf: row.payload)
    }

    private mutating func putVarint(_ value: UInt64) { Varint.append(value, to: &heads) }

    private mutating func putZigzag(_ value: Int64) { putVarint(UInt64(bitPattern: value << 1 ^ value >> 63)) }

    private mutating func putWord(_ value: UInt64) {
        withUnsafeBytes(of: value.bigEndian) { heads.append(contentsOf: $0) }
    }
}

/// Reads what a `BlockBuilder` wrote, and nothing beyond its end.
private struct HeadReader {
    private let all: UnsafeRawBufferPointer
    private var place = 0

    init(_ all: UnsafeRawBufferPointer) { self.all = all }

    var isAtEnd: Bool { place == all.count }

    mutating func byte() -> UInt8? {
        guard place < all.count else { return nil }
        defer { place += 1 }
        return all[place]
    }

    mutating func varint() -> UInt64? { Varint.read(all, at: &place) }

    mutating func zigzag() -> Int64? {
        varint().map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
    }

    mutating func word() -> UInt64? {
        guard all.count - place >= 8 else { return nil }
        defer { place += 8 }
        return UInt64(bigEndian: all.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    /// A length and so many bytes.
    mutating func range() -> Range<Int>? {
        guard let length = varint(), length <= UInt64(all.count - place) else { return nil }
        let range = place..<place + Int(length)
        place = range.upperBound
        return range
    }
}
