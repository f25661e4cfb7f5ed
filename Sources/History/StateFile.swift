import SQLite

/// A state that is small enough to be kept as one value: replaced as a whole, and read once, at start.
///
/// Whenever the power is cut, either the old or the new value is there. A checksum tells a damaged file from both.
public final class StateFile: Sendable {
    private let path: String
    private let thread = StorageThread("state file")

    private init(path: String) { self.path = path }

    /// "CRst", then the version.
    private static let head: [UInt8] = Array("CRst".utf8) + [version]
    /// The version of the form below, and of the values that are kept so.
    private static let version: UInt8 = 2
    private static let checksumBytes = 8
    private static let bytesMax = 256 << 20

    /// Makes the directory if it is missing and reads the value; nil when there is none yet. Blocks: at start only.
    /// Throws `.corrupt` for a damaged file and `.unsupported` for one of another version.
    public static func open(path: String) throws -> (file: StateFile, value: [UInt8]?) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        try FileSystem.makeDirectory(String(path[..<slash]))
        guard let bytes = try FileSystem.read(path, bytesMax: bytesMax) else { return (StateFile(path: path), nil) }
        guard bytes.count >= head.count + checksumBytes, bytes.starts(with: head.dropLast()) else {
            throw StorageError(.corrupt, "\(path) is damaged")
        }
        guard bytes.starts(with: head) else {
            throw StorageError(
                .unsupported,
                FileVersion.sentence(path, found: Int64(bytes[head.count - 1]), own: Int64(version)))
        }
        let value = Array(bytes[head.count..<(bytes.count - checksumBytes)])
        guard Array(bytes.suffix(checksumBytes)) == checksum(of: value) else {
            throw StorageError(.corrupt, "\(path) is damaged")
        }
        return (StateFile(path: path), value)
    }

    /// Puts another value in place; `make` is called on the file's thread. The completion is called there too, when the
    /// value is on disk or could not be written; never after `close`.
    public func replace(
        _ make: @escaping @Sendable () -> [UInt8], completion: @escaping @Sendable (Result<Void, SQLiteError>) -> Void
    ) {
        thread.submit { [path] _ in
            let value = make()
            do throws(SQLiteError) {
                try FileSystem.replace(path, with: Self.head + value + Self.checksum(of: value))
                completion(.success(()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Finishes what was asked for. Blocks until then.
    public func close() { thread.stop() }

    /// FNV-1a, 64 bits (RFC 9923), little-endian: against damage, not against people.
    private static func checksum(of bytes: [UInt8]) -> [UInt8] {
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        return (0..<checksumBytes).map { UInt8(truncatingIfNeeded: hash >> (8 * UInt64($0))) }
    }
}
