import Glibc

/// The few file operations around databases, with errors as values of this target.
public enum FileSystem {
    public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The length of a file in bytes; nil when there is none.
    public static func size(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Makes a directory (mode 0700) and those above it. Nothing happens when it is there.
    public static func makeDirectory(_ path: String) throws(SQLiteError) {
        guard !exists(path) else { return }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeDirectory(String(path[..<slash]))
        }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure(path) }
    }

    /// The names in a directory, sorted.
    public static func names(in directory: String) throws(SQLiteError) -> [String] {
        guard let stream = opendir(directory) else { throw failure(directory) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    public static func remove(_ path: String) throws(SQLiteError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure(path) }
    }

    /// The contents of a file; nil when there is none. Refuses more than `bytesMax`.
    public static func read(_ path: String, bytesMax: Int) throws(SQLiteError) -> [UInt8]? {
        var bytes: [UInt8] = []
        let isThere = try readPieces(path) { piece in
            bytes += piece
            return bytes.count <= bytesMax
        }
        guard bytes.count <= bytesMax else {
            throw SQLiteError(code: .io, message: "\(path): longer than \(bytesMax) bytes")
        }
        return isThere ? bytes : nil
    }

    /// Reads a file from its beginning in pieces of at most 64 KiB, until `body` returns false. False when there is no
    /// file.
    @discardableResult
    public static func readPieces(_ path: String, _ body: (ArraySlice<UInt8>) -> Bool) throws(SQLiteError) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return false }
            throw failure(path)
        }
        defer { Glibc.close(file) }
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            guard count > 0, body(piece[..<count]) else { return true }
        }
    }

    /// Replaces a file so that, whenever the power is cut, either the old or the new contents are there; when this
    /// returns, the new ones.
    public static func replace(
        _ path: String, with bytes: [UInt8], by files: any FileSteps = SystemFiles()
    ) throws(SQLiteError) {
        let temporary = path + ".new"
        try files.write(bytes, to: temporary)
        try files.rename(temporary, to: path)
        try files.syncDirectory(of: path)
    }

    /// Makes a file, or empties it, writes the bytes and syncs it.
    static func write(_ bytes: [UInt8], to path: String, isSynced: Bool = true) throws(SQLiteError) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(path) }
        var isWritten = writeAll(bytes[...], to: file)
        if isWritten, isSynced, fsync(file) != 0 { isWritten = false }
        let reason = errno
        Glibc.close(file)
        guard isWritten else { throw failure(path, reason) }
    }

    /// Gives a file another name, in the place of what has it. Durable after `syncDirectory`.
    public static func rename(_ path: String, to newPath: String) throws(SQLiteError) {
        guard Glibc.rename(path, newPath) == 0 else { throw failure(path) }
    }

    /// Makes names that were added to, or removed from, the directory of `path` durable.
    public static func syncDirectory(of path: String) throws(SQLiteError) {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard file >= 0 else { throw failure(directory) }
        defer { Glibc.close(file) }
        guard fsync(file) == 0 else { throw failure(directory, sync: true) }
    }

    /// Writes a file's bytes over themselves and syncs it.
    ///
    /// After a failed sync, Linux keeps showing what never reached the disk, and the next sync says that all is well
    /// (https://lwn.net/Articles/752063). A process that starts again and finds a write-ahead log cannot know whether
    /// that happened to it; so it makes the log's pages dirty again before relying on them.
    public static func rewrite(_ path: String) throws(SQLiteError) {
        let file = open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return }
            throw failure(path)
        }
        defer { Glibc.close(file) }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        var offset = 0
        while true {
            let count = pread(file, &chunk, chunk.count, offset)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            if count == 0 { break }
            guard lseek(file, offset, SEEK_SET) == offset, writeAll(chunk[..<count], to: file) else {
                throw failure(path)
            }
            offset += count
        }
        if offset > 0, fsync(file) != 0 { throw failure(path, sync: true) }
    }

    private static func writeAll(_ bytes: ArraySlice<UInt8>, to file: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func failure(_ path: String, _ reason: Int32 = errno, sync: Bool = false) -> SQLiteError {
        let code: SQLiteError.Code =
            switch reason {
            case ENOSPC, EDQUOT: .full
            case ENOENT, EACCES, EPERM, EROFS: .cannotOpen
            default: sync ? .syncFailed : .io
            }
        return SQLiteError(code: code, message: "\(path): \(String(cString: strerror(reason)))")
    }
}
