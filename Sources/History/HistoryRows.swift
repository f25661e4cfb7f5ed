import ChatModel

/// Rows of history, one behind the other in one array of bytes. Rows wait for seconds to be written; as objects, each would
/// be several places in memory that no cache has any more by then.
public struct HistoryRows: Sendable, Hashable {
    private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    /// With memory for so many bytes.
    init(bytes count: Int) { bytes.reserveCapacity(count) }

    public init(_ rows: some Sequence<HistoryRow>) {
        for row in rows { append(row) }
    }

    public var isEmpty: Bool { count == 0 }

    public mutating func append(_ row: HistoryRow) {
        var sender = row.sender ?? ""
        let head = RowHead(row, senderBytes: sender.utf8.count)
        bytes.reserve(
            RowHead.size + sender.utf8.count + row.payload.count + (row.copies?.count ?? 0))
        withUnsafeBytes(of: head) { bytes.append(contentsOf: $0) }
        sender.withUTF8 { bytes.append(contentsOf: $0) }
        row.payload.withUnsafeBytes { bytes.append(contentsOf: $0) }
        if let copies = row.copies { bytes.append(contentsOf: copies) }
        count += 1
    }

    mutating func append(_ rows: HistoryRows) {
        bytes.reserve(rows.bytes.count)
        bytes.append(contentsOf: rows.bytes)
        count += rows.count
    }

    /// Keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }

    var capacity: Int { bytes.capacity }

    /// The rows as values.
    public var all: [HistoryRow] {
        var all: [HistoryRow] = []
        all.reserveCapacity(count)
        bytes.withUnsafeBytes { bytes in
            forEachPlace(in: bytes) { row, _ in all.append(row.row) }
        }
        return all
    }

    /// Shows all rows in their order.
    ///
    /// - Parameter all: `bytes` in place.
    func forEachPlace(in all: UnsafeRawBufferPointer, _ visit: (_ row: PackedRow, _ place: Int) -> Void) {
        var place = 0
        while place < all.count {
            let row = PackedRow(all, at: place)
            visit(row, place)
            place += row.size
        }
    }
}

extension HistoryRows: ExpressibleByArrayLiteral {
    public init(arrayLiteral rows: HistoryRow...) { self.init(rows) }
}

/// A row as it lies in memory; nothing of this is on a disk or a wire.
struct RowHead: BitwiseCopyable {
    var incarnation: UInt64
    var seq: UInt64
    var index: UInt64
    var time: Int64
    var commandHigh: UInt64
    var commandLow: UInt64
    var type: Int64
    var senderBytes: UInt32
    var payloadBytes: UInt32
    var copiesBytes: UInt32
    var flags: Flags
    var life: UInt8

    struct Flags: OptionSet, BitwiseCopyable {
        var rawValue: UInt8

        static let hasCommand = Flags(rawValue: 1)
        static let hasSender = Flags(rawValue: 2)
        static let hasCopies = Flags(rawValue: 4)
        static let isRecalled = Flags(rawValue: 8)
        static let isAmendment = Flags(rawValue: 16)
        /// A row with one of these is in no block: it changes another, or has what blocks do not.
        static let keepsOut: Flags = [.isRecalled, .isAmendment, .hasCopies]
    }

    static let size = MemoryLayout<RowHead>.size

    init(_ row: HistoryRow, senderBytes: Int) {
        (incarnation, seq, index) = (row.incarnation.number, row.seq, row.index)
        (time, type) = (row.time.milliseconds, Int64(row.type))
        (commandHigh, commandLow) = (row.command?.high ?? 0, row.command?.low ?? 0)
        self.senderBytes = UInt32(senderBytes)
        payloadBytes = UInt32(row.payload.count)
        copiesBytes = UInt32(row.copies?.count ?? 0)
        life = row.life.rawValue
        var flags = Flags()
        if row.command != nil { flags.insert(.hasCommand) }
        if row.sender != nil { flags.insert(.hasSender) }
        if row.copies != nil { flags.insert(.hasCopies) }
        if row.recalled { flags.insert(.isRecalled) }
        if row.isAmendment { flags.insert(.isAmendment) }
        self.flags = flags
    }
}

/// One of the rows of `HistoryRows`, in place.
struct PackedRow {
    let head: RowHead
    private let rest: UnsafeRawBufferPointer

    init(_ all: UnsafeRawBufferPointer, at place: Int) {
        head = all.loadUnaligned(fromByteOffset: place, as: RowHead.self)
        rest = UnsafeRawBufferPointer(rebasing: all[(place + RowHead.size)...])
    }

    var size: Int {
        RowHead.size + Int(head.senderBytes) + Int(head.payloadBytes) + Int(head.copiesBytes)
    }

    var sender: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: rest.prefix(Int(head.senderBytes))) }

    var payload: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: rest.dropFirst(Int(head.senderBytes)).prefix(Int(head.payloadBytes)))
    }

    private var copies: UnsafeRawBufferPointer.SubSequence {
        rest.dropFirst(Int(head.senderBytes) + Int(head.payloadBytes)).prefix(Int(head.copiesBytes))
    }

    var life: HistoryLife { HistoryLife(rawValue: head.life) ?? .standard }
    var time: Timestamp { Timestamp(head.time) }
    var file: HistoryFile { HistoryFile(day: time.day, life: life) }

    /// The row as a value.
    var row: HistoryRow {
        var row = HistoryRow(
            incarnation: Incarnation(head.incarnation), seq: head.seq, index: head.index, time: time,
            type: Int(head.type),
            sender: head.flags.contains(.hasSender) ? String(decoding: sender, as: UTF8.self) : nil,
            command: head.flags.contains(.hasCommand)
                ? CommandKey(high: head.commandHigh, low: head.commandLow) : nil,
            payload: [UInt8](payload), copies: head.flags.contains(.hasCopies) ? [UInt8](copies) : nil,
            recalled: head.flags.contains(.isRecalled))
        row.isAmendment = head.flags.contains(.isAmendment)
        row.life = life
        return row
    }
}

extension [UInt8] {
    /// Room for so many bytes more, which grows by doubling.
    fileprivate mutating func reserve(_ more: Int) {
        let wanted = count + more
        if wanted > capacity { reserveCapacity(Swift.max(wanted, 2 * capacity, 512)) }
    }
}
