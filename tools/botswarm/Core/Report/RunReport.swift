import Histogram

/// The result of a run.
package struct RunReport: Sendable {
    package let scenario: Scenario
    package let run: String
    package let rooms: [String]
    package internal(set) var findings = Findings()
    package var totals = LedgerTotals()
    var counters = LaneCounters()
    var latencies = Latencies()
    /// While senders were sending.
    var sendingSeconds = 0.0
    package internal(set) var acked: UInt64 = 0
    package internal(set) var delivered: UInt64 = 0
    var lastFailure: String?
    /// From the first connection until all were in.
    var enteringSeconds = 0.0
    /// Processes that had a part.
    var workers = 1
    package internal(set) var timeline = RunTimeline()
    package internal(set) var marks: [StageMark] = []

    package init(scenario: Scenario, run: String, rooms: [String]) {
        self.scenario = scenario
        self.run = run
        self.rooms = rooms
    }

    /// Whether the ledger balances.
    package var isBalanced: Bool { findings.isEmpty }

    /// The numbers of error codes that requests were answered with.
    package var errors: [Int: UInt64] { counters.errors }

    /// The longest of a kind; nil when there was none.
    package func longest(_ kind: LatencyKind) -> Duration? { latencies[kind].map { .microseconds($0.max) } }

    private func perSecond(_ count: UInt64) -> Double { sendingSeconds > 0 ? Double(count) / sendingSeconds : 0 }

    /// For people: aligned lines.
    package var text: String {
        var table = ReportTable()
        table.row("run", "\(scenario.name) \(run)" + (workers > 1 ? ", \(workers) workers" : ""))
        table.row(
            "bots", "\(scenario.bots) in \(rooms.count) room\(rooms.count == 1 ? "" : "s"), \(scenario.senders) senders"
        )
        table.row(
            "connections",
            "\(counters.connects) tried, \(counters.connected) up, \(counters.reconnects) lost "
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
        happenings(&table)
        deliveries(&table)
        table.row("ack rate", "\(Self.text(perSecond(acked))) a second for \(Self.text(sendingSeconds)) s")
        table.row("delivery rate", "\(Self.text(perSecond(delivered))) a second")
        for kind in LatencyKind.allCases { latency(kind, &table) }
        return table.text + verdict
    }

    /// Rows that belong to some scenarios only.
    private func happenings(_ table: inout ReportTable) {
        if enteringSeconds > 0 {
            table.row(
                "entering",
                "\(scenario.bots) in \(Self.text(enteringSeconds)) s, "
                    + "\(Self.text(Double(scenario.bots) / enteringSeconds)) a second")
        }
        if counters.sentAway > 0 {
            table.row("sent away", "\(counters.sentAway) reconnect pushes, \(counters.moved) moved before their end")
        }
        if totals.notifications > 0 {
            table.row("digests", "\(totals.digests) of \(totals.notifications) enter and exit notifications")
        }
        for mark in marks where scenario.stages.contains(where: { $0.name == mark.name && $0.endsWhenAllAreBack }) {
            table.row(
                "after the \(mark.name)",
                mark.allWereBack
                    ? "all were back in \(Self.text(mark.length)) s"
                    : "not all were back in \(Self.text(mark.length)) s")
        }
        if scenario.slowPercent > 0, totals.namedBySlow == 0 {
            table.row("slow viewers", "lost nothing: for a gap it takes longer, or more or larger messages")
        }
        if counters.left > 0 { table.row("left", "\(counters.left) left and came back") }
        if totals.queueEvents > 0 {
            table.row(
                "queue",
                "\(counters.seatChanges) changes answered, \(totals.queueEvents) notifications replayed, "
                    + "\(totals.queueAnswers) answers compared")
        }
        if totals.sanctions > 0 {
            table.row(
                "moderation",
                "\(counters.moderations) acts answered, \(totals.sanctions) notifications replayed, "
                    + "\(counters.kicked) kicks told")
        }
        if totals.refusals > 0 { table.row("refusals", "\(totals.refusals) compared with the stream") }
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

    private func latency(_ kind: LatencyKind, _ table: inout ReportTable) {
        guard let histogram = latencies[kind] else { return }
        let marks = [50, 90, 99, 99.9].map { percentile in
            "p\(percentile == percentile.rounded() ? "\(Int(percentile))" : "\(percentile)") "
                + Self.milliseconds(histogram.valueAtPercentile(percentile))
        }
        table.row(kind.title, (marks + ["max " + Self.milliseconds(histogram.max)]).joined(separator: "  ") + "  ms")
    }

    static func milliseconds(_ microseconds: UInt64) -> String {
        let hundredths = (microseconds + 5) / 10
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }

    static func text(_ value: Double) -> String {
        let tenths = UInt64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func text(_ counts: [Int: UInt64], zero: String) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key == 0 ? zero : "\($0.key)"): \($0.value)" }
            .joined(separator: ", ")
    }
}
