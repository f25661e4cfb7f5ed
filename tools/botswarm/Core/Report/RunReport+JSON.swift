import FoundationEssentials
import Histogram

/// The report for scripts: one JSON object.
extension RunReport {
    private struct Document: Encodable {
        struct Sent: Encodable {
            var sent, acked, refused, unanswered, unansweredButSeen: UInt64
        }
        struct Kept: Encodable {
            var live, recovered, namedBySlowGaps, fetchedAfterGap, namedByBudgetGaps, inHistory: UInt64
        }
        struct Droppable: Encodable {
            var received, skipped: UInt64
        }
        struct Latency: Encodable {
            var count, p50, p90, p99, p999, max: UInt64
            var mean: Double
        }
        struct Told: Encodable {
            var kind, text: String
        }
        struct Stage: Encodable {
            var name: String
            var fromSeconds, seconds: Double
            var allWereBack: Bool
        }
        var scenario: String
        var run: String
        var workers: Int
        var balanced: Bool
        var bots, senders, bytes: Int
        var rooms: [String]
        var sendingSeconds, ackedPerSecond, deliveredPerSecond: Double
        var kept, unkept, barrage: Sent
        var keptReceived: Kept
        var unkeptReceived, barrageReceived: Droppable
        var connects, connected, lost, unannounced, resumed, repeated, forgone: UInt64
        var errors, closes: [String: UInt64]
        var enteringSeconds: Double
        var stages: [Stage]
        var notifications, digests, sentAway, moved, left, kicked, seatChanges, moderations: UInt64
        var queueEvents, queueAnswers, sanctions, refusalsCompared: UInt64
        var ackMicroseconds, receiptMicroseconds: Latency
        var slowReceiptMicroseconds, enterMicroseconds, arrivalMicroseconds, comebackMicroseconds: Latency?
        var seatMicroseconds, moderationMicroseconds: Latency?
        var findings: [String: Int]
        var firstFindings: [Told]
    }

    /// One line of JSON with sorted keys; latencies in microseconds.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }

    private var document: Document {
        Document(
            scenario: scenario.name, run: run, workers: workers, balanced: isBalanced, bots: scenario.bots,
            senders: scenario.senders, bytes: scenario.bytes,
            rooms: rooms, sendingSeconds: sendingSeconds,
            ackedPerSecond: sendingSeconds > 0 ? Double(acked) / sendingSeconds : 0,
            deliveredPerSecond: sendingSeconds > 0 ? Double(delivered) / sendingSeconds : 0,
            kept: Self.sent(totals.kept), unkept: Self.sent(totals.unkept), barrage: Self.sent(totals.barrage),
            keptReceived: Document.Kept(
                live: totals.received, recovered: totals.recovered, namedBySlowGaps: totals.namedBySlow,
                fetchedAfterGap: totals.foundAfterGap, namedByBudgetGaps: totals.namedByBudget,
                inHistory: totals.inHistory),
            unkeptReceived: Document.Droppable(received: totals.unkeptReceived, skipped: totals.unkeptSkipped),
            barrageReceived: Document.Droppable(received: totals.barrageReceived, skipped: totals.barrageSkipped),
            connects: counters.connects, connected: counters.connected, lost: counters.reconnects,
            unannounced: counters.unannounced, resumed: counters.resumed, repeated: counters.retries,
            forgone: counters.forgone,
            errors: Self.named(counters.errors), closes: Self.named(counters.closes),
            enteringSeconds: enteringSeconds,
            stages: marks.map {
                Document.Stage(
                    name: $0.name, fromSeconds: $0.seconds, seconds: $0.length, allWereBack: $0.allWereBack)
            },
            notifications: totals.notifications, digests: totals.digests, sentAway: counters.sentAway,
            moved: counters.moved,
            left: counters.left, kicked: counters.kicked, seatChanges: counters.seatChanges,
            moderations: counters.moderations, queueEvents: totals.queueEvents, queueAnswers: totals.queueAnswers,
            sanctions: totals.sanctions, refusalsCompared: totals.refusals,
            ackMicroseconds: Self.latency(latencies[.ack]), receiptMicroseconds: Self.latency(latencies[.receipt]),
            slowReceiptMicroseconds: latencies[.slowReceipt].map(Self.latency),
            enterMicroseconds: latencies[.enter].map(Self.latency),
            arrivalMicroseconds: latencies[.arrival].map(Self.latency),
            comebackMicroseconds: latencies[.comeback].map(Self.latency),
            seatMicroseconds: latencies[.seat].map(Self.latency),
            moderationMicroseconds: latencies[.moderation].map(Self.latency),
            findings: Dictionary(uniqueKeysWithValues: findings.counts.map { ($0.key.rawValue, $0.value) }),
            firstFindings: findings.told.map { Document.Told(kind: $0.kind.rawValue, text: $0.text) })
    }

    private static func sent(_ sent: LedgerTotals.Sent) -> Document.Sent {
        Document.Sent(
            sent: sent.sent, acked: sent.accepted, refused: sent.refused, unanswered: sent.unanswered,
            unansweredButSeen: sent.unansweredButSeen)
    }

    private static func named(_ counts: [Int: UInt64]) -> [String: UInt64] {
        Dictionary(uniqueKeysWithValues: counts.map { ("\($0.key)", $0.value) })
    }

    private static func latency(_ histogram: Histogram<UInt64>?) -> Document.Latency {
        guard let histogram, histogram.totalCount > 0 else {
            return Document.Latency(count: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0, mean: 0)
        }
        return Document.Latency(
            count: histogram.totalCount, p50: histogram.valueAtPercentile(50), p90: histogram.valueAtPercentile(90),
            p99: histogram.valueAtPercentile(99), p999: histogram.valueAtPercentile(99.9), max: histogram.max,
            mean: histogram.mean)
    }
}
