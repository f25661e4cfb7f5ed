import ChatModel

/// The swarm's knowledge of one message that a bot has sent.
package struct SentMessage: Sendable {
    package enum State: String, Hashable, Sendable, Codable {
        /// No answer yet, or none ever: it may appear, at most once. Can transition to: `accepted`, `refused`.
        case unanswered
        /// Acked. Final.
        case accepted
        /// Refused for good: it must not appear. Final.
        case refused
    }

    package internal(set) var kind: SentKind
    package let body: Fingerprint
    /// When it was first sent.
    package internal(set) var sentAt: SwarmInstant
    /// Its place among the room's sent messages of its kind, from 0.
    package let number: Int
    package internal(set) var state = State.unanswered
    /// Whether anybody has seen it.
    package internal(set) var wasSeen = false
    package internal(set) var messageID: Fingerprint?
    /// Only for a kept message, by its ack or its first sighting.
    package internal(set) var seq: UInt64?

    /// Whether it is known to be in the room's stream.
    var isInStream: Bool { state == .accepted || wasSeen }
}

/// The content of an ack.
package struct Acknowledgement: Hashable, Sendable {
    /// Absent for a barrage.
    package let messageID: Fingerprint?
    /// Only for a kept message.
    package let seq: UInt64?
    /// Only for a message.
    package let time: Timestamp

    package init(messageID: Fingerprint? = nil, seq: UInt64? = nil, time: Timestamp = Timestamp(0)) {
        self.messageID = messageID
        self.seq = seq
        self.time = time
    }
}
