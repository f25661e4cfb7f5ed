import CShims
import Glibc

/// The few calls of the file system that the store makes, each with its result as the error number; 0 is success.
enum MediaFileSystem {
    static func makeDirectory(_ path: String) -> Int32 {
        mkdir(path, 0o700) == 0 || errno == EEXIST ? 0 : errno
    }

    /// Writes bytes at an offset of a file, which is made when the offset is 0.
    static func write(_ bytes: [UInt8], to path: String, at offset: Int64) -> Int32 {
        let flags = offset == 0 ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_WRONLY | O_CLOEXEC
        let file = open(path, flags, 0o600)
        guard file >= 0 else { return errno }
        defer { close(file) }
        return bytes.withUnsafeBytes { buffer -> Int32 in
            var done = 0
            while done < buffer.count {
                let count = pwrite(
                    file, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset) + off_t(done))
                if count < 0 {
                    if errno == EINTR { continue }
                    return errno
                }
                done += count
            }
            // The disk begins at once: the sync at the end of a large file would hold up those of the log, which the file system
            // orders behind it. Only a hint.
            _ = chatroom_begin_writing(file, offset, Int64(buffer.count))
            return 0
        }
    }

    /// At most `count` bytes at an offset; fewer only at the end. nil when it can't be read.
    static func read(_ path: String, at offset: Int64, count: Int) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var hasFailed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, count)) { buffer, done in
            while done < count {
                let read = pread(file, buffer.baseAddress.map { $0 + done }, count - done, off_t(offset) + off_t(done))
                if read == 0 { return }
                if read < 0 {
                    if errno == EINTR { continue }
                    hasFailed = true
                    return
                }
                done += read
            }
        }
        return hasFailed ? nil : bytes
    }

    /// Brings a file, or the names in a folder, to the disk.
    static func sync(_ path: String) -> Int32 {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return errno }
        defer { close(file) }
        return fsync(file) == 0 ? 0 : errno
    }

    /// The end of the name of a file that is still being copied.
    static let partSuffix = ".part"

    /// A file that is there already stays.
    static func copy(_ path: String, to other: String, byLink: Bool) -> Int32 {
        if byLink {
            if link(path, other) == 0 || errno == EEXIST { return 0 }
            // Another disk, or one without links.
            guard errno == EXDEV || errno == EPERM || errno == EMLINK else { return errno }
        }
        if access(other, F_OK) == 0 { return 0 }
        let beside = other + partSuffix
        let error = copyBytes(path, to: beside)
        guard error == 0, rename(beside, other) == 0 else {
            let number = error == 0 ? errno : error
            unlink(beside)
            return number
        }
        return 0
    }

    /// Copies into a file of which nothing is expected before.
    private static func copyBytes(_ path: String, to other: String) -> Int32 {
        var offset: Int64 = 0
        repeat {
            guard let bytes = read(path, at: offset, count: 1 << 20) else { return errno }
            let error = write(bytes, to: other, at: offset)
            guard error == 0 else { return error }
            offset += Int64(bytes.count)
            if bytes.count < 1 << 20 { return sync(other) }
        } while true
    }

    static func move(_ path: String, to other: String) -> Int32 { rename(path, other) == 0 ? 0 : errno }

    @discardableResult
    static func remove(_ path: String) -> Bool { unlink(path) == 0 }

    /// Only an empty one goes.
    @discardableResult
    static func removeFolder(_ path: String) -> Bool { rmdir(path) == 0 }

    /// The names in a folder, as many as can be read.
    static func names(in path: String) -> [String] { list(path).names }

    /// The names in a folder, and the error at which they end.
    static func list(_ path: String) -> (names: [String], error: Int32) {
        guard let folder = opendir(path) else { return ([], errno) }
        defer { closedir(folder) }
        var names: [String] = []
        while true {
            // The end is no error, and looks like one but for this.
            errno = 0
            guard let entry = readdir(folder) else {
                let error = errno
                return (names.sorted(), error)
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }
}
