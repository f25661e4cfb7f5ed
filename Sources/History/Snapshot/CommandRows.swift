import ChatModel
import Wire

/// Catalogue rows that stand in for history that is missing: which commands made a room's newest messages. A snapshot
/// carries them behind the room's own row, and they stay until the history is complete (`MissingHistory`).
///
/// Without them a replica would take a command that follows the snapshot for a new one, which all others know as the
/// repeat of one from before it.
enum CommandRows {
    /// On disk and on the wire, and none of `CatalogueKind`: nodes that do not know it keep such rows and ignore them.
    static let kind: UInt8 = 255
    /// Some tens of kilobytes, like other rows.
    static let commandsMax = 512

    /// - Parameters:
    ///   - number: of the row among those of the room.
    ///   - room: the room's own row.
    static func row(_ commands: ArraySlice<RememberedCommand>, number: Int, of room: CatalogueRow) -> CatalogueRow {
        CatalogueRow(
            room: room.room, incarnation: room.incarnation, kind: kind, key: String(number),
            value: WireProtobuf.encode(WiredCommands(commands: commands.map(WiredCommand.init))), index: room.index)
    }

    /// The commands in the rows of this kind and incarnation, in any order. Throws `.corrupt`.
    static func commands(
        in rows: [CatalogueRow], of incarnation: Incarnation
    ) throws(StorageError) -> [RememberedCommand] {
        var commands: [RememberedCommand] = []
        for row in rows where row.kind == kind && row.incarnation == incarnation {
            do throws(ChatError) {
                let wired = try WireProtobuf.decode(WiredCommands.self, from: row.value ?? [], limits: false)
                commands += wired.commands.map(\.command)
            } catch {
                throw StorageError(.corrupt, "commands of \(row.room) can't be read: \(error.message)")
            }
        }
        return commands
    }
}

private struct WiredCommands: WireMessage {
    var commands: [WiredCommand]

    static var blank: WiredCommands { WiredCommands(commands: []) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.repeated(1, "commands", &commands)
    }
}

private struct WiredCommand: WireMessage {
    var command: RememberedCommand

    static var blank: WiredCommand {
        WiredCommand(command: RememberedCommand(key: CommandKey(high: 0, low: 0), seq: 0, time: Timestamp(0)))
    }

    init(command: RememberedCommand) { self.command = command }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "high", &command.key.high)
        try walker.shown(2, "low", &command.key.low)
        try walker.shown(3, "seq", &command.seq)
        try walker.shown(4, "time", &command.time)
    }
}
