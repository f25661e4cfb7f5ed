import BotSwarmCore
import Foundation
import Synchronization

/// The live state on stderr: one line that is rewritten on a terminal, else a line every five seconds and at each phase.
final class ProgressLine: Sendable {
    private struct State {
        var phase: RunProgress.Phase?
        var nextLine = ContinuousClock.now
    }

    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let state = Mutex(State())

    func show(_ progress: RunProgress) {
        if isTerminal { return write("\r\u{1B}[K" + progress.line) }
        let isDue = state.withLock { state in
            guard state.phase != progress.phase || ContinuousClock.now >= state.nextLine else { return false }
            state.phase = progress.phase
            state.nextLine = ContinuousClock.now + .seconds(5)
            return true
        }
        if isDue { write(progress.line + "\n") }
    }

    func clear() {
        if isTerminal { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
