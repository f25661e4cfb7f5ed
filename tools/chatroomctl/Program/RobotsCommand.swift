import ArgumentParser
import ControlClient
import FoundationEssentials

/// `robots …`: members that exist on the server only.
struct RobotsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "robots", abstract: "Let robots enter and leave a room.", subcommands: [Add.self, Remove.self])

    /// `robots add ROOM USER …`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let robots enter, at most 100 at a time.")

        @Argument var room: String
        @Argument var users: [String]
        @Option(help: "What all of them show.") var nick: String?
        @Option(help: "What all of them show.") var avatar: String?
        @Option(help: "Text for the app.") var ext: String?
        @OptionGroup var common: CommonOptions

        var body: JSONTree {
            var shown: [String: JSONTree] = [:]
            shown["nick"] = nick.map(JSONTree.text)
            shown["avatar"] = avatar.map(JSONTree.text)
            shown["ext"] = ext.map(JSONTree.text)
            let robots = users.map { user in JSONTree.object(shown.merging(["user": .text(user)]) { $1 }) }
            return .object(["robots": .array(robots)])
        }

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["rooms", room, "robots"], body: body, idempotencyKey: UUID().uuidString)
            common.show(result) { RobotsCommand.lines($0, [("entered", "added"), ("here already", "present")]) }
        }
    }

    /// `robots remove ROOM USER …`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let robots leave, at most 100 at a time.")

        @Argument var room: String
        @Argument var users: [String]
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "DELETE", ["rooms", room, "robots"], body: .object(["robots": .array(users.map(JSONTree.text))]),
                idempotencyKey: UUID().uuidString)
            common.show(result) { RobotsCommand.lines($0, [("left", "removed"), ("no robots", "missing")]) }
        }
    }

    static func lines(_ result: JSONTree, _ lists: [(words: String, name: String)]) -> [String] {
        lists.compactMap { words, name in
            let users = result[name]?.items.map { DisplayText.safe($0.shown) } ?? []
            return users.isEmpty ? nil : "\(words): " + users.joined(separator: ", ")
        }
    }
}
