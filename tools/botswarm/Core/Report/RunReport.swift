import Histogram

/// What a run has shown.
package struct RunReport: Sendable {
    package let scenario: Scenario
    package let run: String
    package let rooms: [String]
    package internal(set) var findings = Findings()
    package internal(set) var totals = LedgerTotals()
    var counters = LaneCounters()
    var latencies = Latencies()
    /// While senders were sending.
    var sendingSeconds = 0.0
    var acked: UInt64 = 0
    var delivered: UInt64 = 0
    var lastFailure: String?

    init(scenario: Scenario, run: String, rooms: [String]) {
        self.scenario = scenario
        self.run = run
        self.rooms = rooms
    }

    /// Whether the ledger balances.
    package var isBalanced: Bool { findings.isEmpty }

    private func perSecond(_ count: UInt64) -> Double { sendingSeconds > 0 ? Double(count) / sendingSeconds : 0 }

    /// For people: aligned lines.
    package var text: String {
        var table = ReportTable()
        table.row("run", run)
        table.row(
            "bots", "\(scenario.bots) in \(rooms.count) room\(rooms.count == 1 ? "" : "s"), \(scenario.senders) senders"
        )
        table.row(
            "connections",
            "\(counters.connects) tried, \(counters.connected) up, \(counters.reconnects) lost, "
                + "(\(counters.unannounced) without a reconnect hint), \(counters.resumed) resumed")
        if !counters.closes.isEmpty { table.row("close codes", Self.text(counters.closes, zero: "none")) }
        if !counters.errors.isEmpty { table.row("errors", Self.text(counters.errors, zero: "0")) }
        table.row("kept", text(totals.kept))
        if totals.unkept.sent > 0 { table.row("unkept", text(totals.unkept)) }
        if totals.barrage.sent > 0 { table.row("barrage", text(totals.barrage)) }
        if counters.retries > 0 { table.row("repeated", "\(counters.retries)") }
        if counters.forgone > 0 {
            table.row("not sent", "\(counters.forgone) were due while the sender could not send")
        }
        deliveries(&table)
        table.row("ack rate", "\(Self.text(perSecond(acked))) a second for \(Self.text(sendingSeconds)) s")
        table.row("delivery rate", "\(Self.text(perSecond(delivered))) a second")
        latency("send to ack", latencies.ack, &table)
        latency("send to receipt", latencies.receipt, &table)
        return table.text + verdict
    }

    private func deliveries(_ table: inout ReportTable) {
        table.row(
            "kept received",
            "\(totals.received) live, \(totals.recovered) by resuming, \(totals.namedBySlow) named by SLOW gaps "
                + "(\(totals.foundAfterGap) fetched), \(totals.namedByBudget) by BUDGET gaps")
        if totals.unkept.sent > 0 || totals.unkeptSkipped > 0 {
            table.row("unkept received", "\(totals.unkeptReceived), \(totals.unkeptSkipped) told as skipped")
        }
        if totals.barrage.sent > 0 {
            table.row("barrage received", "\(totals.barrageReceived), \(totals.barrageSkipped) told as skipped")
        }
        if totals.unjudged > 0 { table.row("not judged", "\(totals.unjudged) came too late to tell a double") }
        table.row("in history", "\(totals.inHistory)")
    }

    private var verdict: String {
        if isBalanced { return "The ledger balances.\n" }
        var text = "THE LEDGER DOES NOT BALANCE: \(findings.total) finding\(findings.total == 1 ? "" : "s")\n"
        for kind in Finding.Kind.allCases {
            if let count = findings.counts[kind] { text += "  \(count) \(kind.rawValue)\n" }
        }
        for (index, finding) in findings.told.enumerated() { text += "  \(index + 1). \(finding.text)\n" }
        if let lastFailure { text += "  The last failure of a connection: \(lastFailure)\n" }
        return text
    }

    private func text(_ sent: LedgerTotals.Sent) -> String {
        var text = "\(sent.sent) sent, \(sent.accepted) acked"
        if sent.refused > 0 { text += ", \(sent.refused) refused" }
        let open = sent.unanswered + sent.unansweredButSeen
        if open > 0 { text += ", \(open) without answer (\(sent.unansweredButSeen) of them appeared)" }
        return text
    }

    private func latency(_ name: String, _ histogram: Histogram<UInt64>, _ table: inout ReportTable) {
        guard histogram.totalCount > 0 else { return }
        let marks = [50, 90, 99, 99.9].map { percentile in
            "p\(percentile == percentile.rounded() ? "\(Int(percentile))" : "\(percentile)") "
                + Self.milliseconds(histogram.valueAtPercentile(percentile))
        }
        table.row(name, (marks + ["max " + Self.milliseconds(histogram.max)]).joined(separator: "  ") + "  ms")
    }

    private static func milliseconds(_ microseconds: UInt64) -> String {
        let hundredths = (microseconds + 5) / 10
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }

    private static func text(_ value: Double) -> String {
        let tenths = UInt64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func text(_ counts: [Int: UInt64], zero: String) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key == 0 ? zero : "\($0.key)"): \($0.value)" }
            .joined(separator: ", ")
    }
}
