import Synchronization

/// Keeps what a run looks like over time, and tells who watches.
final class RunRecorder: Sendable {
    private struct State {
        var timeline = RunTimeline()
        var marks: [StageMark] = []
        var last = LaneCounters()
        var lastAt = ContinuousClock.now
        let began = ContinuousClock.now
    }

    private let state = Mutex(State())
    private let progress: @Sendable (RunProgress) -> Void

    static let sampleInterval = Duration.seconds(1)

    init(progress: @escaping @Sendable (RunProgress) -> Void) { self.progress = progress }

    func show(_ new: RunProgress) { progress(new) }

    /// Whether a sample is due.
    var isDue: Bool { state.withLock { ContinuousClock.now - $0.lastAt >= Self.sampleInterval } }

    /// Notes what has happened since the last sample.
    func note(_ counters: LaneCounters, _ latencies: Latencies.Sample, phase: String) -> TimelineSample {
        state.withLock { state in
            let now = ContinuousClock.now
            let sample = TimelineSample(
                seconds: (state.lastAt - state.began).inSeconds, length: (now - state.lastAt).inSeconds, phase: phase,
                here: counters.here, counts: TimelineSample.Counts(from: state.last, to: counters),
                latencies: latencies)
            state.timeline.append(sample)
            state.last = counters
            state.lastAt = now
            return sample
        }
    }

    /// Something begins.
    func mark(_ name: String) {
        state.withLock { $0.marks.append(StageMark(name: name, seconds: (ContinuousClock.now - $0.began).inSeconds)) }
    }

    /// The last mark's part is over.
    func endMark(allWereBack: Bool) {
        state.withLock { state in
            guard let last = state.marks.indices.last else { return }
            let seconds = (ContinuousClock.now - state.began).inSeconds - state.marks[last].seconds
            state.marks[last].length = seconds
            state.marks[last].allWereBack = allWereBack
        }
    }

    var timeline: RunTimeline { state.withLock { $0.timeline } }
    var marks: [StageMark] { state.withLock { $0.marks } }
}

/// When a part of the run began.
package struct StageMark: Sendable, Hashable, Codable {
    package let name: String
    /// Since the beginning of the run.
    package let seconds: Double
    package var length = 0.0
    package var allWereBack = true
}

extension Duration {
    var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
