import CSQLite
import CShims
import Glibc

/// A file beside a database that is no database: read, written and synced by the same VFS, so that what holds for the
/// disk of one, in production and in tests, holds for the other. It belongs to one thread at a time.
public final class PlainFile {
    public let path: String
    /// Whether the VFS is the operating system's own.
    let isSystems: Bool
    /// Whether the file's name is on the disk.
    private(set) var isNamed = false
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let file: UnsafeMutablePointer<sqlite3_file>
    /// The VFS keeps the address of the name.
    private let name: UnsafeMutablePointer<CChar>
    private var isOpen = true

    /// Opens the file, and makes it when it is not there. The first `sync` makes its name durable too.
    ///
    /// - Parameter readOnly: the file must be there, and is not written.
    public init(path: String, vfs vfsName: String?, readOnly: Bool = false) throws(SQLiteError) {
        self.path = path
        isSystems = vfsName == nil
        vfs = try Self.find(vfsName)
        name = Self.name(path)
        let bytes = max(Int(vfs.pointee.szOsFile), MemoryLayout<sqlite3_file>.size)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        file = memory.assumingMemoryBound(to: sqlite3_file.self)
        // A journal's flags: nobody else opens it, so the VFS takes no lock; and its directory is synced with it.
        let access = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let flags = access | SQLITE_OPEN_WAL
        let result = vfs.pointee.xOpen(vfs, name, file, flags, nil)
        guard result == SQLITE_OK, file.pointee.pMethods != nil else {
            close()
            throw SQLiteError(
                result: result == SQLITE_OK ? SQLITE_CANTOPEN : result, message: "\(path): can't be opened")
        }
    }

    deinit { close() }

    public func close() {
        guard isOpen else { return }
        isOpen = false
        if let methods = file.pointee.pMethods { _ = methods.pointee.xClose(file) }
        UnsafeMutableRawPointer(file).deallocate()
        name.deallocate()
    }

    private static func find(_ name: String?) throws(SQLiteError) -> UnsafeMutablePointer<sqlite3_vfs> {
        guard let vfs = sqlite3_vfs_find(name) else {
            throw SQLiteError(code: .cannotOpen, message: "there is no VFS \(name ?? "")")
        }
        return vfs
    }

    /// SQLite's own names have zeros around them, behind which a VFS may look for parameters.
    private static func name(_ path: String) -> UnsafeMutablePointer<CChar> {
        let utf8 = Array(path.utf8)
        let name = UnsafeMutablePointer<CChar>.allocate(capacity: utf8.count + 8)
        name.initialize(repeating: 0, count: utf8.count + 8)
        for (place, byte) in utf8.enumerated() { name[place] = CChar(bitPattern: byte) }
        return name
    }

    private var methods: UnsafePointer<sqlite3_io_methods> {
        guard isOpen, let methods = file.pointee.pMethods else { preconditionFailure("\(path) is closed") }
        return methods
    }

    /// SQLite's VFS takes less than 128 KiB in one call, because no page is longer.
    private static let pieceBytes = 64 << 10

    private func check(_ result: Int32, _ what: String) throws(SQLiteError) {
        guard result == SQLITE_OK else { throw SQLiteError(result: result, message: "\(path): can't be \(what)") }
    }

    public func size() throws(SQLiteError) -> Int {
        var size: sqlite3_int64 = 0
        try check(methods.pointee.xFileSize(file, &size), "measured")
        return Int(size)
    }

    /// Reads bytes from `offset` on; fewer where the file ends before.
    public func read(_ count: Int, at offset: Int) throws(SQLiteError) -> [UInt8] {
        let count = min(count, max(0, try size() - offset))
        guard count > 0 else { return [] }
        return try readAll(count, at: offset) ?? []
    }

    /// Reads exactly so many bytes; nil when the file ends before.
    public func readAll(_ count: Int, at offset: Int) throws(SQLiteError) -> [UInt8]? {
        var result = SQLITE_OK
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            result = fill(
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]), at: offset)
            initialized = count
        }
        return try isWhole(result) ? bytes : nil
    }

    /// The same into memory that is there already.
    /// - Returns: false when the file ends before; the bytes mean nothing then.
    public func readAll(into bytes: inout [UInt8], at offset: Int) throws(SQLiteError) -> Bool {
        try isWhole(bytes.withUnsafeMutableBytes { fill($0, at: offset) })
    }

    private func fill(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        guard let base = bytes.baseAddress else { return SQLITE_OK }
        for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
            let length = Int32(min(Self.pieceBytes, bytes.count - start))
            let result = methods.pointee.xRead(file, base + start, length, Int64(offset + start))
            if result != SQLITE_OK { return result }
        }
        return SQLITE_OK
    }

    /// False: the file ends before.
    private func isWhole(_ result: Int32) throws(SQLiteError) -> Bool {
        if result == SQLITE_IOERR | (2 << 8) { return false }
        try check(result, "read")
        return true
    }

    /// Writes bytes, which are durable with the next `sync`.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SQLiteError) {
        for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
            let piece = UnsafeRawBufferPointer(
                rebasing: bytes[start..<min(bytes.count, start + Self.pieceBytes)])
            let place = Int64(offset + start)
            try check(methods.pointee.xWrite(file, piece.baseAddress, Int32(piece.count), place), "written")
        }
    }

    public func write(_ bytes: [UInt8], at offset: Int) throws(SQLiteError) {
        let result: Result<Void, SQLiteError> = bytes.withUnsafeBytes { bytes in
            do throws(SQLiteError) { return .success(try write(bytes, at: offset)) } catch { return .failure(error) }
        }
        try result.get()
    }

    /// All writes are on the disk when this returns, and so is the file's name.
    public func sync() throws(SQLiteError) {
        try check(methods.pointee.xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY), "synced")
        isNamed = true
    }

    /// Takes space for so many bytes in all, so that later writes change nothing but the bytes: a sync of those is
    /// cheaper than one of a file that grows. Only a hint: it may take nothing.
    ///
    /// - Returns: whether it has taken all of it.
    public func reserve(_ size: Int) -> Bool {
        // By a handle of its own: the VFS has no call for it that does not write into every block.
        let handle = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard handle >= 0 else { return false }
        defer { Glibc.close(handle) }
        return posix_fallocate(handle, 0, size) == 0
    }

    /// Writes zeros where nobody has written yet, and has the system begin to bring them to the disk: a sync of bytes that
    /// are written over others changes nothing about the file, and that of bytes written into reserved space does.
    /// Nothing waits for the disk, and nothing is durable by it. Only a hint: it may write nothing.
    ///
    /// - Parameter range: in front of no byte that has been written.
    /// - Returns: whether it has written all of them.
    public func fillWithZeros(_ range: Range<Int>) -> Bool {
        let handle = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard handle >= 0 else { return false }
        defer { Glibc.close(handle) }
        let zeros = [UInt8](repeating: 0, count: min(range.count, Self.pieceBytes))
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.pieceBytes) {
            let count = min(Self.pieceBytes, range.upperBound - start)
            guard Glibc.pwrite(handle, zeros, count, off_t(start)) == count else { return false }
        }
        _ = chatroom_begin_writing(handle, Int64(range.lowerBound), Int64(range.count))
        return true
    }

    /// Removes a file that nobody has open; durable when this returns. Nothing happens when it is not there.
    public static func remove(_ path: String, vfs vfsName: String?) throws(SQLiteError) {
        let vfs = try find(vfsName)
        let name = name(path)
        defer { name.deallocate() }
        let result = vfs.pointee.xDelete(vfs, name, 1)
        // There was none.
        guard result != SQLITE_OK, result != SQLITE_IOERR | (23 << 8) else { return }
        throw SQLiteError(result: result, message: "\(path): can't be removed")
    }
}
