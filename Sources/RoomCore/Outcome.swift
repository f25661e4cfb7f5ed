import ChatModel

/// The effects of a command besides its result, collected while it is decided and handed out in the order that `Effect`
/// promises: catalogue rows (the room's own last), history, pushes, kicks, end of an incarnation, result.
struct Outcome {
    /// The place of the command in the log.
    let stamp: Stamp
    var rows: [CatalogueChange] = []
    /// `.append` and `.erase`.
    var history: [Effect] = []
    var shown: [Message] = []
    /// `.kick`, `.kickAll` and `.retire`.
    var endings: [Effect] = []
    /// The room's row has changed.
    var touchesRoom = false

    init(at stamp: Stamp) { self.stamp = stamp }

    var time: Timestamp { stamp.time }

    func effects(result: CommandResult, roomRow: CatalogueChange?) -> [Effect] {
        var effects: [Effect] = []
        effects.reserveCapacity(rows.count + history.count + shown.count + endings.count + 2)
        for row in rows { effects.append(.catalogue(row)) }
        if let roomRow { effects.append(.catalogue(roomRow)) }
        effects += history
        for message in shown { effects.append(.publish(message)) }
        effects += endings
        effects.append(.result(result))
        return effects
    }
}
