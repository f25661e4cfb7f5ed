import ChatModel

/// A run of taps: so many sessions, each with so many requests a second.
package struct TapPlan: Sendable {
    package var room: RoomID
    /// The tallies, one member after the other.
    package var keys: [String]
    package var members: Int
    package var requestsPerSecond: Double
    package var delta: Int64
    /// Those of all requests that want an answer, in hundredths.
    package var answeredPercent: Int
    package var rampPerSecond: Double

    package init(
        room: RoomID, keys: [String] = [Tally.like], members: Int, requestsPerSecond: Double, delta: Int64,
        answeredPercent: Int, rampPerSecond: Double
    ) {
        self.room = room
        self.keys = keys
        self.members = members
        self.requestsPerSecond = requestsPerSecond
        self.delta = delta
        self.answeredPercent = answeredPercent
        self.rampPerSecond = rampPerSecond
    }

    func key(of number: Int) -> String { keys[number % keys.count] }
}

/// Looks at what those who tap are told when they enter.
package struct TapListener: Sendable {
    /// Asked for when somebody asks to enter.
    package var mark: @Sendable () -> Int
    /// The answer, with the mark of when it was asked for.
    package var entered: @Sendable (_ answer: String, _ mark: Int) -> Void

    package init(
        mark: @escaping @Sendable () -> Int, entered: @escaping @Sendable (_ answer: String, _ mark: Int) -> Void
    ) {
        self.mark = mark
        self.entered = entered
    }
}

/// Why a total is not what the taps on it add up to.
package struct TapFault: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// Answered, and not counted.
        case lost
        /// More is counted than was tapped.
        case countedTwice
        /// A total was told that is not there, or was taken back.
        case toldTooMuch
    }

    package let kind: Kind
    /// A sentence for people.
    package let text: String
}

/// The taps of a run, by what is known of them.
package struct TapAccount: Sendable, Hashable {
    /// Written to a connection.
    package var sent: Int64 = 0
    /// Told to be on disk.
    package var answered: Int64 = 0
    /// Told not to be counted: over the rate.
    package var refused: Int64 = 0
    /// Told that nobody knows (503).
    package var unknown: Int64 = 0
    /// Those that want an answer, and had none yet or when their connection ended.
    package var unanswered: Int64 = 0
    /// The greatest total that any answer or push has told.
    package var toldTotal: Int64 = 0
    /// A total that was less than one before it on the same connection.
    package var fallen: Int64 = 0
    package var reconnects: Int64 = 0

    package init() {}

    package mutating func add(_ other: TapAccount) {
        sent += other.sent
        answered += other.answered
        refused += other.refused
        unknown += other.unknown
        unanswered += other.unanswered
        toldTotal = max(toldTotal, other.toldTotal)
        fallen += other.fallen
        reconnects += other.reconnects
    }

    /// Why a total in the end is not what these taps add up to; empty when it is.
    package func faults(total: Int64) -> [TapFault] {
        var faults: [TapFault] = []
        func note(_ kind: TapFault.Kind, _ text: String) { faults.append(TapFault(kind: kind, text: text)) }
        if total < answered { note(.lost, "\(answered) taps were answered, and \(total) are counted") }
        if total > sent - refused {
            note(.countedTwice, "\(sent - refused) taps were sent and not refused, and \(total) are counted")
        }
        if toldTotal > total { note(.toldTooMuch, "a total of \(toldTotal) was told, and the tally has \(total)") }
        if fallen > 0 { note(.toldTooMuch, "\(fallen) times a total fell") }
        return faults
    }
}
