import ChatModel
import Synchronization
import Wire

/// What a bot says.
extension Bot {
    /// Says as much as is due.
    func speak(_ now: SwarmInstant) {
        guard isHere, var pacer else { return }
        while unanswered.count < lane.scenario.inFlightMax, !isFull, pacer.take(at: now) { say(now) }
        self.pacer = pacer
    }

    func finishSpeaking() {
        if let pacer { lane.counters.forgone += pacer.forgone }
        pacer = nil
    }

    private func say(_ now: SwarmInstant) {
        let scenario = lane.scenario
        let kind: SentKind =
            scenario.sendsBarrage
            ? .barrage : Int.random(in: 0..<100, using: &lane.random) < scenario.unkeptPercent ? .unkept : .kept
        let n = book.ledger.withLock { $0.send(kind, by: viewer, bytes: scenario.bytes, at: now) }
        unanswered[n] = Unanswered(kind: kind, sentAt: now)
        lane.counters.sent += 1
        transmit(n, kind)
    }

    /// Sends message n, for the first time or again: the text follows from n.
    func transmit(_ n: Int, _ kind: SentKind) {
        let text = lane.sightings.names.text(of: id, n, bytes: lane.scenario.bytes)
        if kind == .barrage {
            return request(.barrage(BarrageRequest(room: book.room, text: text)), .barrage(n: n))
        }
        var draft = MessageDraft(body: .text(text))
        draft.keep = kind == .kept
        let clientID = lane.sightings.names.stem(of: id, n)
        request(.send(SendRequest(room: book.room, clientID: clientID, draft: draft)), .message(n: n))
    }

    func acked(_ n: Int, _ result: SendResult) {
        var seq: UInt64?
        if case .kept(let number) = result.place { seq = number }
        let ack = Acknowledgement(messageID: Fingerprint(result.messageID), seq: seq)
        book.ledger.withLock { $0.acknowledge(n, of: viewer, ack) }
        noteAck(n)
    }

    func accepted(_ n: Int) {
        book.ledger.withLock { $0.acknowledge(n, of: viewer, Acknowledgement()) }
        noteAck(n)
    }

    private func noteAck(_ n: Int) {
        guard let message = unanswered.removeValue(forKey: n) else { return }
        lane.counters.acked += 1
        lane.latencies.noteAck(lane.readTime.microseconds(since: message.sentAt))
        // With rate 0 the next one is due now.
        if isSending { speak(lane.readTime) }
    }

    func refused(_ n: Int, _ error: ChatError) {
        guard let message = unanswered[n] else { return }
        let age = lane.readTime.microseconds(since: message.sentAt)
        if message.kind != .barrage, Self.isWorthRepeating(error.code), age < Self.repeatMicrosecondsMax {
            after(milliseconds: Self.wait(for: error)) { [weak self] in
                guard let self, isHere, let message = unanswered[n] else { return }
                lane.counters.retries += 1
                transmit(n, message.kind)
            }
            return
        }
        unanswered[n] = nil
        lane.counters.refused += 1
        // A failure inside the server leaves open whether it was done.
        if error.code != .internal, error.code != .unavailable { book.ledger.withLock { $0.refuse(n, of: viewer) } }
    }

    /// The run is over, and these requests were never answered although the connection lived.
    func noteUnanswered() {
        guard isHere else { return }
        for request in pending.values {
            switch request {
            case .message(let n), .barrage(let n): book.ledger.withLock { $0.noteUnanswered(n, of: viewer) }
            default: break
            }
        }
    }
}
