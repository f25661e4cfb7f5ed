import Synchronization
import Telemetry

/// `chatroom_ready`: whether `/readyz` would say 200. It is asked when the figures are read. A node that does not know in
/// time is not ready, and its other figures are told none the less.
final class ReadyFigure: Sendable {
    private let gauge: Counter
    private let isAsking = Atomic(false)
    private let limit: Duration

    init(in metrics: MetricsRegistry, within limit: Duration = .milliseconds(500)) {
        gauge = metrics.gauge("chatroom_ready", "1 while the node serves, as /readyz says; else 0.")
        self.limit = limit
    }

    /// - Parameter isReady: may take as long as it likes; one at a time is under way.
    func update(_ isReady: @escaping @Sendable () async -> Bool) async {
        guard !isAsking.exchange(true, ordering: .relaxed) else { return gauge.set(0) }
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingOldest(1))
        Task {
            answer.yield(await isReady())
            isAsking.store(false, ordering: .relaxed)
        }
        let timer = Task { [limit] in
            try? await Task.sleep(for: limit)
            answer.yield(false)
        }
        for await ready in answers {
            gauge.set(ready ? 1 : 0)
            break
        }
        timer.cancel()
    }
}
