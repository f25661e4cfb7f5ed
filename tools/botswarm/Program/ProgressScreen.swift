import BotSwarmCore
import Glibc
import SystemCalls
import Synchronization

/// The live state on stderr: a screen that is redrawn in place on a terminal, else a line every five seconds and at each
/// phase.
final class ProgressScreen: Sendable {
    private struct State {
        var phase: String?
        var nextLine = ContinuousClock.now
        var screen = LiveScreen()
        var linesShown = 0
    }

    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let began = ContinuousClock.now
    private let state = Mutex(State())

    func show(_ progress: RunProgress) {
        isTerminal ? draw(progress) : notify(progress)
    }

    private func draw(_ progress: RunProgress) {
        let seconds = Double((ContinuousClock.now - began).components.seconds)
        var size = winsize()
        let known = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        let (columns, rows) = known ? (Int(size.ws_col), Int(size.ws_row)) : (80, 24)
        let text = state.withLock { state in
            let lines = state.screen.lines(progress, seconds: seconds, width: columns).prefix(max(1, rows - 1))
            // Back to the first line of the last drawing; what is longer there is wiped.
            let text =
                (state.linesShown > 0 ? "\u{1B}[\(state.linesShown)A" : "")
                + lines.map { "\r\u{1B}[K" + $0 + "\n" }.joined() + "\u{1B}[J"
            state.linesShown = lines.count
            return text
        }
        write(text)
    }

    private func notify(_ progress: RunProgress) {
        let isDue = state.withLock { state in
            guard state.phase != progress.phase || ContinuousClock.now >= state.nextLine else { return false }
            state.phase = progress.phase
            state.nextLine = ContinuousClock.now + .seconds(5)
            return true
        }
        if isDue { write(progress.line + "\n") }
    }

    /// Leaves the terminal to the report.
    func clear() {
        guard isTerminal else { return }
        let lines = state.withLock { state in
            defer { state.linesShown = 0 }
            return state.linesShown
        }
        if lines > 0 { write("\u{1B}[\(lines)A\r\u{1B}[J") }
    }

    private func write(_ text: String) { StandardStream.error.write(text) }
}
