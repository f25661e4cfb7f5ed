import Histogram

/// How often each latency was measured, in steps of about a fifth, as SVG bars.
struct HistogramPlot {
    let title: String
    let color: Int
    let histogram: Histogram<UInt64>

    private static let width = 370.0
    private static let height = 200.0
    /// The names of percentiles stand above the bars.
    private static let top = 24.0
    private static let namesAt = 12.0
    private static let bottom = 26.0
    private static let side = 10.0
    /// Bars for each doubling.
    private static let barsPerDoubling = 4.0

    var html: String {
        "<figure class=half><figcaption><b>\(Figure.escape(title))</b> "
            + "<span class=unit>\(Figure.grouped(histogram.totalCount)) measured</span></figcaption>\n" + svg
            + "</figure>\n"
    }

    private static func bar(of value: UInt64) -> Int {
        Int((PlotScale.logarithm2(Double(max(value, 1))) * barsPerDoubling).rounded(.down))
    }

    private static func value(at bar: Double) -> Double {
        var value = 1.0
        var rest = bar / barsPerDoubling
        while rest >= 1 {
            value *= 2
            rest -= 1
        }
        // 2 to the rest, by its series; exact enough for a label.
        let power = rest * 0.693147
        return value * (1 + power * (1 + power / 2 * (1 + power / 3 * (1 + power / 4))))
    }

    private var svg: String {
        var counts: [Int: UInt64] = [:]
        for recorded in histogram.recordedValues() {
            counts[Self.bar(of: recorded.value), default: 0] += recorded.count
        }
        guard let first = counts.keys.min(), let last = counts.keys.max(), let most = counts.values.max() else {
            return ""
        }
        let (low, high) = (first - 1, last + 2)
        let barWidth = (Self.width - 2 * Self.side) / Double(high - low)
        let base = Self.height - Self.bottom
        func x(_ bar: Double) -> Double { Self.side + (bar - Double(low)) * barWidth }
        var svg = "<svg viewBox=\"0 0 \(LinePlot.number(Self.width)) \(LinePlot.number(Self.height))\" role=img>"
        svg += "<title>\(Figure.escape(title))</title>"
        for (bar, count) in counts.sorted(by: { $0.key < $1.key }) {
            let height = max(1, Double(count) / Double(most) * (base - Self.top))
            svg += "<rect class=\"bar c\(color)\" x=\(LinePlot.number(x(Double(bar)) + 0.5)) "
            svg += "y=\(LinePlot.number(base - height)) width=\(LinePlot.number(max(1, barWidth - 1.5))) "
            svg += "height=\(LinePlot.number(height)) rx=1.5><title>"
            svg += "\(Figure.duration(microseconds: Self.value(at: Double(bar)))) to "
            svg +=
                "\(Figure.duration(microseconds: Self.value(at: Double(bar + 1)))): \(Figure.grouped(count))</title></rect>"
        }
        svg += "<line class=axis x1=\(LinePlot.number(Self.side)) x2=\(LinePlot.number(Self.width - Self.side)) "
        svg += "y1=\(LinePlot.number(base)) y2=\(LinePlot.number(base)) />"
        svg += percentiles(x, base)
        var ten: UInt64 = 1
        while Self.bar(of: ten) <= high {
            let place = PlotScale.logarithm2(Double(ten)) * Self.barsPerDoubling
            if place >= Double(low) {
                svg += "<text class=tick text-anchor=middle x=\(LinePlot.number(x(place))) "
                svg += "y=\(LinePlot.number(Self.height - 8))>\(Figure.duration(microseconds: Double(ten)))</text>"
            }
            ten *= 10
        }
        return svg + "</svg>"
    }

    private func percentiles(_ x: (Double) -> Double, _ base: Double) -> String {
        var svg = ""
        for percentile in [50.0, 99] {
            let value = Double(max(1, histogram.valueAtPercentile(percentile)))
            let place = x(PlotScale.logarithm2(value) * Self.barsPerDoubling)
            svg += "<line class=mark x1=\(LinePlot.number(place)) x2=\(LinePlot.number(place)) "
            svg += "y1=\(LinePlot.number(Self.namesAt + 4)) y2=\(LinePlot.number(base)) />"
            svg += "<text class=stage text-anchor=middle x=\(LinePlot.number(place)) "
            svg += "y=\(LinePlot.number(Self.namesAt))>"
            svg += "p\(Int(percentile))</text>"
        }
        return svg
    }
}
