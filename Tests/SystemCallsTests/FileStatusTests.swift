import Glibc
import Testing

@testable import SystemCalls

@Suite struct FileStatusTests {
    @Test(arguments: [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o601, false)])
    func `a file is its owner's only when nobody else can do anything with it`(mode: UInt32, isOwnersOnly: Bool) throws
    {
        let path = "/tmp/file-status-\(getpid())-\(mode)"
        let file = try #require(fopen(path, "w"))
        fputs("twelve bytes", file)
        fclose(file)
        defer { unlink(path) }
        chmod(path, mode)
        let status = try #require(FileStatus(path: path))
        #expect(status.isOwnersOnly == isOwnersOnly)
        #expect(status.sizeBytes == 12)
        #expect(status.isRegular)
    }

    @Test func `a directory is no regular file, and what does not exist is nothing`() {
        #expect(FileStatus(path: "/tmp")?.isRegular == false)
        #expect(FileStatus(path: "/does/not/exist") == nil)
        #expect(FileStatus.freeBytes(at: "/does/not/exist") == nil)
        #expect((FileStatus.freeBytes(at: "/tmp") ?? 0) > 0)
    }

    @Test(arguments: [("", ""), (" \n", ""), ("secret\n", "secret"), ("\t two words \r\n", "two words")])
    func `white space at both ends goes`(text: String, trimmed: String) {
        #expect(text.trimmed == trimmed)
    }
}
