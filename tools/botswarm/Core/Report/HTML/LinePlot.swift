/// Lines over the time of a run, as SVG. Colours come from the page's style, so that it follows light and dark.
struct LinePlot {
    struct Series {
        let name: String
        /// Which of the page's colours.
        let color: Int
        /// One for each sample; nil is nothing measured.
        let values: [Double?]
    }

    let title: String
    let unit: String
    let samples: [TimelineSample]
    let marks: [StageMark]
    let series: [Series]
    var isLogarithmic = false
    /// How a value is written.
    var text: (Double) -> String = Figure.short

    private static let width = 760.0
    private static let height = 250.0
    private static let left = 58.0
    private static let right = 12.0
    private static let top = 26.0
    private static let bottom = 26.0

    var html: String {
        var html = "<figure><figcaption><b>\(Figure.escape(title))</b> <span class=unit>\(Figure.escape(unit))</span>"
        for line in series {
            html += "<span class=key><i class=c\(line.color)></i>\(Figure.escape(line.name))</span>"
        }
        return html + "</figcaption>\n" + svg + "</figure>\n"
    }

    private var end: Double { max(1, samples.last.map { $0.seconds + $0.length } ?? 1) }
    private var plotWidth: Double { Self.width - Self.left - Self.right }
    private var plotHeight: Double { Self.height - Self.top - Self.bottom }

    private func x(_ seconds: Double) -> Double { Self.left + seconds / end * plotWidth }

    private var scale: PlotScale {
        let values = series.flatMap { $0.values.compactMap { $0 } }
        guard isLogarithmic else { return PlotScale(upTo: values.max() ?? 1) }
        let positive = values.filter { $0 > 0 }
        return PlotScale(logarithmicFrom: positive.min() ?? 1, to: max(positive.max() ?? 10, 2e-6))
    }

    private var svg: String {
        let scale = scale
        func y(_ value: Double) -> Double { Self.top + (1 - scale.place(value)) * plotHeight }
        var svg = "<svg viewBox=\"0 0 \(Self.number(Self.width)) \(Self.number(Self.height))\" role=img>"
        svg += "<title>\(Figure.escape(title))</title>"
        svg += bands
        for mark in scale.marks {
            svg += "<line class=grid x1=\(Self.number(Self.left)) x2=\(Self.number(Self.width - Self.right)) "
            svg += "y1=\(Self.number(y(mark))) y2=\(Self.number(y(mark))) />"
            svg += "<text class=tick text-anchor=end x=\(Self.number(Self.left - 7)) y=\(Self.number(y(mark) + 4))>"
            svg += Figure.escape(text(mark)) + "</text>"
        }
        for mark in PlotScale(upTo: end).marks where mark <= end {
            svg += "<text class=tick text-anchor=middle x=\(Self.number(x(mark))) y=\(Self.number(Self.height - 7))>"
            svg += Figure.clock(mark) + "</text>"
        }
        for line in series { svg += path(line, y) }
        svg += hints
        return svg + "</svg>"
    }

    /// The stages behind the lines.
    private var bands: String {
        var svg = ""
        for (index, mark) in marks.enumerated() {
            let (from, to) = (x(min(mark.seconds, end)), x(min(mark.seconds + mark.length, end)))
            guard to > from else { continue }
            if index % 2 == 0 {
                svg += "<rect class=band x=\(Self.number(from)) y=\(Self.number(Self.top)) "
                svg += "width=\(Self.number(to - from)) height=\(Self.number(plotHeight)) />"
            }
            // Only where it fits.
            if to - from > Double(mark.name.utf8.count) * 6.4 {
                svg += "<text class=stage text-anchor=middle x=\(Self.number((from + to) / 2)) "
                svg += "y=\(Self.number(Self.top - 8))>\(Figure.escape(mark.name))</text>"
            }
        }
        return svg
    }

    private func path(_ line: Series, _ y: (Double) -> Double) -> String {
        var commands = ""
        var dots = ""
        var isDrawing = false
        for (index, sample) in samples.enumerated() {
            guard index < line.values.count, let value = line.values[index], !isLogarithmic || value > 0 else {
                isDrawing = false
                continue
            }
            let (px, py) = (Self.number(x(sample.seconds + sample.length / 2)), Self.number(y(value)))
            commands += (isDrawing ? "L" : "M") + px + " " + py
            let isAlone = !isDrawing && !(index + 1 < line.values.count && line.values[index + 1] != nil)
            if isAlone { dots += "<circle class=c\(line.color) cx=\(px) cy=\(py) r=2.5 />" }
            isDrawing = true
        }
        return "<path class=c\(line.color) d=\"\(commands)\"/>" + dots
    }

    /// The texts that a pointer over a sample shows.
    private var hints: String {
        var svg = ""
        for (index, sample) in samples.enumerated() {
            let (from, to) = (x(sample.seconds), x(min(sample.seconds + sample.length, end)))
            svg += "<rect class=hint x=\(Self.number(from)) y=\(Self.number(Self.top)) "
            svg += "width=\(Self.number(max(0.5, to - from))) height=\(Self.number(plotHeight))><title>"
            svg += "\(Figure.clock(sample.seconds)) · \(Figure.escape(sample.phase))"
            for line in series where index < line.values.count {
                svg += "\n\(Figure.escape(line.name)): " + (line.values[index].map(text) ?? "–")
            }
            svg += "</title></rect>"
        }
        return svg
    }

    static func number(_ value: Double) -> String {
        Figure.decimal(value, 1).replacing("−", with: "-")
    }
}
