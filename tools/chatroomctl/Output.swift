import Foundation

/// Where results and complaints go: results to standard output, all else to standard error.
enum Output {
    /// One line of the result, at once, so that a pipe sees it.
    static func line(_ text: String) { write(text + "\n", to: .standardOutput) }

    /// A line for people beside the result.
    static func note(_ text: String) { write(text + "\n", to: .standardError) }

    static func complain(_ text: String) { note(text.hasPrefix("Error:") ? text : "Error: \(text)") }

    private static func write(_ text: String, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            // Whoever read the output has gone (as in `| head`): there is nobody left to tell.
            Foundation.exit(0)
        }
    }
}
