import ArgumentParser
import ControlClient
import FoundationEssentials

/// `users …`: what concerns a user apart from rooms.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Revoke a user's tokens, put a user offline, list sessions, send directly.",
        subcommands: [Revoke.self, Offline.self, Sessions.self, Message.self])

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse the user's tokens issued until now and end the sessions that rely on them.")

        @Argument var user: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["users", user, "revoke"], idempotencyKey: UUID().uuidString)
            common.show(result) { answer in
                ["tokens issued until \(answer["revokedAt"]?.integer.map(TimeText.full) ?? "now") are refused"]
            }
        }
    }

    struct Offline: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the user's sessions. Tokens stay valid: revoke them if the user must not come back.")

        @Argument var user: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["users", user, "offline"], idempotencyKey: UUID().uuidString)
            common.show(result) { ["ended \($0["sessions"]?.shown ?? "0") sessions"] }
        }
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List a user's sessions.")

        @Argument var user: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            common.show(try await common.client().call("GET", ["users", user, "sessions"]), SessionText.table)
        }
    }

    struct Message: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a text to the user's connected sessions, in no room.")

        @Argument var user: String
        @Argument var text: String
        @Option(help: "The user who is shown as the sender; absent: the system.") var sender: String?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["users", user, "messages"], body: SessionText.message(text, sender: sender),
                idempotencyKey: UUID().uuidString)
            common.show(result) { ["shown to \($0["sessions"]?.shown ?? "0") sessions"] }
        }
    }
}

/// `broadcast TEXT`.
struct BroadcastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcast", abstract: "Show a text to everyone online, at most once, in no room.")

    @Argument var text: String
    @Option(help: "The user who is shown as the sender; absent: the system.") var sender: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let result = try await common.client().call(
            "POST", ["broadcast"], body: SessionText.message(text, sender: sender), idempotencyKey: UUID().uuidString)
        common.show(result) { ["shown to \($0["sessions"]?.shown ?? "0") sessions"] }
    }
}
