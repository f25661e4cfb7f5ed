import Testing

@testable import WebFiles

/// Comments are left out of what browsers are given, and nothing else is.
@Suite struct SourceLinesTests {
    private func shortened(_ text: String) -> String {
        String(decoding: SourceLines.shortened(Array(text.utf8)), as: UTF8.self)
    }

    @Test func `lines that are only comments become empty, and lines keep their numbers`() {
        #expect(shortened("/** a\n * b\n */\nlet a; // c\n  // d\n\tlet b;\n") == "\n\n\nlet a; // c\n\nlet b;\n")
        #expect(shortened("/* a */\nb") == "\nb")
        #expect(shortened("  /* a */ b") == "/* a */ b")
        #expect(shortened("a /* b\nc */ d") == "a /* b\nc */ d")
    }

    @Test func `texts without comments stay as they are`() {
        for text in ["", "\n", "\n\n", "a", "a\nb\n", "\"http://x\"", "a / b", "/"] { #expect(shortened(text) == text) }
    }

    @Test func `a comment without an end takes the rest`() {
        #expect(shortened("a\n/* b\nc") == "a\n\n")
    }

    /// What `SourceLines` may be given: no text goes over lines.
    @Test func `no file has a text that goes over lines`() {
        for file in EmbeddedFile.pages + EmbeddedFile.console where file.name.hasSuffix(".js") {
            let text = String(decoding: SourceLines.shortened(file.content), as: UTF8.self)
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                #expect(line.utf8.count { $0 == UInt8(ascii: "`") } % 2 == 0, "\(file.name):\(number + 1)")
            }
        }
    }
}
