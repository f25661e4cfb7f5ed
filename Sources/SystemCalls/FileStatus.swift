import Glibc

/// The system's status of a file (`stat(2)`), links followed.
public struct FileStatus: Sendable, Hashable {
    /// The lower nine bits of its mode: who may read, write and execute it.
    public let permissions: UInt32
    public let sizeBytes: Int64
    /// Whether it is neither a directory nor a device, a socket or a pipe.
    public let isRegular: Bool

    /// - Returns: `nil` when there is no such file, or this user may not look at it.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        permissions = status.st_mode & 0o777
        sizeBytes = Int64(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether nobody but its owner can read, write or execute it, as it must be for a file with a secret.
    public var isOwnersOnly: Bool { permissions & 0o077 == 0 }

    /// - Returns: the bytes that this user can still write where `path` is; `nil` when the system does not tell.
    public static func freeBytes(at path: String) -> Int64? {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        return Int64(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize))
    }
}
