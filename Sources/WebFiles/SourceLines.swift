/// Makes scripts and styles smaller without reading them as a language: lines that are only comments become empty, so that
/// the numbers of lines stay, and the white space at the beginning of lines goes.
///
/// Its input must be such that no comment begins in the first place of a line inside a text, and that no text goes over lines. A test
/// looks at all files for both.
enum SourceLines {
    static func shortened(_ content: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(content.count)
        var isInComment = false
        for line in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if !output.isEmpty || line.startIndex > 0 { output.append(UInt8(ascii: "\n")) }
            let text = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            if isInComment {
                isInComment = !ends(text)
            } else if text.starts(with: "/*".utf8) {
                // Code behind a comment is kept together with it.
                if let end = endOfComment(text) {
                    if end < text.endIndex { output += text }
                } else {
                    isInComment = true
                }
            } else if !text.starts(with: "//".utf8) {
                output += text
            }
        }
        return output
    }

    private static func ends(_ text: ArraySlice<UInt8>) -> Bool { endOfComment(text) != nil }

    /// The end of the first `*/`.
    private static func endOfComment(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>.Index? {
        var index = text.startIndex
        while index + 1 < text.endIndex {
            if text[index] == UInt8(ascii: "*"), text[index + 1] == UInt8(ascii: "/") { return index + 2 }
            index += 1
        }
        return nil
    }
}
