import Histogram

/// One second of a run, or more of a long one.
package struct TimelineSample: Sendable {
    /// Since the run began.
    var seconds: Double
    /// How long it covers.
    var length: Double
    var phase: String
    var here: Int
    var counts: Counts
    var latencies: [LatencyKind: Histogram<UInt64>]

    /// The events in it.
    struct Counts: Sendable, Hashable, Codable {
        var sent: UInt64 = 0
        var acked: UInt64 = 0
        var delivered: UInt64 = 0
        var barrage: UInt64 = 0
        var entered: UInt64 = 0
        var lost: UInt64 = 0
        var errors: UInt64 = 0

        init() {}

        init(from old: LaneCounters, to new: LaneCounters) {
            sent = new.sent &- old.sent
            acked = new.acked &- old.acked
            delivered = new.delivered &- old.delivered
            barrage = new.barrageDelivered &- old.barrageDelivered
            entered = new.entered &- old.entered
            lost = new.reconnects &- old.reconnects
            errors = new.errorCount &- old.errorCount
        }

        mutating func add(_ other: Counts) {
            sent += other.sent
            acked += other.acked
            delivered += other.delivered
            barrage += other.barrage
            entered += other.entered
            lost += other.lost
            errors += other.errors
        }
    }

    mutating func add(_ other: TimelineSample) {
        here = max(here, other.here)
        counts.add(other.counts)
        Latencies.add(other.latencies, to: &latencies)
    }
}

/// A run over time: bounded, because a long run's samples are put together two by two.
package struct RunTimeline: Sendable {
    package static let samplesMax = 1_200

    package private(set) var samples: [TimelineSample] = []
    private var stride = 1
    private var pending: (sample: TimelineSample, count: Int)?

    package init() {}

    init(_ samples: [TimelineSample]) { self.samples = samples }

    mutating func append(_ sample: TimelineSample) {
        if var open = pending {
            open.sample.add(sample)
            open.sample.length += sample.length
            open.count += 1
            pending = open
        } else {
            pending = (sample, 1)
        }
        guard let open = pending, open.count >= stride else { return }
        samples.append(open.sample)
        pending = nil
        if samples.count >= Self.samplesMax { halve() }
    }

    private mutating func halve() {
        var halved: [TimelineSample] = []
        for index in Swift.stride(from: 0, to: samples.count - 1, by: 2) {
            var sample = samples[index]
            sample.add(samples[index + 1])
            sample.length += samples[index + 1].length
            halved.append(sample)
        }
        samples = halved
        stride *= 2
    }

    /// Adds another worker's: what happened in the length of a sample goes into it.
    mutating func merge(_ other: RunTimeline) {
        var rest = other.samples[...]
        var (ownHere, otherHere) = (0, rest.first?.here ?? 0)
        for index in samples.indices {
            let end = samples[index].seconds + samples[index].length
            ownHere = samples[index].here
            while let next = rest.first, next.seconds + next.length / 2 < end {
                otherHere = next.here
                samples[index].add(rest.removeFirst())
            }
            samples[index].here = ownHere + otherHere
        }
        samples += rest.map { sample in
            var sample = sample
            sample.here += ownHere
            return sample
        }
    }
}
