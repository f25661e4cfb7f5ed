import ChatModel

/// The room's debt to the app's webhook (PROTOCOL.md, "Webhooks"). Whether a webhook is in force is a fact of each
/// command.
extension RoomState {
    /// The debt; nil: none.
    public var webhook: WebhookRecord? { @inline(never) get { owed.isEmpty ? nil : owed } }

    /// Whether anything is owed.
    public var isOwing: Bool { @inline(never) get { !owed.isEmpty } }

    /// The log entry of the newest opening, closing or held message that is owed; 0: none is.
    public var lastOwedEvent: UInt64 { @inline(never) get { max(owed.events.last?.index ?? 0, lastOwedHold) } }

    private var lastOwedHold: UInt64 { owedHolds.isEmpty ? 0 : owedHolds[owedHolds.count - 1].index }

    /// Held messages behind a log entry that are owed by rows of their own, the oldest first.
    public func owedHolds(after index: UInt64, countMax: Int) -> [RoomLifeEvent] {
        var held: [RoomLifeEvent] = []
        for event in owedHolds where event.index > index {
            guard held.count < countMax else { break }
            held.append(event)
        }
        return held
    }

    /// Whether nothing is owed any more of what that delivery brought.
    public func knowsDelivered(_ progress: WebhookProgress) -> Bool {
        let owesMessages =
            progress.incarnation == incarnation && owed.firstSeq > 0 && owed.firstSeq <= progress.seq
            || owed.events.contains { $0.owesMessages(through: progress) }
        let owesEvents =
            progress.eventIndex > 0
            && (owesAllForgotten(progress) || owed.events.contains { $0.index <= progress.eventIndex }
                || owed.firstReport > 0 && owed.firstReport <= progress.eventIndex
                || owed.firstHeld > 0 && owed.firstHeld <= progress.eventIndex)
        let owesForgotten = toldForgotten(by: progress) > owed.toldForgotten
        return !owesMessages && !owesEvents && !owesForgotten
    }

    /// How much of what was forgotten has been told with that delivery. A count that was begun anew is another one.
    private func toldForgotten(by progress: WebhookProgress) -> Int64 {
        guard progress.forgottenFrom == owed.forgottenFrom else { return 0 }
        return min(progress.forgotten ?? 0, owed.forgotten)
    }

    /// Whether a progress that does not say how much was told tells all of it with its first event.
    private func owesAllForgotten(_ progress: WebhookProgress) -> Bool {
        progress.forgotten == nil && owed.forgotten > owed.toldForgotten && !isOfPast(progress)
    }

    /// A kept message has come into being. Only the first that is owed is written down: all after it follow from it.
    mutating func owe(_ message: Message, for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook, message.webhook, owed.firstSeq == 0, let seq = message.seq else { return }
        owed.firstSeq = seq
        owed.since = message.time
        putOwed(&outcome)
    }

    /// The room was opened or closed.
    mutating func owe(_ kind: RoomLifeEvent.Kind, for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook else { return }
        addOwed(RoomLifeEvent(kind: kind, index: outcome.stamp.index, after: lastSeq, time: outcome.time), &outcome)
    }

    /// A message was held. It costs one row, however many are owed.
    mutating func oweHold(for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook else { return }
        let event = RoomLifeEvent(kind: .held, index: outcome.stamp.index, after: lastSeq, time: outcome.time)
        let before = owed
        if command.facts.owesByRow {
            giveRowsToHolds(&outcome)
            owedHolds.append(event)
            outcome.rows.append(row(of: event))
        } else {
            owed.events.append(event)
        }
        if owed.events.count(where: \.isHeld) + owedHolds.count > WebhookRecord.heldMax { forgetOldestHold(&outcome) }
        owed.firstHeld = owedHolds.first?.index ?? 0
        if owed != before { putOwed(&outcome) }
    }

    /// Those that were held before the level brought rows of their own get theirs, once. They are newer than all that have
    /// one.
    private mutating func giveRowsToHolds(_ outcome: inout Outcome) {
        let former = owed.events.filter(\.isHeld)
        guard !former.isEmpty else { return }
        owed.events.removeAll(where: \.isHeld)
        for event in former { outcome.rows.append(row(of: event)) }
        owedHolds.append(contentsOf: former)
    }

    /// Those with rows are older than all others.
    private mutating func forgetOldestHold(_ outcome: inout Outcome) {
        owed.forgotten &+= 1
        if let first = owedHolds.popFirst() {
            outcome.rows.append(removal(of: first))
        } else if let oldest = owed.events.firstIndex(where: \.isHeld) {
            owed.events.remove(at: oldest)
        }
    }

    /// A message was reported. Only the first report that is owed is written down: all after it follow from it.
    mutating func owe(_ report: MessageReport, for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook, owed.firstReport == 0 else { return }
        owed.firstReport = report.index
        putOwed(&outcome)
    }

    /// Nothing is owed any more of the reports up to one.
    /// - Parameter areLost: they are not delivered: each is counted as forgotten.
    mutating func oweNoReports(through index: UInt64, areLost: Bool, _ outcome: inout Outcome) {
        guard forgetReports(through: index, areLost: areLost) else { return }
        putOwed(&outcome)
    }

    /// Returns whether anything changes. The one that is forgotten at the bound is not in the list any more.
    private mutating func forgetReports(through index: UInt64, areLost: Bool) -> Bool {
        guard owed.firstReport > 0, owed.firstReport <= index else { return false }
        if areLost { owed.forgotten &+= 1 }
        owed.firstReport = reports.after(index, countMax: 1).first?.index ?? 0
        return true
    }

    /// Whether it is of a life that has ended: the slices of those do not tell what was forgotten.
    private func isOfPast(_ progress: WebhookProgress) -> Bool {
        progress.incarnation != incarnation ?? Incarnation(0) && owed.events.contains { $0.life != nil }
    }

    /// The first kept message of a life of before that is owed, and the last; nil: none is.
    public func owedMessages(ofPast life: Incarnation) -> ClosedRange<UInt64>? {
        let parts = owed.events.filter { $0.life == life }.compactMap(\.owedMessages)
        guard let first = parts.first, let last = parts.last else { return nil }
        return first.lowerBound...max(first.lowerBound, last.upperBound)
    }

    /// The room's life ends. The messages that are owed stay owed, for as long as history has them; without the fact they are
    /// lost, and said to be.
    mutating func oweDeletion(for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook || !owed.isEmpty else { return }
        var event = RoomLifeEvent(kind: .deleted, index: outcome.stamp.index, after: 0, time: outcome.time)
        if owed.firstSeq > 0 {
            (event.lostFrom, event.lostTo) = (owed.firstSeq, lastSeq)
            (owed.firstSeq, owed.since) = (0, Timestamp(0))
        }
        if owed.firstReport > 0 {
            let lost = reports.after(owed.firstReport - 1, countMax: Limits.reportsPerRoom).count
            owed.forgotten &+= Int64(lost)
            owed.firstReport = 0
        }
        // Held messages have gone with the room, and their IDs mean nothing any more.
        owed.forgotten &+= Int64(owed.events.count(where: \.isHeld) + owedHolds.count)
        owed.events.removeAll(where: \.isHeld)
        for event in owedHolds { outcome.rows.append(removal(of: event)) }
        owedHolds = Fifo()
        owed.firstHeld = 0
        if command.facts.owesPast {
            giveLifeToEvents()
            (event.life, event.after) = (incarnation, lastSeq)
        } else {
            for index in owed.events.indices where owed.events[index].life == nil { owed.events[index].after = 0 }
        }
        addOwed(event, &outcome)
    }

    /// The life has ended. Events of lives that ended without the fact do not say which these were.
    private mutating func giveLifeToEvents() {
        let former = owed.events.lastIndex { $0.life == nil && $0.kind == .deleted } ?? -1
        for index in owed.events.indices where owed.events[index].life == nil {
            owed.events[index].life = index <= former ? RoomLifeEvent.unknownLife : incarnation
        }
    }

    private mutating func addOwed(_ event: RoomLifeEvent, _ outcome: inout Outcome) {
        owed.events.append(event)
        if owed.events.count(where: { !$0.isHeld }) > WebhookRecord.eventsMax,
            let oldest = owed.events.firstIndex(where: { !$0.isHeld })
        {
            let forgotten = owed.events.remove(at: oldest)
            owed.forgotten &+= 1
            // Nothing leads to its messages any more.
            if let messages = forgotten.owedMessages {
                owed.forgotten &+= Int64(clamping: messages.upperBound - messages.lowerBound) &+ 1
            }
        }
        putOwed(&outcome)
    }

    /// The webhook has got that far: in the life of the room that it names, and with openings and closings of all lives.
    mutating func webhookDelivered(_ progress: WebhookProgress, _ outcome: inout Outcome) -> CommandResult {
        let (before, tellsAll) = (owed, progress.eventIndex > 0 && owesAllForgotten(progress))
        if owed.firstSeq > 0, progress.incarnation == incarnation, progress.seq >= owed.firstSeq {
            owed.firstSeq = progress.seq < lastSeq ? progress.seq + 1 : 0
            owed.since = owed.firstSeq > 0 ? progress.time : Timestamp(0)
        }
        for index in owed.events.indices where owed.events[index].owesMessages(through: progress) {
            let isLast = progress.seq >= owed.events[index].lostTo
            (owed.events[index].lostFrom, owed.events[index].lostTo) =
                isLast ? (0, 0) : (progress.seq + 1, owed.events[index].lostTo)
        }
        if progress.eventIndex > 0 {
            owed.events.removeAll { $0.index <= progress.eventIndex }
            while let first = owedHolds.first, first.index <= progress.eventIndex {
                owedHolds.removeFirst()
                outcome.rows.append(removal(of: first))
            }
            owed.firstHeld = owedHolds.first?.index ?? 0
            _ = forgetReports(through: progress.eventIndex, areLost: false)
        }
        if tellsAll { (owed.forgotten, owed.toldForgotten) = (0, 0) }
        owed.toldForgotten = max(owed.toldForgotten, toldForgotten(by: progress))
        if owed.isEmpty { owed = WebhookRecord() }
        if owed != before { putOwed(&outcome) }
        return .done
    }

    private mutating func putOwed(_ outcome: inout Outcome) {
        if owed.forgotten > 0, owed.forgottenFrom == 0 { owed.forgottenFrom = outcome.stamp.index }
        outcome.rows.append(
            CatalogueChange(kind: .webhook, key: "", value: owed.isEmpty ? nil : .webhook(owed)))
    }

    private func row(of event: RoomLifeEvent) -> CatalogueChange {
        CatalogueChange(kind: .owedHeld, key: String(event.index, radix: 36), value: .owedHeld(event))
    }

    private func removal(of event: RoomLifeEvent) -> CatalogueChange {
        CatalogueChange(kind: .owedHeld, key: String(event.index, radix: 36), value: nil)
    }
}

extension RoomLifeEvent {
    fileprivate var isHeld: Bool { kind == .held }

    /// Whether a message is owed of that life of before that the webhook has got by now.
    fileprivate func owesMessages(through progress: WebhookProgress) -> Bool {
        life == progress.incarnation && owedMessages.map { $0.lowerBound <= progress.seq } ?? false
    }
}
