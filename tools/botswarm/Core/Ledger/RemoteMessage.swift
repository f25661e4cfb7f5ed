/// Which bots of a room other workers of the run have, and what is known of them in advance.
package struct OtherBots: Sendable, Hashable {
    /// Bots of the whole run, and its rooms.
    package let bots: Int
    package let rooms: Int
    /// Which room this is.
    package let room: Int
    /// The length of a text.
    package let bytes: Int
    /// By how much their clocks may differ from this one; 0 on one machine.
    package let clockErrorNanoseconds: Int64

    package init(bots: Int, rooms: Int, room: Int, bytes: Int, clockErrorNanoseconds: Int64 = 0) {
        self.bots = bots
        self.rooms = rooms
        self.room = room
        self.bytes = bytes
        self.clockErrorNanoseconds = clockErrorNanoseconds
    }

    func contains(_ bot: BotID) -> Bool { bot.number < bots && bot.number % rooms == room }
}

/// A message of another worker's bot.
struct RemoteMessage: Sendable {
    var message: SentMessage
    /// Whether the bot's worker has stated it.
    var isStated = false
}

/// A worker's statement about one message that its bot has sent, at the end.
package struct MessageStatement: Sendable, Hashable, Codable {
    package let bot: Int
    package let n: Int
    package let kind: SentKind
    package let state: SentMessage.State
    package let sentAtNanoseconds: UInt64
    package let seq: UInt64?
    package let messageID: Fingerprint?
    package let wasSeen: Bool

    package init(_ claim: Claim, _ message: SentMessage) {
        bot = claim.bot.number
        n = claim.n
        kind = message.kind
        state = message.state
        sentAtNanoseconds = message.sentAt.nanoseconds
        seq = message.seq
        messageID = message.messageID
        wasSeen = message.wasSeen
    }

    package var claim: Claim { Claim(bot: BotID(bot), n: n) }
}

/// Messages of other workers' bots.
extension RoomLedger {
    /// Makes room for a message of another worker's bot that is seen first. Its text follows from who says it.
    mutating func meet(_ claim: Claim, _ kind: SentKind, _ sentAt: SwarmInstant?) {
        guard let others, viewerIndex[claim.bot] == nil, others.contains(claim.bot), remote[claim] == nil else {
            return
        }
        remote[claim] = RemoteMessage(
            message: SentMessage(
                kind: kind, body: Fingerprint(names.text(of: claim.bot, claim.n, bytes: others.bytes)),
                sentAt: sentAt ?? SwarmInstant(nanoseconds: 0), number: sentCounts[kind, default: 0]))
        sentCounts[kind, default: 0] += 1
    }

    /// The messages that this worker's bots have sent, for the other workers.
    package var statements: [MessageStatement] {
        var statements: [MessageStatement] = []
        for index in sent.indices {
            for (offset, message) in sent[index].enumerated() {
                statements.append(MessageStatement(Claim(bot: viewers[index].bot, n: offset + 1), message))
            }
        }
        return statements
    }

    /// Takes over what another worker states.
    package mutating func hear(_ statement: MessageStatement) {
        let claim = statement.claim
        let stem = names.stem(of: claim.bot, claim.n)
        meet(claim, statement.kind, SwarmInstant(nanoseconds: statement.sentAtNanoseconds))
        guard let known = remote[claim]?.message else { return }
        if known.kind != statement.kind {
            note(.contradiction, "\(stem) was sent as \(statement.kind) and came as \(known.kind) in \(room)")
        }
        remote[claim]?.isStated = true
        update(claim) {
            $0.state = statement.state
            $0.sentAt = SwarmInstant(nanoseconds: statement.sentAtNanoseconds)
        }
        if statement.state == .refused, known.wasSeen { noteRefusedButAppeared(claim) }
        if let seq = statement.seq, let messageID = statement.messageID {
            settle(
                KeptSighting(
                    seq: seq, messageID: messageID, body: known.body, origin: .bot(claim),
                    sentAt: SwarmInstant(nanoseconds: statement.sentAtNanoseconds)), isAck: true)
        } else if let messageID = statement.messageID, let other = known.messageID, other != messageID {
            note(.contradiction, "\(room): \(stem) has two messageIds")
        }
        if statement.wasSeen { update(claim) { $0.wasSeen = true } }
    }

    mutating func closeRemote() {
        for (claim, other) in remote.sorted(by: { ($0.key.bot, $0.key.n) < ($1.key.bot, $1.key.n) }) {
            if !other.isStated {
                note(.foreign, "\(names.stem(of: claim.bot, claim.n)) was seen in \(room), and no worker has sent it")
            }
            closeSent(claim)
        }
    }
}
