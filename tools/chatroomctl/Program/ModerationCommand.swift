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
            abstract: "Set words and hook; lists and settings that are not named stay.",
            discussion: """
                A list replaces the one of the same action. Without --hook-secret-file the secret that is set stays. \
                Of two calls at the same time the later one holds, also in what it did not name.
                """)

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
        @Flag(help: "Take away all words that no option of this call names.") var noWords = false
        @Flag(help: "Take away the hook.") var noHook = false
        @OptionGroup var common: CommonOptions

        func validate() throws {
            let ofHook = hookSecretFile != nil || timeoutMs != nil || onFailure != nil
            if noHook, hook != nil || ofHook {
                throw ValidationError("--no-hook goes with no other option of the hook")
            }
            let isNamed = replace != nil || refuse != nil || hold != nil || holdSeconds != nil || onExpiry != nil
            guard isNamed || hook != nil || ofHook || noWords || noHook else {
                throw ValidationError("name at least one setting; --no-words --no-hook takes all moderation away")
            }
        }

        func run() async throws {
            let client = try common.client()
            let settings = try changed(try await client.call("GET", ["moderation"]))
            common.show(try await client.call("PUT", ["moderation"], body: settings), ModerationCommand.lines)
        }

        /// - Parameter before: the settings as they are.
        /// - Returns: those that this call sets.
        func changed(_ before: JSONTree) throws(CommandFailure) -> JSONTree {
            var words: [JSONTree] = []
            for (action, path) in [("REPLACE", replace), ("REFUSE", refuse), ("HOLD", hold)] {
                let stay = noWords ? [] : (before["words"]?.items ?? []).filter { $0["action"]?.text == action }
                words += try path.map { path throws(CommandFailure) in try Self.words(path, action) } ?? stay
            }
            var body: [String: JSONTree] = ["words": .array(words)]
            body["holdSeconds"] = holdSeconds.map(JSONTree.integer) ?? before["holdSeconds"]
            body["onExpiry"] = onExpiry.map(JSONTree.text) ?? before["onExpiry"]
            if !noHook { body["hook"] = try changedHook(before["hook"]) }
            return .object(body)
        }

        private func changedHook(_ before: JSONTree?) throws(CommandFailure) -> JSONTree? {
            guard let url = hook.map(JSONTree.text) ?? before?["url"] else {
                guard hookSecretFile == nil, timeoutMs == nil, onFailure == nil else {
                    throw CommandFailure(.usage, "there is no hook yet: name its URL with --hook")
                }
                return nil
            }
            var members: [String: JSONTree] = ["url": url]
            if let hookSecretFile { members["secret"] = .text(try SecretFile.read(hookSecretFile)) }
            members["timeoutMs"] = timeoutMs.map(JSONTree.integer) ?? before?["timeoutMs"]
            members["onFailure"] = onFailure.map(JSONTree.text) ?? before?["onFailure"]
            return .object(members)
        }

        private static func words(_ path: String, _ action: String) throws(CommandFailure) -> [JSONTree] {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw CommandFailure(.usage, "\(path) cannot be read")
            }
            var text = String(decoding: data, as: UTF8.self)
            // Editors of some systems begin a file with it.
            if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
            return text.split(whereSeparator: \.isNewline).map {
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
