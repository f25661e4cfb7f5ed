import ChatModel
import Synchronization
import Wire

/// Messages of a bot.
extension Bot {
    /// Says as much as is due.
    func speak(_ now: SwarmInstant) {
        guard isHere, !isLeaving else { return }
        if var pacer = messagePacer {
            while canSay, pacer.take(at: now) {
                let isUnkept = Int.random(in: 0..<100, using: &lane.random) < lane.unkeptPercent
                say(isUnkept ? .unkept : .kept, now)
            }
            messagePacer = pacer
        }
        if var pacer = barragePacer {
            while canSay, pacer.take(at: now) { say(.barrage, now) }
            barragePacer = pacer
        }
    }

    private var canSay: Bool { unanswered.count < lane.scenario.inFlightMax && !isFull }

    /// Begins to send at the stage's rates.
    func startSpeaking(_ stage: Stage, _ now: SwarmInstant) {
        func pacer(_ rate: Double?) -> Pacer? {
            rate.map { Pacer(ratePerSecond: $0, start: now, phase: Double.random(in: 0..<1, using: &lane.random)) }
        }
        messagePacer = pacer(stage.messageRate)
        barragePacer = pacer(stage.barrageRate)
    }

    func finishSpeaking() {
        for pacer in [messagePacer, barragePacer] { lane.counters.forgone += pacer?.forgone ?? 0 }
        messagePacer = nil
        barragePacer = nil
    }

    private func say(_ kind: SentKind, _ now: SwarmInstant) {
        let (n, from) = book.ledger.withLock {
            ($0.send(kind, by: viewer, bytes: lane.scenario.bytes, at: now), $0.book(of: viewer).position)
        }
        unanswered[n] = Unanswered(kind: kind, sentAt: now, from: from)
        lane.counters.sent += 1
        transmit(n, kind)
    }

    /// Sends message n, for the first time or again: the text follows from n.
    func transmit(_ n: Int, _ kind: SentKind) {
        let text = lane.sightings.names.text(of: id, n, bytes: lane.scenario.bytes)
        // Bots of other workers learn when it was sent.
        let ext = lane.isShared ? unanswered[n].map { SightingReader.ext(sentAt: $0.sentAt) } : nil
        if kind == .barrage {
            var barrage = BarrageRequest(room: book.room, text: text)
            barrage.ext = ext
            return request(.barrage(barrage), .barrage(n: n))
        }
        var draft = MessageDraft(body: .text(text))
        draft.keep = kind == .kept
        draft.ext = ext
        let clientID = lane.sightings.names.stem(of: id, n)
        request(.send(SendRequest(room: book.room, clientID: clientID, draft: draft)), .message(n: n))
    }

    func acked(_ n: Int, _ result: SendResult) {
        var seq: UInt64?
        if case .kept(let number) = result.place { seq = number }
        let ack = Acknowledgement(messageID: Fingerprint(result.messageID), seq: seq, time: result.time)
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
        lane.latencies.note(.ack, lane.readTime.microseconds(since: message.sentAt))
        // With rate 0 the next one is due now.
        speak(lane.readTime)
    }

    func refused(_ n: Int, _ error: ChatError) {
        guard let message = unanswered[n] else { return }
        let age = lane.readTime.microseconds(since: message.sentAt)
        if message.kind != .barrage, Self.isWorthRepeating(error.code), age < Self.repeatMicrosecondsMax {
            after(milliseconds: Self.wait(for: error)) { [weak self] in
                guard let self, isHere, let message = unanswered[n] else { return }
                lane.counters.retries += 1
                unanswered[n]?.isRepeated = true
                transmit(n, message.kind)
            }
            return
        }
        unanswered[n] = nil
        lane.counters.refused += 1
        noteRefusal(
            error, message.kind == .barrage ? "a barrage" : "a message", from: message.from,
            // A repeat may be decided behind what was sent later.
            n: message.kind == .barrage || message.isRepeated ? nil : n)
        // A failure inside the server leaves open whether it was done.
        if error.code != .internal, error.code != .unavailable { book.ledger.withLock { $0.refuse(n, of: viewer) } }
    }

    /// The run is over, and these requests were never answered although the connection lived.
    func noteUnanswered() {
        guard isHere else { return }
        for request in pending.values {
            switch request {
            case .message(let n), .barrage(let n): book.ledger.withLock { $0.noteUnanswered(n, of: viewer) }
            case .seat: book.ledger.withLock { $0.noteUnanswered("a change of the queue", of: viewer) }
            case .moderation(let ask):
                book.ledger.withLock { $0.noteUnanswered("\(ask.act) of \(ask.user)", of: viewer) }
            default: break
            }
        }
    }
}
