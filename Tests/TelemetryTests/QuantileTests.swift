import Telemetry
import Testing

/// Percentiles of what has been counted, and the sums of series.
@Suite struct QuantileTests {
    private let registry = MetricsRegistry()

    @Test func `a percentile lies in its bucket, and is linear there`() throws {
        let durations = registry.durations("d", "", bounds: [0.001, 0.002, 0.004])
        #expect(durations.quantile(0.5, of: durations.counts) == nil)
        for _ in 0..<10 { durations.record(seconds: 0.0015) }
        let counts = durations.counts
        #expect(counts == [0, 10, 0, 0])
        #expect(try abs(#require(durations.quantile(0.5, of: counts)) - 0.0015) < 1e-9)
        #expect(try abs(#require(durations.quantile(1, of: counts)) - 0.002) < 1e-9)
        durations.record(seconds: 99)
        #expect(durations.quantile(1, of: durations.counts) == 0.004, "above all bounds: the highest")
        #expect(durations.quantile(0.99, of: [0, 0, 0, 0]) == nil)
    }

    @Test func `series are read by their names, with their labels`() {
        registry.counter("c", "", labels: [("class", "a")]).add(2)
        registry.counter("c", "", labels: [("class", "b")]).add(3)
        registry.gauge("g", "") { 7 }
        let readings = registry.readings(of: "c")
        #expect(readings.map(\.value).sorted() == [2, 3])
        #expect(readings.allSatisfy { $0.labels.first?.0 == "class" })
        #expect(registry.readings(of: "g").map(\.value) == [7])
        #expect(registry.readings(of: "other").isEmpty && registry.durations(named: "c") == nil)
    }
}
