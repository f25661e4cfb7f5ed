import ChatModel

/// Messages of bots, and their answers.
extension RoomLedger {
    /// Notes a message that is about to be sent for the first time, and returns its n, from which its text follows.
    package mutating func send(
        _ kind: SentKind, by viewer: Viewer, bytes: Int, at instant: SwarmInstant
    ) -> Int {
        let bot = viewers[viewer.index].bot
        let n = sent[viewer.index].count + 1
        let text = names.text(of: bot, n, bytes: bytes)
        sent[viewer.index].append(
            SentMessage(
                kind: kind, body: Fingerprint(text), sentAt: instant, number: sentCounts[kind, default: 0]))
        sentCounts[kind, default: 0] += 1
        if kind == .barrage, viewers[viewer.index].stay == .here { viewers[viewer.index].ownBarrage.insert(n) }
        return n
    }

    /// Notes an ack; a repeated one must say the same.
    package mutating func acknowledge(_ n: Int, of viewer: Viewer, _ ack: Acknowledgement) {
        guard let message = message(n, viewer.index) else { return }
        let stem = names.stem(of: viewers[viewer.index].bot, n)
        switch message.kind {
        case .kept:
            guard let seq = ack.seq, let messageID = ack.messageID, isPlausible(seq) else {
                note(.malformed, "\(name(viewer)): the ack of \(stem) has no seq or no messageId")
                break
            }
            settle(
                KeptSighting(
                    seq: seq, messageID: messageID, body: message.body,
                    origin: .bot(Claim(bot: viewers[viewer.index].bot, n: n)), time: ack.time), isAck: true)
        case .unkept:
            if ack.seq != nil {
                note(.contradiction, "\(name(viewer)): \(stem) was sent unkept and its ack has a seq")
            }
            if let known = message.messageID, let new = ack.messageID, known != new {
                note(.contradiction, "\(name(viewer)): \(stem) was acked or seen with another messageId")
            }
            if message.messageID == nil { sent[viewer.index][n - 1].messageID = ack.messageID }
        case .barrage: break
        }
        if message.state == .refused {
            note(.contradiction, "\(name(viewer)): \(stem) was refused and then acked")
        }
        sent[viewer.index][n - 1].state = .accepted
    }

    /// Notes that a message was refused for good.
    package mutating func refuse(_ n: Int, of viewer: Viewer) {
        guard let message = message(n, viewer.index) else { return }
        viewers[viewer.index].ownBarrage.remove(n)
        guard message.state == .unanswered else {
            if message.state == .accepted {
                note(
                    .contradiction,
                    "\(name(viewer)): \(names.stem(of: viewers[viewer.index].bot, n)) was acked and then refused")
            }
            return
        }
        sent[viewer.index][n - 1].state = .refused
        if message.wasSeen { noteRefusedButAppeared(Claim(bot: viewers[viewer.index].bot, n: n)) }
    }

    /// Notes that a message got no answer on a connection that lived all the time.
    package mutating func noteUnanswered(_ n: Int, of viewer: Viewer) {
        noteUnanswered(names.stem(of: viewers[viewer.index].bot, n), of: viewer)
    }

    /// Notes the same of another request.
    package mutating func noteUnanswered(_ what: String, of viewer: Viewer) {
        note(.unanswered, "\(name(viewer)): \(what) was never answered on a living connection")
    }

    mutating func noteRefusedButAppeared(_ claim: Claim) {
        note(.refusedButAppeared, "\(names.stem(of: claim.bot, claim.n)) was refused and appeared in \(room)")
    }

    /// A message of any bot of the run.
    func message(_ claim: Claim) -> SentMessage? {
        guard let index = viewerIndex[claim.bot] else { return remote[claim]?.message }
        return message(claim.n, index)
    }

    mutating func update(_ claim: Claim, _ change: (inout SentMessage) -> Void) {
        guard let index = viewerIndex[claim.bot] else {
            if remote[claim] != nil { change(&remote[claim]!.message) }
            return
        }
        if sent[index].indices.contains(claim.n - 1) { change(&sent[index][claim.n - 1]) }
    }

    func message(_ n: Int, _ index: Int) -> SentMessage? {
        guard sent.indices.contains(index), n >= 1, n <= sent[index].count else { return nil }
        return sent[index][n - 1]
    }

    /// Notes something that the protocol does not allow.
    package mutating func noteMalformed(_ viewer: Viewer, _ text: String) {
        note(.malformed, "\(name(viewer)): \(text)")
    }
}
