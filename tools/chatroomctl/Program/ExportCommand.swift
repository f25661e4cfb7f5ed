import ArgumentParser
import ControlClient
import FoundationEssentials

/// `export ROOM`: everything that is kept of a room, as `import` reads it.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print a room as lines of JSON: itself, its members and its kept messages.",
        discussion: """
            One line a thing: {"room":…}, {"member":…}, {"blacklisted":…}, {"message":…}, and at the end \
            {"end":true,"seq":N}. An export that broke off goes on with --after and the seq of its last message: then \
            there are only messages.
            """)

    @Argument var room: String
    @Option(help: "Only messages above this seq.") var after: Int64?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if let after, after < 0 { throw ValidationError("--after must be at least 0.") }
    }

    func run() async throws {
        let client = try common.client()
        if after == nil {
            show("room", try await client.call("GET", ["rooms", room]))
            try await showMembers("FIXED", as: "member", client)
            try await showMembers("BLACKLISTED", as: "blacklisted", client)
        }
        var cursor = TailCursor(afterSeq: after ?? 0)
        var more = true
        while more {
            let page = try await client.call("GET", ["rooms", room, "messages"], query: cursor.query)
            for message in cursor.take(page) { show("message", message) }
            more = cursor.hasMore
            guard more || page["more"]?.boolean != true else {
                throw CommandFailure(.refused, "a page of history brings nothing and is not the last")
            }
        }
        Output.line(JSONTree.object(["end": .boolean(true), "seq": .integer(cursor.afterSeq)]).line)
    }

    private func showMembers(_ kind: String, as name: String, _ client: AdminClient) async throws(CommandFailure) {
        var next: String?
        repeat {
            let page = try await client.call(
                "GET", ["rooms", room, "members"], query: [("kind", kind), ("after", next), ("limit", "100")])
            for member in page["members"]?.items ?? [] { show(name, member) }
            next = page["next"]?.text
        } while next != nil
    }

    private func show(_ name: String, _ value: JSONTree) { Output.line(JSONTree.object([name: value]).line) }
}
