import ArgumentParser
import ControlClient

/// `token USER`.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Issue a client token for a user.",
        discussion: "The token alone goes to standard output, so that a script can take it.")

    @Argument var user: String
    @Option(help: "How long it is valid.") var ttlSeconds: Int64?
    @Option(name: .customLong("room"), help: "A room that it enters, and no other; can be repeated.")
    var rooms: [String] = []
    @Option var nick: String?
    @Option(help: "The URL of the user's picture.") var avatar: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        var body: [String: JSONTree] = [:]
        body["ttlSeconds"] = ttlSeconds.map(JSONTree.integer)
        if !rooms.isEmpty { body["rooms"] = .array(rooms.map(JSONTree.text)) }
        body["nick"] = nick.map(JSONTree.text)
        body["avatar"] = avatar.map(JSONTree.text)
        let token = try await common.client().call("POST", ["users", user, "token"], body: .object(body))
        common.show(token) { [$0["token"]?.shown ?? ""] }
        if !common.json, let expiry = token["expiresAt"]?.integer {
            Output.note("valid until \(TimeText.full(expiry))")
        }
    }
}
