import Foundation
import Testing
import WebFiles

/// The files in the program are those of the repository.
@Suite struct EmbeddedFileTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func check(_ files: [EmbeddedFile], against directory: String) throws {
        let directory = Self.package.appendingPathComponent(directory)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(files.map(\.name) == names, "Sources/CWebFiles/CWebFiles.c lists other files")
        for file in files {
            #expect(
                try Array(Data(contentsOf: directory.appendingPathComponent(file.name))) == file.content, "\(file.name)"
            )
        }
    }

    @Test func `every file of the client port's pages is in the program`() throws {
        try check(EmbeddedFile.pages, against: "Sources/Gateway/Web")
    }

    @Test func `every file of the console is in the program`() throws {
        try check(EmbeddedFile.console, against: "Sources/ServerAPI/Console")
    }
}
