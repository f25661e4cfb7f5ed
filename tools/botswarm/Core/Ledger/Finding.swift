/// One way in which what was received does not balance with what was promised.
package struct Finding: Hashable, Sendable, Codable {
    package enum Kind: String, Hashable, Sendable, CaseIterable, Codable {
        /// A kept message came twice, or two seqs hold one message.
        case duplicate
        /// A seq came after a higher one.
        case reordered
        /// A seq neither came nor was named by a `gap`.
        case hole
        /// Two places say different things about one message.
        case contradiction
        /// Something that no bot has sent.
        case foreign
        /// A refused message appeared.
        case refusedButAppeared
        /// Resuming did not bring back what was missed.
        case notRecovered
        /// An acked message is not in history, or history is not dense.
        case notInHistory
        /// An unkept message or a barrage was lost without `skipped` or a disconnect.
        case silentLoss
        /// A bot's own barrage did not come back.
        case ownBarrageLost
        /// A request was never answered on a living connection.
        case unanswered
        /// A bot was put out, or is not in its room at the end.
        case notHere
        /// More pushes of a kind than a second may bring.
        case tooOften
        /// A frame, number or text that the protocol does not allow.
        case malformed
        /// A message of somebody who was muted, put out or blacklisted at its place in the stream.
        case heardAlthoughSilenced
        /// Somebody who was put out got more of the room, or was in it when he may not be.
        case hereAlthoughPutOut
        /// An answer that does not fit to what the room's stream tells.
        case wrongAnswer
        /// The queue, its notifications and its answers do not agree.
        case queueDiffers
        /// A transient element that outlived its owner's stay, or went too early.
        case wrongSeat
        /// A viewer budget that does not follow the rule.
        case wrongBudget
        /// The count of those who are here is wrong at the end.
        case miscounted
    }

    package let kind: Kind
    /// A sentence for people.
    package let text: String

    package init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}

/// All findings, counted; the first ones in words.
package struct Findings: Sendable {
    package static let toldMax = 10

    package private(set) var told: [Finding] = []
    package private(set) var counts: [Finding.Kind: Int] = [:]

    package init() {}

    package var total: Int { counts.values.reduce(0, +) }
    package var isEmpty: Bool { counts.isEmpty }

    package mutating func note(_ kind: Finding.Kind, _ text: String) {
        counts[kind, default: 0] += 1
        if told.count < Self.toldMax { told.append(Finding(kind, text)) }
    }

    package init(counts: [Finding.Kind: Int], told: [Finding]) {
        self.counts = counts
        self.told = Array(told.prefix(Self.toldMax))
    }

    package mutating func add(_ other: Findings) {
        for (kind, count) in other.counts { counts[kind, default: 0] += count }
        told += other.told.prefix(Self.toldMax - told.count)
    }
}
