import Histogram

/// The report as one HTML page that needs nothing else: no network, no script.
package struct HTMLReport {
    private let report: RunReport
    private let commandLine: String
    private let date: String

    /// - Parameters:
    ///   - commandLine: as typed; it never holds a secret, because no option takes one.
    ///   - date: for people.
    package init(_ report: RunReport, commandLine: String, date: String) {
        self.report = report
        self.commandLine = commandLine
        self.date = date
    }

    package var text: String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
        <title>botswarm \(Figure.escape(report.scenario.name)) \(Figure.escape(report.run))</title>
        <style>
        \(HTMLStyle.css)
        </style></head><body><main>
        \(head)
        \(tiles)
        \(findings)
        <h2>Over time</h2>
        \(plots)
        <h2>Latencies</h2>
        \(latencies)
        \(histograms)
        <h2>The ledger</h2>
        \(ledger)
        <h2>Connections and answers</h2>
        \(connections)
        <h2>Run</h2>
        \(settings)
        <footer>Written by botswarm. Rates and percentiles over time are those of each sample.</footer>
        </main></body></html>

        """
    }

    private var head: String {
        let verdict =
            report.isBalanced
            ? "<span class=\"badge good\">The ledger balances</span>"
            : "<span class=\"badge bad\">The ledger does not balance: \(report.findings.total) findings</span>"
        let scenario = report.scenario
        let workers = report.workers > 1 ? ", \(report.workers) workers" : ""
        return """
            <header><h1>botswarm \(Figure.escape(scenario.name))</h1>\(verdict)</header>
            <p class=sub>Run \(Figure.escape(report.run)), \(Figure.escape(date)). \(Figure.grouped(scenario.bots)) bots in \
            \(scenario.rooms) \(scenario.rooms == 1 ? "room" : "rooms"), \(Figure.grouped(scenario.senders)) \
            senders\(workers).</p>
            """
    }

    private var tiles: String {
        var tiles: [(String, String)] = []
        if report.sendingSeconds > 0 {
            tiles.append((Figure.short(Double(report.acked) / report.sendingSeconds), "acked a second"))
            tiles.append((Figure.short(Double(report.delivered) / report.sendingSeconds), "delivered a second"))
        }
        for (kind, name) in [
            (LatencyKind.ack, "ack"), (.receipt, "receipt"), (.enter, "enter"), (.comeback, "back after a loss"),
        ] {
            guard let histogram = report.latencies[kind] else { continue }
            tiles.append((Figure.duration(microseconds: Double(histogram.valueAtPercentile(50))), "\(name), median"))
            tiles.append((Figure.duration(microseconds: Double(histogram.valueAtPercentile(99))), "\(name), p99"))
        }
        if report.enteringSeconds > 0 {
            tiles.append((Figure.short(Double(report.scenario.bots) / report.enteringSeconds), "entered a second"))
        }
        tiles.append((Figure.grouped(report.counters.reconnects), "connections lost"))
        tiles.append((Figure.grouped(report.counters.errorCount), "answers with an error"))
        return "<div class=tiles>"
            + tiles.map { "<div class=tile><b>\($0.0)</b><span>\($0.1)</span></div>" }.joined() + "</div>"
    }

    private var findings: String {
        guard !report.isBalanced else { return "" }
        let counts = Finding.Kind.allCases.compactMap { kind in
            report.findings.counts[kind].map { (kind.rawValue, Figure.grouped($0)) }
        }
        let told = report.findings.told.map { "<li>\(Figure.escape($0.text))</li>" }.joined()
        return "<h2>Findings</h2>" + Self.table(["kind", "count"], counts.map { [$0.0, $0.1] })
            + "<div class=card><ol>\(told)</ol></div>"
    }

    // MARK: - Plots

    private var plots: String {
        let samples = report.timeline.samples
        func rate(_ count: (TimelineSample.Counts) -> UInt64) -> [Double?] {
            samples.map { $0.length > 0 ? Double(count($0.counts)) / $0.length : nil }
        }
        func percentile(_ kind: LatencyKind, _ percentile: Double) -> [Double?] {
            samples.map { sample in
                guard let histogram = sample.latencies[kind], histogram.totalCount > 0 else { return nil }
                return Double(histogram.valueAtPercentile(percentile))
            }
        }
        func plot(
            _ title: String, _ unit: String, _ lines: [(String, [Double?])], isLogarithmic: Bool = false
        ) -> String {
            // An event that never happened needs no line.
            let series = lines.enumerated().map { LinePlot.Series(name: $1.0, color: $0 % 4, values: $1.1) }
                .filter { $0.values.contains { ($0 ?? 0) > 0 } }
            guard !series.isEmpty else { return "" }
            var plot = LinePlot(
                title: title, unit: unit, samples: samples, marks: report.marks, series: series,
                isLogarithmic: isLogarithmic)
            if isLogarithmic { plot.text = { Figure.duration(microseconds: $0) } }
            return plot.html
        }
        return plot("Sent and acked", "a second", [("sent", rate(\.sent)), ("acked", rate(\.acked))])
            + plot("Delivered", "a second", [("all", rate(\.delivered)), ("barrage", rate(\.barrage))])
            + plot(
                "Latency", "logarithmic",
                [
                    ("ack p50", percentile(.ack, 50)), ("ack p99", percentile(.ack, 99)),
                    ("receipt p50", percentile(.receipt, 50)), ("receipt p99", percentile(.receipt, 99)),
                ], isLogarithmic: true)
            + plot("Bots in their rooms", "", [("here", samples.map { Double($0.here) })])
            + plot(
                "Comings and troubles", "a second",
                [("entered", rate(\.entered)), ("connections lost", rate(\.lost)), ("errors", rate(\.errors))])
    }

    private var histograms: String {
        let plots = LatencyKind.allCases.enumerated().compactMap { index, kind in
            report.latencies[kind].map { HistogramPlot(title: kind.title, color: index % 4, histogram: $0).html }
        }
        return "<div class=halves>\(plots.joined())</div>"
    }

    // MARK: - Tables

    private var latencies: String {
        let marks = [50.0, 90, 99, 99.9]
        let rows = LatencyKind.allCases.compactMap { kind -> [String]? in
            guard let histogram = report.latencies[kind] else { return nil }
            return [kind.title, Figure.grouped(histogram.totalCount)]
                + marks.map { Figure.duration(microseconds: Double(histogram.valueAtPercentile($0))) }
                + [Figure.duration(microseconds: Double(histogram.max))]
        }
        return Self.table(["", "measured", "p50", "p90", "p99", "p99.9", "max"], rows)
    }

    private var ledger: String {
        let totals = report.totals
        func row(_ name: String, _ sent: LedgerTotals.Sent) -> [String] {
            [
                name, Figure.grouped(sent.sent), Figure.grouped(sent.accepted), Figure.grouped(sent.refused),
                Figure.grouped(sent.unanswered + sent.unansweredButSeen), Figure.grouped(sent.unansweredButSeen),
            ]
        }
        let sent = [("kept", totals.kept), ("unkept", totals.unkept), ("barrage", totals.barrage)]
            .filter { $0.1.sent > 0 }.map { row($0.0, $0.1) }
        let received: [(String, UInt64)] = [
            ("kept, live", totals.received), ("kept, by resuming", totals.recovered),
            ("named by SLOW gaps", totals.namedBySlow), ("of these fetched from history", totals.foundAfterGap),
            ("named by BUDGET gaps", totals.namedByBudget), ("found in history", totals.inHistory),
            ("unkept", totals.unkeptReceived), ("unkept, told as skipped", totals.unkeptSkipped),
            ("barrage", totals.barrageReceived), ("barrage, told as skipped", totals.barrageSkipped),
            ("enter and exit notifications", totals.notifications), ("of these digests", totals.digests),
            ("queue notifications replayed", totals.queueEvents), ("queue answers compared", totals.queueAnswers),
            ("sanctions replayed", totals.sanctions), ("refusals compared", totals.refusals),
            ("too late to tell a double", totals.unjudged),
        ]
        return Self.table(["sent", "in all", "acked", "refused", "without answer", "of these seen"], sent)
            + "<div style=height:12px></div>"
            + Self.table(
                ["received", "in all"], received.filter { $0.1 > 0 }.map { [$0.0, Figure.grouped($0.1)] })
    }

    private var connections: String {
        let counters = report.counters
        let rows: [(String, UInt64)] = [
            ("connections tried", counters.connects), ("up", counters.connected), ("lost", counters.reconnects),
            ("of these without a reconnect hint", counters.unannounced), ("sessions resumed", counters.resumed),
            ("reconnect pushes", counters.sentAway), ("moved before their end", counters.moved),
            ("messages sent again", counters.retries), ("due, and not sent", counters.forgone),
            ("changes of the queue answered", counters.seatChanges),
            ("acts of managers answered", counters.moderations),
            ("kicks told", counters.kicked), ("left and came back", counters.left), ("bytes read", counters.bytesIn),
            ("bytes written", counters.bytesOut),
        ]
        var all = rows.filter { $0.1 > 0 }.map { [$0.0, Figure.grouped($0.1)] }
        for (code, count) in counters.errors.sorted(by: { $0.key < $1.key }) {
            all.append(["error \(code)", Figure.grouped(count)])
        }
        for (code, count) in counters.closes.sorted(by: { $0.key < $1.key }) {
            all.append([code == 0 ? "closed without code" : "closed with \(code)", Figure.grouped(count)])
        }
        return Self.table(["", "count"], all)
    }

    private var settings: String {
        let scenario = report.scenario
        let stages = report.marks.map { mark in
            [
                Figure.escape(mark.name), Figure.clock(mark.seconds), "\(Figure.decimal(mark.length, 1)) s",
                mark.allWereBack ? "" : "not all were back",
            ]
        }
        let rows: [(String, String)] = [
            ("bots", Figure.grouped(scenario.bots)), ("rooms", report.rooms.prefix(20).joined(separator: ", ")),
            ("senders", Figure.grouped(scenario.senders)), ("managers of each room", "\(scenario.managersPerRoom)"),
            ("text", "\(scenario.bytes) bytes"),
            (
                "ramp",
                scenario.rampPerSecond > 0
                    ? "\(Figure.short(scenario.rampPerSecond)) a second"
                    : "\(scenario.enteringMax) on their way at a time"
            ), ("in flight", "\(scenario.inFlightMax)"), ("loops", "\(scenario.loops)"),
        ]
        return "<div class=card><pre>\(Figure.escape(commandLine))</pre></div><div style=height:12px></div>"
            + Self.table(["part", "from", "length", ""], stages) + "<div style=height:12px></div>"
            + Self.table(["setting", "value"], rows.map { [$0.0, Figure.escape($0.1)] })
    }

    /// The first column is text, the others are figures. Cells are HTML.
    private static func table(_ heads: [String], _ rows: [[String]]) -> String {
        guard !rows.isEmpty else { return "" }
        func row(_ cells: [String], _ tag: String) -> String {
            "<tr>"
                + cells.enumerated().map { "<\(tag)\($0 == 0 ? "" : " class=n")>\($1)</\(tag)>" }.joined() + "</tr>"
        }
        return "<div class=\"card scroll\"><table>" + row(heads, "th") + rows.map { row($0, "td") }.joined()
            + "</table></div>"
    }
}
