import ArgumentParser
import ControlClient

/// `search ROOM TEXT`: messages that have a text.
struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Look for messages of a room, the newest first.",
        discussion: "Beginnings of words are found, and single characters of Chinese, Japanese and Korean.")

    @Argument var room: String
    @Argument var text: String
    @Option(help: "Only messages of this user.") var user: String?
    @Option(help: "Only messages of these types, with commas between them.") var types: String?
    @Option(help: "Only messages at or after this time, in Unix milliseconds.") var from: Int64?
    @Option(help: "Only messages at or before this time, in Unix milliseconds.") var to: Int64?
    @Option(help: "How many at most.") var limit = 20
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }

    func run() async throws {
        let client = try common.client()
        var next: String?
        var left = limit
        repeat {
            let page = try await client.call(
                "GET", ["rooms", room, "search"],
                query: [
                    ("text", text), ("user", user), ("types", types), ("startTime", from.map { String($0) }),
                    ("endTime", to.map { String($0) }), ("limit", String(min(100, left))), ("after", next),
                ])
            let messages = page["messages"]?.items ?? []
            for message in messages { Output.line(common.json ? message.line : MessageText.line(message)) }
            left -= messages.count
            next = page["next"]?.text
        } while left > 0 && next != nil
    }
}
