import ArgumentParser
import ControlClient

/// `import FILE`: what `export` has printed, to this cluster.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Bring rooms, members and messages from lines of JSON, as export prints them.",
        discussion: """
            One line a thing: {"room":…}, {"member":…}, {"blacklisted":…}, {"banned":…}, {"message":…}, {"end":true}. \
            Messages keep their times and get new seqs; nobody is shown them. They must be in the order of their times \
            and not older than the room's newest message, so a room is imported before it is used. What waits of a \
            line that can't be imported is brought, and its number is told.
            """)

    @Argument(help: "A file of JSON lines; - is standard input.", completion: .file()) var file: String
    @Option(help: "Bring all lines to this room, whatever they name.") var room: String?
    @Option(help: "Go on with this line; the first is 1.") var fromLine = 1
    @Flag(help: "Leave recalled messages out; else the first one ends the import.") var skipRecalled = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard fromLine > 0 else { throw ValidationError("--from-line must be at least 1.") }
    }

    func run() async throws {
        var lines = try LineReader(file)
        defer { lines.close() }
        var importer = Importer(
            try common.client(), room: room, skipsRecalled: skipRecalled, report: { Output.note($0) })
        while let line = try lines.next() {
            if lines.number < fromLine {
                importer.pass(line)
            } else {
                try await importer.take(line, number: lines.number)
            }
        }
        try await importer.finish()
        if !importer.isWhole {
            Output.note(#"a room's lines have no {"end":true}: if an export has printed them, it broke off"#)
        }
        let done = importer.figures
        common.show(
            .object([
                "rooms": .integer(done.rooms), "members": .integer(done.members),
                "imported": .integer(done.imported), "present": .integer(done.present),
                "skipped": .integer(done.skipped),
            ])
        ) { _ in [Self.summary(done)] }
    }

    static func summary(_ done: Importer.Figures) -> String {
        let brought = [
            DisplayText.count(done.imported, "message"), DisplayText.count(done.rooms, "room"),
            DisplayText.count(done.members, "member"),
        ]
        let verb = done.present == 1 ? "was" : "were"
        let present = done.present > 0 ? "; \(DisplayText.count(done.present, "message")) \(verb) there already" : ""
        return "imported " + brought.joined(separator: ", ") + present
            + "; skipped \(DisplayText.count(done.skipped, "message"))"
    }
}
