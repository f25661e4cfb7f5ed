import Foundation

/// Where results and complaints go: results to standard output, all else to standard error.
enum Output {
    /// One line of the result, at once, so that a pipe sees it.
    static func line(_ text: String) { write(text + "\n", to: .standardOutput) }

    /// Begins a new screen, where there is one: clears it, and goes to its corner (ECMA-48, ED and CUP).
    static func clear() {
        if isatty(STDOUT_FILENO) != 0 { write("\u{1B}[2J\u{1B}[H", to: .standardOutput) }
    }

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
