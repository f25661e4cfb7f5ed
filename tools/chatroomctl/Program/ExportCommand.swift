import ArgumentParser
import ControlClient

/// `export ROOM`: a room, its members and its messages, as `import` reads them.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print a room as lines of JSON: itself, its members and its kept messages.",
        discussion: """
            One line a thing: {"room":…}, {"member":…}, {"blacklisted":…}, {"banned":…}, {"message":…}, and at the end \
            {"end":true,"seq":N}. An export that broke off goes on with --after and the seq of its last message: then \
            there are only messages. Standard error says what the room has besides, such as pins and the queue.
            """)

    @Argument var room: String
    @Option(help: "Only messages above this seq.") var after: Int64?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if let after, after < 0 { throw ValidationError("--after must be at least 0.") }
    }

    func run() async throws {
        var export = RoomExport(try common.client(), room: room) { Output.line($0.line) }
        var info: JSONTree?
        if after == nil { info = try await export.showStanding() }
        try await export.showMessages(after: after ?? 0)
        if let info, let remainder = await export.remainder(of: info) { Output.note("not exported: \(remainder)") }
    }
}
