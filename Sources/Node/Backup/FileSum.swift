import SQLite

/// The size and the checksum of a file, as a `backup.json` notes them: `40960 1d2f3a4b`, the bytes and CRC-32C in
/// hexadecimal digits. It is one short text because there may be a million files. It is against damage, not against
/// people.
struct FileSum: Sendable, Hashable {
    var bytes: Int64
    var checksum: UInt32

    /// Reads a file in pieces; nil when there is none. Blocks.
    static func read(_ path: String) throws(SQLiteError) -> FileSum? {
        var checksum = CRC32C()
        var bytes: Int64 = 0
        let isThere = try FileSystem.readPieces(path) { piece in
            piece.withUnsafeBytes { checksum.update($0) }
            bytes += Int64(piece.count)
            return true
        }
        return isThere ? FileSum(bytes: bytes, checksum: checksum.value) : nil
    }

    private static let digitCount = 8

    private var digits: String {
        let digits = String(checksum, radix: 16)
        return String(repeating: "0", count: Self.digitCount - digits.utf8.count) + digits
    }
}

extension FileSum: CustomStringConvertible {
    var description: String { "\(bytes) bytes with checksum \(digits)" }
}

extension FileSum: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[1].utf8.count == Self.digitCount, let bytes = Int64(words[0]),
            let checksum = UInt32(words[1], radix: 16)
        else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\"\(text)\" is not a size and a checksum")
        }
        self.init(bytes: bytes, checksum: checksum)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("\(bytes) \(digits)")
    }
}
