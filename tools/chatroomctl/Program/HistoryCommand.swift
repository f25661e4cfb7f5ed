import ArgumentParser
import ControlClient
import FoundationEssentials

/// `history ROOM`: what is kept, oldest first, over as many pages as it takes.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Print a room's history, oldest first.")

    @Argument var room: String
    @Option(help: "How many of the newest messages.") var last = 100
    @Flag(help: "All that is kept.") var all = false
    @OptionGroup var common: CommonOptions

    static let pageItemsMax = 100

    func validate() throws {
        if last < 1 { throw ValidationError("--last must be at least 1.") }
    }

    func run() async throws {
        let client = try common.client()
        if all { try await printAll(client) } else { try await printLast(client) }
    }

    private func printAll(_ client: AdminClient) async throws(CommandFailure) {
        var cursor = TailCursor(afterSeq: 0)
        var more = true
        while more {
            let page = try await client.call("GET", ["rooms", room, "messages"], query: cursor.query)
            show(cursor.take(page))
            more = cursor.hasMore
        }
    }

    private func printLast(_ client: AdminClient) async throws(CommandFailure) {
        var newestFirst: [JSONTree] = []
        var more = true
        while more, newestFirst.count < last {
            let before = newestFirst.last?["seq"]?.integer
            let page = try await client.call(
                "GET", ["rooms", room, "messages"],
                query: [
                    ("order", "DESC"), ("limit", String(min(Self.pageItemsMax, last - newestFirst.count))),
                    ("beforeSeq", before.map { String($0) }),
                ])
            let messages = page["messages"]?.items ?? []
            newestFirst += messages
            more = page["more"]?.boolean == true && !messages.isEmpty
        }
        show(newestFirst.reversed())
    }

    private func show(_ messages: [JSONTree]) {
        for message in messages { Output.line(common.json ? message.line : MessageText.line(message)) }
    }
}
