import Glibc
import SystemCalls

/// Where results and complaints go: results to standard output, all else to standard error.
package enum Output {
    /// One line of the result, at once, so that a pipe sees it.
    package static func line(_ text: String) { write(text + "\n", to: .output) }

    /// Begins a new screen, where there is one: clears it, and goes to its corner (ECMA-48, ED and CUP).
    private static func clear() {
        if isatty(STDOUT_FILENO) != 0 { write("\u{1B}[2J\u{1B}[H", to: .output) }
    }

    /// Shows the lines in place of what the terminal shows, cut at its borders; all of them where there is no terminal.
    package static func screen(_ lines: [String]) {
        var size = winsize()
        let isTerminal = isatty(STDOUT_FILENO) != 0
        guard isTerminal, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 1, size.ws_col > 0 else {
            clear()
            for line in lines { Output.line(line) }
            return
        }
        clear()
        // The cursor stands in the last row.
        for line in lines.prefix(Int(size.ws_row) - 1) {
            Output.line(DisplayText.fit(line, columns: Int(size.ws_col)))
        }
    }

    /// The columns of the terminal; nil where the output goes elsewhere, so that programs read each row as one line.
    package static var columns: Int? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) != 0, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// A line for people beside the result.
    package static func note(_ text: String) { write(text + "\n", to: .error) }

    package static func complain(_ text: String) { note(text.hasPrefix("Error:") ? text : "Error: \(text)") }

    private static func write(_ text: String, to stream: StandardStream) {
        let error = stream.write(text)
        // Complaints that can't be written stay in the exit code.
        guard error != 0, stream == .output else { return }
        // The reader of the output has gone (as in `| head`): there is nobody left to tell.
        if error == EPIPE { exit(0) }
        // A part of the output must not look like all of it.
        complain("the output can't be written: \(String(cString: strerror(error)))")
        exit(CommandFailure.Code.usage.rawValue)
    }
}
