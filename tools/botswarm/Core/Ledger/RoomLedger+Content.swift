import ChatModel

/// The content of the stream: each message is judged when it is seen first, and compared from then on.
extension RoomLedger {
    func isPlausible(_ seq: UInt64) -> Bool { seq >= 1 && seq <= SeqSet.seqMax }

    /// Notes a kept message at its seq. Returns false when the seq is impossible.
    @discardableResult
    mutating func settle(_ sighting: KeptSighting, isAck: Bool = false) -> Bool {
        guard isPlausible(sighting.seq) else {
            note(.malformed, "a message of \(room) has the impossible seq \(sighting.seq)")
            return false
        }
        if let known = contents[sighting.seq] {
            compare(known, sighting)
        } else {
            contents[sighting.seq] = Content(
                messageID: sighting.messageID, body: sighting.body, claim: origin(of: sighting), time: sighting.time)
            lastSeq = max(lastSeq, sighting.seq)
            if case .notification(let event) = sighting.origin { notes?.note(event, sighting) }
        }
        if !isAck, case .bot(let claim) = sighting.origin { noteSeen(claim) }
        return true
    }

    /// Notes that somebody has seen a message.
    private mutating func noteSeen(_ claim: Claim) {
        guard let message = message(claim), !message.wasSeen else { return }
        update(claim) { $0.wasSeen = true }
        if message.state == .refused { noteRefusedButAppeared(claim) }
    }

    private mutating func compare(_ known: Content, _ sighting: KeptSighting) {
        if known.messageID != sighting.messageID {
            note(
                .contradiction, "two messages, by their messageId, were told to be seq \(sighting.seq) of \(room)")
        } else if known.body != sighting.body {
            note(.contradiction, "seq \(sighting.seq) of \(room) was told with two contents")
        }
    }

    /// Which bot's message a new seq holds, after having checked that it was sent, as this, and has no other seq.
    private mutating func origin(of sighting: KeptSighting) -> Claim? {
        switch sighting.origin {
        case .notification: return nil
        case .foreign:
            note(.foreign, "seq \(sighting.seq) of \(room) is a message that no bot has sent")
            return nil
        case .bot(let claim):
            let stem = names.stem(of: claim.bot, claim.n)
            meet(claim, .kept, sighting.sentAt)
            guard let message = message(claim), message.kind == .kept else {
                note(
                    .foreign, "seq \(sighting.seq) of \(room) says that it is \(stem), which was not sent so")
                return nil
            }
            if message.body != sighting.body {
                note(.contradiction, "seq \(sighting.seq) of \(room) has another text than \(stem) was sent with")
            }
            if let seq = message.seq {
                note(.duplicate, "\(stem) is in \(room) twice: seq \(seq) and seq \(sighting.seq)")
            } else {
                update(claim) {
                    $0.seq = sighting.seq
                    $0.messageID = sighting.messageID
                }
            }
            return claim
        }
    }

    /// Notes that a message without seq was seen. Returns nil, with a finding, for one that was not sent so.
    mutating func see(
        _ claim: Claim, _ kind: SentKind, body: Fingerprint, messageID: Fingerprint?, sentAt: SwarmInstant?
    ) -> SentMessage? {
        meet(claim, kind, sentAt)
        guard let message = message(claim), message.kind == kind else {
            note(
                .foreign, "\(room): \(names.stem(of: claim.bot, claim.n)) came as \(kind), and was not sent so")
            return nil
        }
        if message.body != body {
            note(
                .contradiction,
                "\(room): \(names.stem(of: claim.bot, claim.n)) came with another text than it was sent with")
        }
        noteSeen(claim)
        if let messageID {
            if let known = message.messageID {
                if known != messageID {
                    note(
                        .contradiction, "\(room): \(names.stem(of: claim.bot, claim.n)) has two messageIds")
                }
            } else {
                update(claim) { $0.messageID = messageID }
            }
        }
        return message
    }
}
