import ChatModel
import Synchronization
import SystemCalls
import Telemetry
import Wire

/// The rates of the last ten seconds. It reads the registry's series by their names once a second, whether or not anybody
/// asks: some microseconds, and eleven samples in memory.
final class RecentFigures: Sendable {
    private static let seconds = 10
    private let registry: MetricsRegistry
    private let samples = Mutex(Fifo<FigureSample>())
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ registry: MetricsRegistry) { self.registry = registry }

    func start() {
        let task = Task { [self] in
            while !Task.isCancelled {
                let sample = FigureSample(registry)
                samples.withLock { samples in
                    samples.append(sample)
                    if samples.count > Self.seconds + 1 { samples.removeFirst() }
                }
                try? await Task.sleep(for: .seconds(1))
            }
        }
        self.task.withLock { $0 = task }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// The node's figures, as far as the registry has them.
    func figures(of node: NodeID) -> NodeFigures {
        var figures = NodeFigures(node: node)
        if let before = samples.withLock({ $0.first }) {
            let now = FigureSample(registry)
            now.notify(since: before, &figures)
            (figures.ackP50Ms, figures.ackP99Ms) = percentiles(Self.ack, now.acks, before.acks)
            (figures.deliverP50Ms, figures.deliverP99Ms) = percentiles(Self.deliver, now.deliveries, before.deliveries)
        }
        figures.commitLag = Int64(registry.sum(of: "chatroom_shard_commit_lag"))
        figures.memoryBytes = Int64(ProcessStatus.own?.residentBytes ?? 0)
        figures.diskFreeBytes = Int64(registry.sum(of: "chatroom_disk_free_bytes"))
        return figures
    }

    fileprivate static let ack = "chatroom_ack_seconds"
    fileprivate static let deliver = "chatroom_deliver_seconds"

    /// The median and the 99th percentile of what was counted meanwhile, in milliseconds with two decimals.
    private func percentiles(_ name: String, _ now: [Int], _ before: [Int]) -> (Double?, Double?) {
        guard let durations = registry.durations(named: name) else { return (nil, nil) }
        let counts = FigureSample.difference(now, before)
        func milliseconds(_ share: Double) -> Double? {
            durations.quantile(share, of: counts).map { ($0 * 100_000).rounded() / 100 }
        }
        return (milliseconds(0.5), milliseconds(0.99))
    }
}

/// The counts at a moment.
struct FigureSample: Sendable {
    let at = ContinuousClock.now
    let cpuSeconds: Double
    let sends: Double
    let deliveredMessages: Double
    let deliveredBarrage: Double
    let sentBytes: Double
    let acks: [Int]
    let deliveries: [Int]
    /// By class and cause.
    let drops: [[String]: Double]

    init(_ registry: MetricsRegistry) {
        cpuSeconds = ProcessStatus.own?.cpuSeconds ?? 0
        sends = registry.sum(of: "chatroom_sends_total", "result", "acked")
        deliveredMessages = registry.sum(of: "chatroom_deliveries_total", "class", "message")
        deliveredBarrage = registry.sum(of: "chatroom_deliveries_total", "class", "barrage")
        sentBytes = registry.sum(of: "chatroom_sent_bytes_total")
        acks = registry.durations(named: RecentFigures.ack)?.counts ?? []
        deliveries = registry.durations(named: RecentFigures.deliver)?.counts ?? []
        drops = Dictionary(
            registry.readings(of: "chatroom_dropped_total").map { reading in
                let labels = Dictionary(reading.labels) { first, _ in first }
                return ([labels["class"] ?? "", labels["cause"] ?? ""], reading.value)
            }, uniquingKeysWith: +)
    }

    func notify(since before: FigureSample, _ figures: inout NodeFigures) {
        let elapsed = max(0.001, (at - before.at) / .seconds(1))
        func rate(_ value: KeyPath<FigureSample, Double>) -> Double {
            Self.rounded((self[keyPath: value] - before[keyPath: value]) / elapsed)
        }
        figures.sendsPerSecond = rate(\.sends)
        figures.deliveriesPerSecond = rate(\.deliveredMessages)
        figures.barragePerSecond = rate(\.deliveredBarrage)
        figures.sentBytesPerSecond = rate(\.sentBytes)
        figures.cpuPercent = Self.rounded((cpuSeconds - before.cpuSeconds) / elapsed * 100)
        figures.drops = drops.compactMap { key, value in
            let lost = value - (before.drops[key] ?? 0)
            return lost > 0 ? DropFigures(class: key[0], cause: key[1], perSecond: Self.rounded(lost / elapsed)) : nil
        }.sorted { ($0.class, $0.cause) < ($1.class, $1.cause) }
    }

    /// Histograms that were not there before count from nothing.
    static func difference(_ now: [Int], _ before: [Int]) -> [Int] {
        now.enumerated().map { $1 - ($0 < before.count ? before[$0] : 0) }
    }

    /// Rounds to one decimal.
    private static func rounded(_ value: Double) -> Double { (max(0, value) * 10).rounded() / 10 }
}

extension MetricsRegistry {
    /// The sum of the series of that name.
    func sum(of name: String) -> Double { readings(of: name).reduce(0) { $0 + $1.value } }

    /// The sum of those that have the label with that value.
    fileprivate func sum(of name: String, _ label: String, _ value: String) -> Double {
        readings(of: name).reduce(0) { sum, reading in
            sum + (reading.labels.contains { $0 == (label, value) } ? reading.value : 0)
        }
    }
}
