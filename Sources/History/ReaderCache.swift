import SQLite

/// The files that one reader thread has open: the ones used last, at most a fixed number.
final class ReaderCache {
    struct Key: Hashable {
        /// `ShardStorage`'s own number.
        var storage: UInt64
        var file: HistoryFile
    }

    /// Two days of each of 16 shards and some older ones. Each costs at most 256 KiB of cache and four descriptors.
    private static let filesMax = 48

    private var files: [Key: (reader: DayReader, used: UInt64)] = [:]
    private var uses: UInt64 = 0

    /// The file; nil when there is none (any more).
    func reader(_ key: Key, path: String, vfs: String?) throws(SQLiteError) -> DayReader? {
        uses += 1
        if let open = files[key] {
            files[key] = (open.reader, uses)
            return open.reader
        }
        guard FileSystem.exists(path) else { return nil }
        if files.count >= Self.filesMax, let oldest = files.min(by: { $0.value.used < $1.value.used }) {
            close(oldest.key)
        }
        let reader = try DayReader(path: path, vfs: vfs)
        files[key] = (reader, uses)
        return reader
    }

    func close(_ key: Key) {
        files.removeValue(forKey: key)?.reader.close()
    }

    func closeAll(of storage: UInt64) {
        for key in files.keys where key.storage == storage { close(key) }
    }

    func closeAll() {
        for key in files.keys { close(key) }
    }
}
