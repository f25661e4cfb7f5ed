import ArgumentParser
import ControlClient
import FoundationEssentials

/// `held …`: the messages of a room that wait for a manager.
struct HeldCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "held", abstract: "List the messages of a room that wait for a manager; allow or deny them.",
        subcommands: [List.self, Allow.self, Deny.self], defaultSubcommand: List.self)

    /// `held list ROOM`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List them, the oldest first.")

        @Argument var room: String
        @Option(help: "Items of the page, 1-100.") var limit: Int?
        @Option(help: "Go on after the page that ended with this.") var after: String?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let query = [("limit", limit.map(String.init)), ("after", after)]
            let page = try await common.client().call("GET", ["rooms", room, "held"], query: query)
            common.show(page) { page in
                (page["messages"]?.items ?? []).map {
                    DisplayText.safe($0["messageId"]?.shown ?? "") + "  " + MessageText.line($0)
                }
            }
            if !common.json, let next = page["next"]?.text { Output.note("there are more: --after \(next)") }
        }
    }

    /// `held allow ROOM HELDID`.
    struct Allow: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let one through: it becomes a message now.",
            discussion: "Refused with 409 when somebody else, or the end of its time, was faster.")

        @Argument var room: String
        @Argument var heldID: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let answer = try await common.client().call(
                "POST", ["rooms", room, "held", heldID, "allow"], idempotencyKey: UUID().uuidString)
            common.show(answer) { $0["message"].map { [MessageText.line($0)] } ?? ["allowed"] }
        }
    }

    /// `held deny ROOM HELDID`.
    struct Deny: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deny one; its sender is told.",
            discussion: "Refused with 409 when somebody else, or the end of its time, was faster.")

        @Argument var room: String
        @Argument var heldID: String
        @Option(help: "Why, for its sender; at most 256 bytes.") var reason: String?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body: [String: JSONTree] = [:]
            body["reason"] = reason.map(JSONTree.text)
            let answer = try await common.client().call(
                "POST", ["rooms", room, "held", heldID, "deny"], body: .object(body),
                idempotencyKey: UUID().uuidString)
            common.show(answer) { _ in ["denied"] }
        }
    }
}
