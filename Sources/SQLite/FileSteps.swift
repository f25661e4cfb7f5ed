/// The steps in which a small file beside a database is replaced, so that tests can let each of them fail.
public protocol FileSteps: Sendable {
    /// Makes a file, or empties it, writes the bytes and syncs it. After an error it may hold a part of them.
    func write(_ bytes: [UInt8], to path: String) throws(SQLiteError)
    /// The same without the sync: it shows whether there is space, and costs no wait for the disk.
    func writeUnsynced(_ bytes: [UInt8], to path: String) throws(SQLiteError)
    /// Gives a file another name, in the place of what has it; not yet durable.
    func rename(_ path: String, to newPath: String) throws(SQLiteError)
    /// Makes the names in the directory of `path` durable.
    func syncDirectory(of path: String) throws(SQLiteError)
    /// Removes a file; nothing happens when it is not there. Not yet durable.
    func remove(_ path: String) throws(SQLiteError)
}

/// The operating system's files.
public struct SystemFiles: FileSteps {
    public init() {}

    public func write(_ bytes: [UInt8], to path: String) throws(SQLiteError) {
        try FileSystem.write(bytes, to: path)
    }

    public func writeUnsynced(_ bytes: [UInt8], to path: String) throws(SQLiteError) {
        try FileSystem.write(bytes, to: path, isSynced: false)
    }

    public func rename(_ path: String, to newPath: String) throws(SQLiteError) {
        try FileSystem.rename(path, to: newPath)
    }

    public func syncDirectory(of path: String) throws(SQLiteError) { try FileSystem.syncDirectory(of: path) }

    public func remove(_ path: String) throws(SQLiteError) { try FileSystem.remove(path) }
}
