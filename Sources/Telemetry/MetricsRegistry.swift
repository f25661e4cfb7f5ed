import Synchronization

/// All figures of one node, under their stable names (PROTOCOL.md, "Metrics"), rendered as Prometheus text.
///
/// The set of series is fixed at start-up: no name or label ever comes from outside, so memory is bounded.
public final class MetricsRegistry: Sendable {
    private let series = Mutex<[Series]>([])

    public init() {}

    struct Series: Sendable {
        var name: String
        var help: String
        var kind: String
        var labels: String
        var render: @Sendable (_ name: String, _ labels: String) -> String
    }

    /// A number that only grows.
    public func counter(_ name: String, _ help: String, labels: [(String, String)] = []) -> Counter {
        let counter = Counter()
        add(name, help, kind: "counter", labels: labels) { "\($0)\(Self.braces($1)) \(counter.value)\n" }
        return counter
    }

    /// A number that only grows, asked for when the figures are read.
    public func counter(
        _ name: String, _ help: String, labels: [(String, String)] = [], read: @escaping @Sendable () -> Double
    ) {
        add(name, help, kind: "counter", labels: labels) { "\($0)\(Self.braces($1)) \(read())\n" }
    }

    /// Numbers that only grow, one for each pair of values of two labels. Pairs that have counted nothing are not shown.
    public func counters(
        _ name: String, _ help: String, labels: (String, String), values: ([String], [String])
    ) -> CounterTable {
        let table = CounterTable(labels: labels, values: values)
        add(name, help, kind: "counter", labels: []) { name, _ in table.render(name) }
        return table
    }

    /// A time that only grows: counted in nanoseconds, shown in seconds.
    public func seconds(_ name: String, _ help: String) -> Counter {
        let counter = Counter()
        add(name, help, kind: "counter", labels: []) { "\($0)\(Self.braces($1)) \(Double(counter.value) / 1e9)\n" }
        return counter
    }

    /// A number that goes up and down.
    public func gauge(_ name: String, _ help: String, labels: [(String, String)] = []) -> Counter {
        let counter = Counter()
        add(name, help, kind: "gauge", labels: labels) { "\($0)\(Self.braces($1)) \(counter.value)\n" }
        return counter
    }

    /// A number that is asked for when the figures are read.
    public func gauge(
        _ name: String, _ help: String, labels: [(String, String)] = [], read: @escaping @Sendable () -> Double
    ) {
        add(name, help, kind: "gauge", labels: labels) { "\($0)\(Self.braces($1)) \(read())\n" }
    }

    /// How long something took, in buckets of seconds.
    /// - Parameter bounds: the upper ends of the buckets, ascending; longer durations are counted too.
    public func durations(
        _ name: String, _ help: String, bounds: [Double] = DurationHistogram.doublingBounds
    ) -> DurationHistogram {
        let histogram = DurationHistogram(bounds: bounds)
        add(name, help, kind: "histogram", labels: []) { name, _ in histogram.render(name) }
        return histogram
    }

    /// The Prometheus text exposition, version 0.0.4.
    public func render() -> String {
        let all = series.withLock { $0 }
        var text = ""
        var described: Set<String> = []
        for one in all.sorted(by: { ($0.name, $0.labels) < ($1.name, $1.labels) }) {
            if described.insert(one.name).inserted {
                text += "# HELP \(one.name) \(one.help)\n# TYPE \(one.name) \(one.kind)\n"
            }
            text += one.render(one.name, one.labels)
        }
        return text
    }

    private func add(
        _ name: String, _ help: String, kind: String, labels: [(String, String)],
        render: @escaping @Sendable (String, String) -> String
    ) {
        let text = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
        series.withLock {
            $0.append(Series(name: name, help: help, kind: kind, labels: text, render: render))
        }
    }

    private static func braces(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }
}

/// One number that any thread may change.
public final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    public var value: Int { number.load(ordering: .relaxed) }

    public func add(_ delta: Int = 1) { number.wrappingAdd(delta, ordering: .relaxed) }

    public func set(_ value: Int) { number.store(value, ordering: .relaxed) }
}

/// Durations in buckets. Recording takes no lock.
public final class DurationHistogram: Sendable {
    /// Doubling from 100 µs to 13 s.
    public static let doublingBounds = (0..<18).map { 0.0001 * Double(1 << $0) }

    /// The upper ends of the buckets in seconds, ascending; one more is for whatever took longer.
    private let bounds: [Double]
    private let buckets: [Counter]
    private let sumNanoseconds = Counter()

    init(bounds: [Double]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Counter() }
    }

    public func record(seconds: Double) {
        buckets[bounds.firstIndex { seconds <= $0 } ?? bounds.count].add()
        sumNanoseconds.add(Int(exactly: (seconds * 1e9).rounded()) ?? 0)
    }

    func render(_ name: String) -> String {
        var text = ""
        var total = 0
        for (number, bucket) in buckets.enumerated() {
            total += bucket.value
            let label = number == bounds.count ? "+Inf" : "\(bounds[number])"
            text += "\(name)_bucket{le=\"\(label)\"} \(total)\n"
        }
        return text + "\(name)_sum \(Double(sumNanoseconds.value) / 1e9)\n\(name)_count \(total)\n"
    }
}
