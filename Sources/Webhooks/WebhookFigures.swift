import ChatModel
import Synchronization
import Telemetry

/// How the webhook is doing, over all shards of a node.
package final class WebhookFigures: Sendable {
    package let delivered: Counter
    let dropped: Counter
    package let failed: Counter
    /// When the oldest item was made that each shard is delivering, and the oldest sanction (nil).
    private let oldest = Mutex<[ShardID?: Timestamp]>([:])

    package init(metrics: MetricsRegistry, now: @escaping @Sendable () -> Timestamp) {
        delivered = metrics.counter("chatroom_webhook_items_total", "Webhook items that were accepted.")
        failed = metrics.counter("chatroom_webhook_failures_total", "Calls of the webhook that were not accepted.")
        dropped = metrics.counter(
            "chatroom_dropped_total", "What viewers were not given, by class and cause.",
            labels: [("class", "webhook"), ("cause", "slow")])
        metrics.gauge(
            "chatroom_webhook_lag_seconds", "Age of the oldest item that the webhook has not accepted; 0: none waits."
        ) { [weak self] in
            guard let first = self?.oldest.withLock({ $0.values.min() }) else { return 0 }
            return Double(max(0, now().milliseconds - first.milliseconds)) / 1000
        }
    }

    /// - Parameter shard: nil for sanctions.
    package func delivering(_ time: Timestamp?, _ shard: ShardID?) { oldest.withLock { $0[shard] = time } }
}
