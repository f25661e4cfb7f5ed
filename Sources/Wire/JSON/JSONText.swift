import ChatModel

/// A text of JSON that is no frame: a file that somebody writes, or the claims of a token.
public enum JSONText {
    /// The fault that keeps the text from being one JSON value, with its place; nil: there is none. Names that stand twice in
    /// an object are a fault, too: readers differ in which of them they take.
    public static func fault(in bytes: [UInt8]) -> String? {
        // Some editors put it in front.
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return bytes.withUnsafeBytes { bytes -> String? in
            var document = JSONDocument()
            do throws(ChatError) {
                let end = JSONDocument.skipSpace(bytes, from: try document.parse(bytes, from: start))
                return end == bytes.count ? nil : "not JSON: there is something behind its end, at byte \(end)"
            } catch {
                let line = 1 + bytes.prefix(document.position).count { $0 == UInt8(ascii: "\n") }
                return "\(error.message) in line \(line)"
            }
        }
    }
}
