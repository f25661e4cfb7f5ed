import ArgumentParser
import ControlClient
import FoundationEssentials

/// `moderation get`, `moderation set`.
struct ModerationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "moderation", abstract: "The words and the pre-send hook that messages pass.",
        subcommands: [Get.self, Set.self])

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show words and hook, without the hook's secret.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            common.show(try await common.client().call("GET", ["moderation"]), ModerationCommand.lines)
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set words and hook; what was set before is replaced, and without options everything is off.",
            discussion: "Without --hook-secret-file the secret that is set stays.")

        @Option(help: "A file of words, one a line, each of whose characters becomes *.", completion: .file())
        var replace: String?
        @Option(help: "A file of words, one a line, for which a text is refused.", completion: .file())
        var refuse: String?
        @Option(help: "A file of words, one a line, for which a message waits for a manager.", completion: .file())
        var hold: String?
        @Option(help: "Seconds that a message waits for a manager, 1-86400; 600 when absent.") var holdSeconds: Int64?
        @Option(help: "DENY or ALLOW: what becomes of it then.") var onExpiry: String?
        @Option(help: "The URL that is asked before each message.") var hook: String?
        @Option(help: "A file with the secret that signs the questions.", completion: .file())
        var hookSecretFile: String?
        @Option(help: "Milliseconds for one question.") var timeoutMs: Int64?
        @Option(help: "ALLOW, REFUSE or HOLD: what happens to a message when the hook does not answer.")
        var onFailure: String?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let words =
                try Self.words(replace, "REPLACE") + Self.words(refuse, "REFUSE") + Self.words(hold, "HOLD")
            var body: [String: JSONTree] = ["words": .array(words)]
            body["holdSeconds"] = holdSeconds.map(JSONTree.integer)
            body["onExpiry"] = onExpiry.map(JSONTree.text)
            if let hook {
                var members: [String: JSONTree] = ["url": .text(hook)]
                members["secret"] = try hookSecretFile.map { .text(try SecretFile.read($0)) }
                members["timeoutMs"] = timeoutMs.map(JSONTree.integer)
                members["onFailure"] = onFailure.map(JSONTree.text)
                body["hook"] = .object(members)
            }
            let answer = try await common.client().call("PUT", ["moderation"], body: .object(body))
            common.show(answer, ModerationCommand.lines)
        }

        static func words(_ path: String?, _ action: String) throws(CommandFailure) -> [JSONTree] {
            guard let path else { return [] }
            guard let data = FileManager.default.contents(atPath: path) else {
                throw CommandFailure(.usage, "\(path) cannot be read")
            }
            return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).map {
                .object(["text": .text(String($0)), "action": .text(action)])
            }
        }
    }

    private static func lines(_ moderation: JSONTree) -> [String] {
        let actions = (moderation["words"]?.items ?? []).map { $0["action"]?.text ?? "" }
        let count = { (action: String) in actions.count { $0 == action } }
        let seconds = moderation["holdSeconds"]?.integer ?? 600
        var lines = [
            "words    \(count("REPLACE")) to replace, \(count("REFUSE")) to refuse, \(count("HOLD")) to hold",
            "held     for \(seconds) s, then \(moderation["onExpiry"]?.text ?? "DENY")",
        ]
        guard let hook = moderation["hook"], let url = hook["url"]?.text else { return lines + ["hook     none"] }
        lines.append("hook     \(DisplayText.safe(url)), on failure \(hook["onFailure"]?.text ?? "ALLOW")")
        return lines
    }
}
