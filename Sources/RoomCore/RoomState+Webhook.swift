import ChatModel

/// The room's debt to the app's webhook (PROTOCOL.md, "Webhooks"). Whether a webhook is in force is a fact of each
/// command.
extension RoomState {
    /// The debt; nil: none.
    public var webhook: WebhookRecord? { @inline(never) get { owed.isEmpty ? nil : owed } }

    /// Whether anything is owed.
    public var isOwing: Bool { @inline(never) get { !owed.isEmpty } }

    /// Whether nothing is owed any more of what that delivery brought.
    public func knowsDelivered(_ progress: WebhookProgress) -> Bool {
        let owesMessages =
            progress.incarnation == incarnation && owed.firstSeq > 0 && owed.firstSeq <= progress.seq
        let owesEvents =
            progress.eventIndex > 0
            && (owed.forgotten > 0 || owed.events.contains { $0.index <= progress.eventIndex }
                || owed.firstReport > 0 && owed.firstReport <= progress.eventIndex)
        return !owesMessages && !owesEvents
    }

    /// A kept message has come into being. Only the first that is owed is written down: all after it follow from it.
    mutating func owe(_ message: Message, for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook, message.webhook, owed.firstSeq == 0, let seq = message.seq else { return }
        owed.firstSeq = seq
        owed.since = message.time
        putOwed(&outcome)
    }

    /// The room was opened or closed, or a message held.
    mutating func owe(_ kind: RoomLifeEvent.Kind, for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook else { return }
        addOwed(RoomLifeEvent(kind: kind, index: outcome.stamp.index, after: lastSeq, time: outcome.time), &outcome)
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

    /// The room's life ends, and with it its history: what was owed of that is lost, and said to be.
    mutating func oweDeletion(for command: Command, _ outcome: inout Outcome) {
        guard command.facts.webhook || !owed.isEmpty else { return }
        var event = RoomLifeEvent(kind: .deleted, index: outcome.stamp.index, after: 0, time: outcome.time)
        if owed.firstSeq > 0 {
            (event.lostFrom, event.lostTo) = (owed.firstSeq, lastSeq)
            owed.firstSeq = 0
        }
        if owed.firstReport > 0 {
            let lost = reports.after(owed.firstReport - 1, countMax: Limits.reportsPerRoom).count
            owed.forgotten &+= Int64(lost)
            owed.firstReport = 0
        }
        // Held messages have gone with the room, and their IDs mean nothing any more.
        owed.forgotten &+= Int64(owed.events.count { $0.kind == .held })
        owed.events.removeAll { $0.kind == .held }
        for index in owed.events.indices { owed.events[index].after = 0 }
        addOwed(event, &outcome)
    }

    private mutating func addOwed(_ event: RoomLifeEvent, _ outcome: inout Outcome) {
        owed.events.append(event)
        let isHeld = event.kind == .held
        let count = owed.events.count { ($0.kind == .held) == isHeld }
        if count > (isHeld ? WebhookRecord.heldMax : WebhookRecord.eventsMax),
            let oldest = owed.events.firstIndex(where: { ($0.kind == .held) == isHeld })
        {
            owed.events.remove(at: oldest)
            owed.forgotten &+= 1
        }
        putOwed(&outcome)
    }

    /// The webhook has got that far. For another life of the room only openings and closings count.
    mutating func webhookDelivered(_ progress: WebhookProgress, _ outcome: inout Outcome) -> CommandResult {
        let before = owed
        if owed.firstSeq > 0, progress.incarnation == incarnation, progress.seq >= owed.firstSeq {
            owed.firstSeq = progress.seq < lastSeq ? progress.seq + 1 : 0
            owed.since = owed.firstSeq > 0 ? progress.time : Timestamp(0)
        }
        if progress.eventIndex > 0 {
            owed.events.removeAll { $0.index <= progress.eventIndex }
            owed.forgotten = 0
            _ = forgetReports(through: progress.eventIndex, areLost: false)
        }
        if owed != before { putOwed(&outcome) }
        return .done
    }

    private func putOwed(_ outcome: inout Outcome) {
        outcome.rows.append(
            CatalogueChange(kind: .webhook, key: "", value: owed.isEmpty ? nil : .webhook(owed)))
    }
}
