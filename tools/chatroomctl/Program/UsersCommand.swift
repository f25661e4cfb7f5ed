import ArgumentParser
import ControlClient
import FoundationEssentials

/// `users …`: what concerns a user apart from rooms.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Ban or mute a user in all rooms, revoke tokens, put a user offline, list sessions, send directly.",
        subcommands: [
            Get.self, List.self, Ban.self, Unban.self, Mute.self, Unmute.self, Revoke.self, Offline.self, Sessions.self,
            Message.self,
        ])

    /// `banned until 2026-11-27 10:00 (spam)`
    private static func sanction(_ tree: JSONTree?, _ name: String) -> String? {
        guard let tree else { return nil }
        let end = tree["endsAt"]?.integer.map { "until \(TimeText.full($0))" } ?? "for good"
        let reason = tree["reason"]?.text.map { " (\($0))" } ?? ""
        return "\(name) \(end)\(reason)"
    }

    private static func line(_ user: JSONTree) -> String {
        let sanctions = [sanction(user["banned"], "banned"), sanction(user["muted"], "muted")].compactMap { $0 }
        let sessions = user["sessions"]?.integer.map { ", " + DisplayText.count($0, "session") } ?? ""
        return "\(user["user"]?.shown ?? ""): \(sanctions.isEmpty ? "no sanctions" : sanctions.joined(separator: ", "))"
            + sessions
    }

    private static func put(
        _ verb: String, _ user: String, seconds: Int64?, reason: String?, _ common: CommonOptions
    ) async throws {
        var body: [String: JSONTree] = [:]
        body["seconds"] = seconds.map(JSONTree.integer)
        body["reason"] = reason.map(JSONTree.text)
        let answer = try await common.client().call(
            "PUT", ["users", user, verb], body: .object(body), idempotencyKey: UUID().uuidString)
        common.show(answer) { [line($0)] }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a user's app-wide sanctions.")

        @Argument var user: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            common.show(try await common.client().call("GET", ["users", user])) { [UsersCommand.line($0)] }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List users who are banned, or muted, in all rooms.")

        @Flag(help: "Those who are muted.") var muted = false
        @OptionGroup var page: PageOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let (client, kind) = (try common.client(), muted ? "MUTED" : "BANNED")
            let answer = try await page.collect("users") { (after, limit) async throws(CommandFailure) in
                try await client.call(
                    "GET", ["users"], query: [("kind", kind), ("limit", limit.map(String.init)), ("after", after)])
            }
            common.show(answer) { ($0["users"]?.items ?? []).map(UsersCommand.line) }
            if !common.json { PageOptions.note(answer) }
        }
    }

    struct Ban: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ban a user from all rooms: sessions end with 4403, and connect answers 403.")

        @Argument var user: String
        @Option(help: "How long; absent: for good.") var seconds: Int64?
        @Option(help: "Shown to those who ask.") var reason: String?
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if let seconds, seconds < 1 { throw ValidationError("--seconds must be at least 1; `unban` lifts a ban.") }
        }

        func run() async throws {
            try await UsersCommand.put("ban", user, seconds: seconds, reason: reason, common)
        }
    }

    struct Unban: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lift a user's ban.")

        @Argument var user: String
        @OptionGroup var common: CommonOptions

        func run() async throws { try await UsersCommand.put("ban", user, seconds: 0, reason: nil, common) }
    }

    struct Mute: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Mute a user in all rooms.")

        @Argument var user: String
        @Option(help: "How long; absent: for good.") var seconds: Int64?
        @Option(help: "Shown to those who ask.") var reason: String?
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if let seconds, seconds < 1 {
                throw ValidationError("--seconds must be at least 1; `unmute` lifts a mute.")
            }
        }

        func run() async throws {
            try await UsersCommand.put("mute", user, seconds: seconds, reason: reason, common)
        }
    }

    struct Unmute: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lift a user's mute.")

        @Argument var user: String
        @OptionGroup var common: CommonOptions

        func run() async throws { try await UsersCommand.put("mute", user, seconds: 0, reason: nil, common) }
    }

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
            common.show(result) { ["ended " + DisplayText.count($0["sessions"]?.integer ?? 0, "session")] }
            common.note(missingNodesOf: result, "their sessions are not counted; they end when the nodes are back")
        }
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List a user's sessions.")

        @Argument var user: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call("GET", ["users", user, "sessions"])
            common.show(result, SessionText.table)
            common.note(missingNodesOf: result, "their sessions are not listed")
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
            common.show(result) { ["shown to " + DisplayText.count($0["sessions"]?.integer ?? 0, "session")] }
            common.note(missingNodesOf: result, "their sessions were not shown it")
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
        common.show(result) { ["shown to " + DisplayText.count($0["sessions"]?.integer ?? 0, "session")] }
        common.note(missingNodesOf: result, "their sessions were not shown it")
    }
}
