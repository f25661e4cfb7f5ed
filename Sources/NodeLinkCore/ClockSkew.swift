import ChatModel

/// How far this node's wall clock, and each other's, is off what most nodes' clocks say. A leader stamps entries with
/// its clock, so one that is off by more than `limitMilliseconds` does not lead (ARCHITECTURE.md, "Time").
///
/// A clock is judged by its distance to the middle of all that are known, this node's included: the median, or, of an
/// even number of clocks, whatever lies between the two middle ones. So two clocks that differ condemn neither: nobody
/// could say which is wrong. A value: times are passed in.
public struct ClockSkew: Sendable {
    /// A clock that is further off is wrong.
    public static let limitMilliseconds: Int64 = 1_000
    /// A clock that was wrong is right again when it is not further off than this, so that none changes all the time.
    public static let rightAgainMilliseconds: Int64 = 750
    /// A clock that is further off misjudges tokens: clients are sent to other nodes.
    public static let uselessMilliseconds = Limits.tokenSkewSeconds * 1_000
    /// An answer that took longer says nothing: at the worst, half of it is error.
    public static let roundTripMillisecondsMax: UInt64 = 500
    /// Older answers mean nothing any more.
    public static let ageMillisecondsMax: UInt64 = 60_000

    private struct Reading: Sendable {
        /// The time that the other clock was ahead of this node's.
        var ahead: Int64
        /// Monotonic.
        var heardAt: UInt64
    }

    private var readings: [NodeID: Reading] = [:]
    private let own: NodeID
    /// Nodes whose clocks are wrong, as of the last `judge`.
    public private(set) var wrong: Set<NodeID> = []

    /// - Parameter own: this node.
    public init(own: NodeID) { self.own = own }

    /// A node has said what its clock shows.
    /// - Parameters:
    ///   - time: its clock, in Unix milliseconds.
    ///   - ownTime: this node's clock when the question was sent.
    ///   - roundTrip: between question and answer, in milliseconds.
    ///   - now: a clock that never goes back, in milliseconds.
    public mutating func note(_ node: NodeID, time: Int64, ownTime: Int64, roundTrip: UInt64, at now: UInt64) {
        guard node != own, roundTrip <= Self.roundTripMillisecondsMax else { return }
        let (then, overflow) = ownTime.addingReportingOverflow(Int64(roundTrip / 2))
        let (ahead, underflow) = time.subtractingReportingOverflow(then)
        guard !overflow, !underflow else { return }
        readings[node] = Reading(ahead: ahead, heardAt: now)
    }

    /// How far each known clock is off, in milliseconds; positive: it is ahead. This node's is among them.
    public func offsets(at now: UInt64) -> [NodeID: Int64] {
        var clocks = readings.filter { now < $0.value.heardAt + Self.ageMillisecondsMax }.mapValues(\.ahead)
        clocks[own] = 0
        let sorted = clocks.values.sorted()
        let (low, high) = (sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
        return clocks.mapValues { $0 < low ? Self.difference($0, low) : $0 > high ? Self.difference($0, high) : 0 }
    }

    /// Judges all clocks by what is known now.
    public mutating func judge(at now: UInt64) {
        readings = readings.filter { now < $0.value.heardAt + Self.ageMillisecondsMax }
        wrong = Set(
            offsets(at: now).filter { node, offset in
                offset.magnitude
                    > UInt64(wrong.contains(node) ? Self.rightAgainMilliseconds : Self.limitMilliseconds)
            }.keys)
    }

    /// The nodes whose clocks are too far off for tokens, by what is known now.
    public func useless(at now: UInt64) -> Set<NodeID> {
        Set(offsets(at: now).filter { $0.value.magnitude > UInt64(Self.uselessMilliseconds) }.keys)
    }

    /// The nodes whose clocks show about what this node's shows, by what is known now; this node among them.
    public func agreeing(at now: UInt64) -> Set<NodeID> {
        let known = readings.filter { now < $0.value.heardAt + Self.ageMillisecondsMax }
        return Set(known.filter { $0.value.ahead.magnitude <= UInt64(Self.uselessMilliseconds) }.keys).union([own])
    }

    private static func difference(_ a: Int64, _ b: Int64) -> Int64 {
        let (result, overflow) = a.subtractingReportingOverflow(b)
        return overflow ? (a < b ? .min : .max) : result
    }
}
