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
        var pairs: [(String, String)] = []
        /// nil for a table and for durations.
        var value: (@Sendable () -> Double)?
        var durations: DurationHistogram?
    }

    /// A number that only grows.
    public func counter(_ name: String, _ help: String, labels: [(String, String)] = []) -> Counter {
        let counter = Counter()
        add(name, help, kind: "counter", labels: labels, value: { Double(counter.value) }) {
            "\($0)\(Self.braces($1)) \(counter.value)\n"
        }
        return counter
    }

    /// A number that only grows, asked for when the figures are read.
    public func counter(
        _ name: String, _ help: String, labels: [(String, String)] = [], read: @escaping @Sendable () -> Double
    ) {
        add(name, help, kind: "counter", labels: labels, value: read) { "\($0)\(Self.braces($1)) \(read())\n" }
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
        add(name, help, kind: "gauge", labels: labels, value: { Double(counter.value) }) {
            "\($0)\(Self.braces($1)) \(counter.value)\n"
        }
        return counter
    }

    /// A number that is asked for when the figures are read.
    public func gauge(
        _ name: String, _ help: String, labels: [(String, String)] = [], read: @escaping @Sendable () -> Double
    ) {
        add(name, help, kind: "gauge", labels: labels, value: read) { "\($0)\(Self.braces($1)) \(read())\n" }
    }

    /// How long something took, in buckets of seconds.
    /// - Parameter bounds: the upper ends of the buckets, ascending; longer durations are counted too.
    public func durations(
        _ name: String, _ help: String, bounds: [Double] = DurationHistogram.doublingBounds
    ) -> DurationHistogram {
        let histogram = DurationHistogram(bounds: bounds)
        add(name, help, kind: "histogram", labels: [], durations: histogram) { name, _ in histogram.render(name) }
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

    /// One series as it stands.
    public struct Reading: Sendable {
        public var labels: [(String, String)]
        public var value: Double
    }

    /// The series of that name; none of a table, nor durations.
    public func readings(of name: String) -> [Reading] {
        let found = series.withLock { $0.filter { $0.name == name } }
        return found.compactMap { one in one.value.map { Reading(labels: one.pairs, value: $0()) } }
    }

    /// The durations of that name.
    public func durations(named name: String) -> DurationHistogram? {
        series.withLock { $0.first { $0.name == name }?.durations }
    }

    private func add(
        _ name: String, _ help: String, kind: String, labels: [(String, String)],
        value: (@Sendable () -> Double)? = nil, durations: DurationHistogram? = nil,
        render: @escaping @Sendable (String, String) -> String
    ) {
        let text = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
        series.withLock {
            $0.append(
                Series(
                    name: name, help: help, kind: kind, labels: text, render: render, pairs: labels, value: value,
                    durations: durations))
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
    public let bounds: [Double]
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

    /// How many durations each bucket has; the last one has those above all bounds.
    public var counts: [Int] { buckets.map(\.value) }

    /// The duration in seconds below which that share of them lies, linear within its bucket as Prometheus'
    /// `histogram_quantile` has it; the highest bound for what is above all. nil without any.
    /// - Parameters:
    ///   - share: from 0 to 1.
    ///   - counts: those of a time: a difference of two ``counts``.
    public func quantile(_ share: Double, of counts: [Int]) -> Double? {
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var below = 0
        for (number, count) in counts.enumerated() {
            guard count > 0, Double(below + count) >= rank else {
                below += count
                continue
            }
            guard number < bounds.count else { return bounds.last }
            let from = number == 0 ? 0 : bounds[number - 1]
            return from + (bounds[number] - from) * (rank - Double(below)) / Double(count)
        }
        return bounds.last
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
