import SQLite
import StorageTestKit
import Testing

@Suite struct FileSystemTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `replacing leaves the new contents and nothing else`() throws {
        let path = directory.path + "/file"
        #expect(try FileSystem.read(path, bytesMax: 10) == nil)
        try FileSystem.replace(path, with: [1, 2, 3])
        try FileSystem.replace(path, with: [4])
        #expect(try FileSystem.read(path, bytesMax: 10) == [4])
        #expect(try directory.names() == ["file"])
        #expect(FileSystem.size(path) == 1)
        try FileSystem.replace(path, with: [UInt8](repeating: 1, count: 11))
        #expect(throws: SQLiteError.self) { try FileSystem.read(path, bytesMax: 10) }
        try FileSystem.remove(path)
        try FileSystem.remove(path)
        #expect(!FileSystem.exists(path))
    }

    @Test func `rewriting changes nothing`() throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try directory.write(bytes, to: "file")
        try FileSystem.rewrite(directory.path + "/file")
        #expect(try directory.bytes("file") == bytes)
        try FileSystem.rewrite(directory.path + "/none")
        #expect(try directory.names() == ["file"])
    }

    @Test func `directories are made with those above them`() throws {
        let path = directory.path + "/a/b/c"
        try FileSystem.makeDirectory(path)
        try FileSystem.makeDirectory(path)
        #expect(try FileSystem.names(in: directory.path + "/a") == ["b"])
        #expect(throws: SQLiteError.self) { try FileSystem.names(in: directory.path + "/none") }
    }
}
