import FoundationEssentials
import Testing

@testable import SystemCalls

@Suite struct FileSentenceTests {
    @Test func `what a file system refuses is told in the system's words`() {
        let error = #expect(throws: (any Error).self) {
            try FileManager.default.createDirectory(atPath: "/proc/nothing/here", withIntermediateDirectories: false)
        }
        #expect(error?.fileSentence == "No such file or directory")
    }

    @Test func `other errors tell themselves`() {
        #expect(SystemCallError(.spawn, number: 13).fileSentence == "Permission denied")
    }
}
