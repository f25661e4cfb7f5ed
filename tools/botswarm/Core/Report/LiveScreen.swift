import Histogram

/// The terminal's view of a run: rates and percentiles of the last second, and totals.
package struct LiveScreen: Sendable {
    private var sample: TimelineSample?
    /// Deliveries a second of the last samples, for the small plot.
    private var history: [Double] = []

    private static let historyMax = 48
    private static let bars = Array(" ▁▂▃▄▅▆▇█")

    package init() {}

    /// The lines to show, at most `width` columns wide.
    package mutating func lines(_ progress: RunProgress, seconds: Double, width: Int) -> [String] {
        if let sample = progress.sample {
            self.sample = sample
            history.append(Self.rate(sample.counts.delivered, sample))
            if history.count > Self.historyMax { history.removeFirst() }
        }
        let counters = progress.counters
        let left = Int(max(0, progress.secondsLeft).rounded(.up))
        var lines = [
            "botswarm \(progress.scenario)  ·  \(progress.phase)  ·  \(Figure.clock(seconds)), at most \(left) s left here",
            "",
            "  bots        " + Self.meter(counters.here, of: progress.bots)
                + "  \(counters.here)/\(progress.bots) here",
            "",
            Self.row(["", "a second", "in all", "", "p50", "p90", "p99"]),
        ]
        lines.append(row("sends", \.sent, all: counters.sent))
        lines.append(row("acks", \.acked, all: counters.acked, kind: .ack))
        lines.append(row("deliveries", \.delivered, all: counters.delivered, kind: .receipt))
        lines.append(row("barrage", \.barrage, all: counters.barrageDelivered))
        lines.append(row("entered", \.entered, all: counters.entered, kind: .enter))
        lines.append(row("lost", \.lost, all: counters.reconnects))
        lines.append(row("errors", \.errors, all: counters.errorCount))
        lines.append("")
        lines.append("  deliveries  " + plot)
        lines.append("  open requests \(counters.outstanding), stopped \(counters.stopped)" + (codes(counters)))
        return lines.map { String($0.prefix(max(20, width - 1))) }
    }

    private func row(
        _ name: String, _ count: KeyPath<TimelineSample.Counts, UInt64>, all: UInt64,
        kind: LatencyKind? = nil
    ) -> String {
        var cells = [name, sample.map { Figure.short(Self.rate($0.counts[keyPath: count], $0)) } ?? "–"]
        cells += [Figure.grouped(all), ""]
        if let kind, let histogram = sample?.latencies[kind], histogram.totalCount > 0 {
            cells += [50.0, 90, 99].map { Figure.duration(microseconds: Double(histogram.valueAtPercentile($0))) }
        }
        return Self.row(cells)
    }

    private static func rate(_ count: UInt64, _ sample: TimelineSample) -> Double {
        sample.length > 0 ? Double(count) / sample.length : 0
    }

    private func codes(_ counters: LaneCounters) -> String {
        guard !counters.errors.isEmpty else { return "" }
        let codes = counters.errors.sorted { $0.key < $1.key }.map { "\($0.key) ×\($0.value)" }
        return ", answers with error " + codes.joined(separator: ", ")
    }

    private var plot: String {
        let most = max(history.max() ?? 0, 1)
        return String(history.map { Self.bars[Int(($0 / most * Double(Self.bars.count - 1)).rounded())] })
            + "  most \(Figure.short(most))"
    }

    private static func meter(_ part: Int, of whole: Int) -> String {
        let cells = 30
        let full = whole > 0 ? min(cells, part * cells / whole) : 0
        return String(repeating: "█", count: full) + String(repeating: "░", count: cells - full)
    }

    private static func row(_ cells: [String]) -> String {
        let widths = [-12, 10, 13, 2, 10, 10, 10]
        return "  "
            + zip(cells, widths).map { cell, width in
                let blanks = String(repeating: " ", count: max(0, abs(width) - cell.count))
                return width < 0 ? cell + blanks : blanks + cell
            }.joined()
    }
}
