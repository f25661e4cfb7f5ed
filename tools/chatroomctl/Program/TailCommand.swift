import ArgumentParser
import ControlClient
import FoundationEssentials

/// `tail ROOM`: follows a room live.
struct TailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Follow a room live: each kept message once, until interrupted.")

    @Argument var room: String
    @Option(help: "How many older messages to begin with.") var last = 10
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (0...TailCursor.pageItemsMax).contains(last) else {
            throw ValidationError("--last must be 0-\(TailCursor.pageItemsMax).")
        }
    }

    func run() async throws {
        let client = try common.client()
        // The first page decides whether there is such a room; from then on a server may come and go.
        let newest = try await client.call(
            "GET", ["rooms", room, "messages"], query: [("order", "DESC"), ("limit", String(max(1, last)))])
        let messages = newest["messages"]?.items ?? []
        show(messages.prefix(last).reversed())
        var cursor = TailCursor(afterSeq: messages.first?["seq"]?.integer ?? 0)
        var pace = TailPace()
        while true {
            do throws(CommandFailure) {
                repeat {
                    let page = try await client.call("GET", ["rooms", room, "messages"], query: cursor.query)
                    if pace.failures > 0 { Output.note("-- the server is back") }
                    pace.succeeded()
                    show(cursor.take(page))
                } while cursor.hasMore
            } catch {
                guard Self.canPass(error) else { throw error }
                if pace.failures == 0 { Output.note("-- waiting for the server: \(error.message)") }
                pace.failed()
            }
            let bound = pace.waitMillisecondsMax
            let wait = pace.failures == 0 ? bound : Int.random(in: TailPace.pollMilliseconds...bound)
            try await Task.sleep(for: .milliseconds(wait))
        }
    }

    /// Whether waiting can help: no server, no leader, too often. A room that has gone stays gone.
    private static func canPass(_ failure: CommandFailure) -> Bool {
        failure.code == .unreachable || [429, 500, 503].contains(failure.status)
    }

    private func show(_ messages: some Sequence<JSONTree>) {
        for message in messages { Output.line(common.json ? message.line : MessageText.line(message)) }
    }
}
