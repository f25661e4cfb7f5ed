import ArgumentParser
import ControlClient
import FoundationEssentials

/// `polls …`: a room's polls.
struct PollsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "polls", abstract: "Open, show and close polls of a room.",
        subcommands: [List.self, Open.self, Close.self], defaultSubcommand: List.self)

    /// `polls list ROOM`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List those that are open or were closed lately.")

        @Argument var room: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call("GET", ["rooms", room, "polls"])
            common.show(result) { PollText.table($0["polls"]?.items ?? []) }
        }
    }

    /// `polls open ROOM POLL TITLE OPTION OPTION …`.
    struct Open: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Open a poll; the room is told by 362.")

        @Argument var room: String
        @Argument(help: "Its ID: 1 to 32 characters of A-Z a-z 0-9 _ . : -.") var poll: String
        @Argument var title: String
        @Argument(help: "2 to 10.") var options: [String]
        @Option(help: "How long it is open; at most 86400.") var seconds: Int64 = 300
        @Flag(help: "Voters may change their vote.") var mayChange = false
        @OptionGroup var notifying: NotifyingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body = notifying.members
            body["poll"] = .text(poll)
            body["title"] = .text(title)
            body["options"] = .array(options.map(JSONTree.text))
            body["seconds"] = .integer(seconds)
            if mayChange { body["mayChange"] = .boolean(true) }
            let result = try await common.client().call(
                "POST", ["rooms", room, "polls"], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(result) { PollText.table([$0["poll"] ?? .null]) }
        }
    }

    /// `polls close ROOM POLL`.
    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close a poll before its time; the room is told by 363.")

        @Argument var room: String
        @Argument var poll: String
        @OptionGroup var notifying: NotifyingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["rooms", room, "polls", poll, "close"], body: .object(notifying.members),
                idempotencyKey: UUID().uuidString)
            common.show(result) { PollText.table([$0["poll"] ?? .null]) }
        }
    }
}

/// Polls for people.
enum PollText {
    static func table(_ polls: [JSONTree]) -> [String] {
        var table = Table(["POLL", "STATE", "TITLE", "VOTES"])
        for poll in polls {
            let counts = poll["counts"]?.items.map(\.shown) ?? []
            let votes = zip(poll["options"]?.items.map(\.shown) ?? [], counts).map { "\($0): \($1)" }
            table.add([
                poll["poll"]?.shown ?? "", poll["closed"]?.boolean == true ? "closed" : "open",
                poll["title"]?.shown ?? "", votes.joined(separator: ", "),
            ])
        }
        return table.lines()
    }
}
