import Histogram

extension SparseHistogram {
    init(_ histogram: Histogram<UInt64>) {
        for recorded in histogram.recordedValues() {
            values.append(recorded.value)
            counts.append(recorded.count)
        }
    }

    func histogram(_ digits: SignificantDigits) -> Histogram<UInt64> {
        var histogram = Latencies.histogram(digits)
        for (value, count) in zip(values, counts) {
            histogram.record(min(value, Latencies.microsecondsMax), count: count)
        }
        return histogram
    }
}

extension WorkerSample {
    init(_ sample: TimelineSample) {
        self.init(
            seconds: sample.seconds, length: sample.length, phase: sample.phase, here: sample.here,
            counts: sample.counts, latencies: sample.latencies.mapValues(SparseHistogram.init))
    }

    var sample: TimelineSample {
        TimelineSample(
            seconds: seconds, length: length, phase: phase, here: here, counts: counts,
            latencies: latencies.mapValues { $0.histogram(.two) })
    }
}

extension WorkerReport {
    package init(_ report: RunReport) {
        self.init(
            counters: report.counters, totals: report.totals, findingCounts: report.findings.counts,
            findingsTold: report.findings.told, latencies: report.latencies.all.mapValues(SparseHistogram.init),
            samples: report.timeline.samples.map(WorkerSample.init), marks: report.marks,
            enteringSeconds: report.enteringSeconds, sendingSeconds: report.sendingSeconds, acked: report.acked,
            delivered: report.delivered, lastFailure: report.lastFailure)
    }
}

extension RunReport {
    /// Adds a worker's part.
    package mutating func merge(_ part: WorkerReport) {
        counters.add(part.counters)
        totals.merge(part.totals)
        findings.add(Findings(counts: part.findingCounts, told: part.findingsTold))
        for (kind, histogram) in part.latencies { latencies.add(kind, histogram.histogram(.three)) }
        timeline.merge(RunTimeline(part.samples.map(\.sample)))
        if marks.isEmpty { marks = part.marks }
        for (index, mark) in part.marks.enumerated() where marks.indices.contains(index) {
            marks[index].length = max(marks[index].length, mark.length)
            marks[index].allWereBack = marks[index].allWereBack && mark.allWereBack
        }
        enteringSeconds = max(enteringSeconds, part.enteringSeconds)
        sendingSeconds = max(sendingSeconds, part.sendingSeconds)
        acked += part.acked
        delivered += part.delivered
        lastFailure = lastFailure ?? part.lastFailure
    }
}

extension LedgerTotals {
    /// Adds another worker's: what each of them reads of the same rooms counts once.
    mutating func merge(_ other: LedgerTotals) {
        let (history, queue, sanctions) = (
            max(inHistory, other.inHistory), max(queueEvents, other.queueEvents), max(self.sanctions, other.sanctions)
        )
        add(other)
        inHistory = history
        queueEvents = queue
        self.sanctions = sanctions
    }
}
