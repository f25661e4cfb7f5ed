import SQLite

/// The payloads of a day's blocks, one after the other, in a file beside the day's database. There each is written once: in the
/// database its pages would go to the write-ahead log first, with a head of its own each, and then to the file.
///
/// The database says which bytes belong to which block, and how far the file goes: bytes that a failed transaction has left
/// behind that are written over, or cleared. Nothing else is, but for a block that is taken away: by zeros.
final class PayloadFile {
    /// The payloads of one block.
    struct Place: Sendable, Hashable {
        var offset: Int64
        var count: Int
        /// CRC-32C.
        var checksum: UInt32
    }

    static let suffix = "-payloads"

    private static let zerosAtOnce: Int64 = 64 << 10

    private let path: String
    private let vfs: String?
    private let isReadOnly: Bool
    /// Opened when it is needed first: a quiet room's day has no such file.
    private var opened: PlainFile?
    /// How far it has been written since it was opened.
    private(set) var writtenEnd: Int64 = 0

    init(beside database: Database, vfs: String?, readOnly: Bool = false) {
        path = database.path + Self.suffix
        self.vfs = vfs
        isReadOnly = readOnly
    }

    private func file() throws(SQLiteError) -> PlainFile {
        if let opened { return opened }
        let file = try PlainFile(path: path, vfs: vfs, readOnly: isReadOnly)
        opened = file
        return file
    }

    /// The bytes as they were written; nil when they are not there, or are others.
    func find(_ place: Place) throws(SQLiteError) -> [UInt8]? {
        // Nothing is allocated for what is not there.
        guard place.offset >= 0, try size() - place.offset >= Int64(place.count),
            let bytes = try file().readAll(place.count, at: Int(place.offset)),
            CRC32C.of(bytes) == place.checksum
        else { return nil }
        return bytes
    }

    /// The same. Throws `.corrupt` when they are not there, or are others.
    func read(_ place: Place) throws(SQLiteError) -> [UInt8] {
        if isReadOnly, opened == nil, !FileSystem.exists(path) { throw Self.damage(path) }
        guard let bytes = try find(place) else { throw Self.damage(path) }
        return bytes
    }

    private static func damage(_ path: String) -> SQLiteError {
        SQLiteError(code: .corrupt, message: "\(path) has not the payloads of a block of history")
    }

    /// Writes bytes, which are durable with the next `sync`.
    func write(_ bytes: [UInt8], at offset: Int64) throws(SQLiteError) {
        writtenEnd = max(writtenEnd, offset + Int64(bytes.count))
        try file().write(bytes, at: Int(offset))
    }

    var isThere: Bool { opened != nil || FileSystem.exists(path) }

    func size() throws(SQLiteError) -> Int64 { Int64(try file().size()) }

    /// Writes zeros from a place to the end, where there is anything else.
    ///
    /// - Returns: whether there was.
    func clear(from offset: Int64) throws(SQLiteError) -> Bool {
        let end = try size()
        var hasWritten = false
        for start in stride(from: offset, to: end, by: Int(Self.zerosAtOnce)) {
            let piece = start..<min(end, start + Self.zerosAtOnce)
            guard try file().readAll(piece.count, at: Int(start))?.contains(where: { $0 != 0 }) ?? false else {
                continue
            }
            try zero(piece)
            hasWritten = true
        }
        writtenEnd = min(writtenEnd, offset)
        return hasWritten
    }

    /// Writes zeros over a part.
    func zero(_ range: Range<Int64>) throws(SQLiteError) {
        let zeros = [UInt8](repeating: 0, count: Int(min(Self.zerosAtOnce, Int64(range.count))))
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(Self.zerosAtOnce)) {
            let count = Int(min(Self.zerosAtOnce, range.upperBound - start))
            try write(count == zeros.count ? zeros : [UInt8](zeros.prefix(count)), at: start)
        }
    }

    func sync() throws(SQLiteError) { try file().sync() }

    func close() {
        opened?.close()
        opened = nil
    }
}
