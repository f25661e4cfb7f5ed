import ChatModel

/// A kept message as it came: by push, as missed, or from history.
package struct KeptSighting: Hashable, Sendable {
    package let seq: UInt64
    package let messageID: Fingerprint
    package let body: Fingerprint
    package let origin: SightingOrigin
    /// When the room applied it.
    package let time: Timestamp
    /// When it was sent, if it says so: workers of one run tell each other.
    package let sentAt: SwarmInstant?

    package init(
        seq: UInt64, messageID: Fingerprint, body: Fingerprint, origin: SightingOrigin, time: Timestamp = Timestamp(0),
        sentAt: SwarmInstant? = nil
    ) {
        self.seq = seq
        self.messageID = messageID
        self.body = body
        self.origin = origin
        self.time = time
        self.sentAt = sentAt
    }
}

/// A message of a person without seq, as it came.
package struct UnkeptSighting: Hashable, Sendable {
    /// The seq that it follows.
    package let after: UInt64
    package let messageID: Fingerprint
    package let body: Fingerprint
    package let origin: SightingOrigin
    package let time: Timestamp
    package let sentAt: SwarmInstant?

    package init(
        after: UInt64, messageID: Fingerprint, body: Fingerprint, origin: SightingOrigin,
        time: Timestamp = Timestamp(0), sentAt: SwarmInstant? = nil
    ) {
        self.after = after
        self.messageID = messageID
        self.body = body
        self.origin = origin
        self.time = time
        self.sentAt = sentAt
    }
}

/// A barrage item, as it came.
package struct BarrageSighting: Hashable, Sendable {
    package let body: Fingerprint
    package let claim: Claim?
    /// How many equal texts it stands for. The swarm's texts are unique, so it must be 1.
    package let count: Int64
    package let sentAt: SwarmInstant?

    package init(body: Fingerprint, claim: Claim?, count: Int64, sentAt: SwarmInstant? = nil) {
        self.body = body
        self.claim = claim
        self.count = count
        self.sentAt = sentAt
    }
}

/// Where a message that came seems to be from.
package enum SightingOrigin: Hashable, Sendable {
    /// Its text names a bot of this run.
    case bot(Claim)
    /// The room told that something changed: nobody's text.
    case notification(RoomEvent)
    /// Anything else: no bot can have sent it.
    case foreign
}

/// The answer to an `enter`.
package struct EntryReply: Sendable {
    package var seq: UInt64
    package var epoch: String
    /// The `since` that the bot asked for; nil on its first entry.
    package var since: UInt64?
    package var recovered: Bool?
    package var missed: [KeptSighting]
    package var missedMore: Bool

    package init(
        seq: UInt64, epoch: String, since: UInt64? = nil, recovered: Bool? = nil, missed: [KeptSighting] = [],
        missedMore: Bool = false
    ) {
        self.seq = seq
        self.epoch = epoch
        self.since = since
        self.recovered = recovered
        self.missed = missed
        self.missedMore = missedMore
    }
}

/// Why messages were left out.
package enum GapReason: Hashable, Sendable {
    case slow, budget
}

/// How a message was sent.
package enum SentKind: String, Hashable, Sendable, CaseIterable, Codable {
    case kept, unkept, barrage
}
