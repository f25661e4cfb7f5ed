import ChatModel

/// The effects of a command besides its result, collected while it is decided and handed out in the order that `Effect`
/// promises: catalogue rows (the room's own last), history, pushes, held messages, kicks, end of an incarnation, result.
struct Outcome {
    /// The place of the command in the log.
    let stamp: Stamp
    var rows: [CatalogueChange] = []
    /// A message that is kept and shown before everything in `history` and `shown`: most commands have one, and nothing else
    /// there.
    private var first: (message: Message, key: CommandKey?)?
    /// `.append` and `.erase`.
    var history: [Effect] = []
    var shown: [Message] = []
    /// `.held`, `.denied` and `.leaveOut`.
    var notices: [Effect] = []
    /// `.kick`, `.kickAll` and `.retire`.
    var endings: [Effect] = []
    /// The room's row has changed.
    var touchesRoom = false

    init(at stamp: Stamp) { self.stamp = stamp }

    var time: Timestamp { stamp.time }

    /// A message that goes to history, and to those who are here.
    mutating func keep(_ message: Message, _ key: CommandKey?) {
        if first == nil, history.isEmpty, shown.isEmpty {
            first = (message, key)
        } else {
            history.append(.append(message, commandKey: key))
            shown.append(message)
        }
    }

    func effects(result: consuming CommandResult, roomRow: consuming Effect?) -> [Effect] {
        var effects: [Effect] = []
        effects.reserveCapacity(rows.count + history.count + shown.count + endings.count + 4)
        for row in rows { effects.append(.catalogue(row)) }
        if let roomRow { effects.append(roomRow) }
        if let first { effects.append(.append(first.message, commandKey: first.key)) }
        if !history.isEmpty { effects += history }
        if let first { effects.append(.publish(first.message)) }
        for message in shown { effects.append(.publish(message)) }
        if !notices.isEmpty { effects += notices }
        if !endings.isEmpty { effects += endings }
        effects.append(.result(result))
        return effects
    }
}
