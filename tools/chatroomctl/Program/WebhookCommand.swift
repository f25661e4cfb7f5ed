import ArgumentParser
import ControlClient
import FoundationEssentials
import SystemCalls

/// `webhook get`, `webhook set URL`, `webhook off`.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "The app's webhook: where the cluster reports what happens in rooms.",
        subcommands: [Get.self, Set.self, Off.self])

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the webhook, without its secret.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            common.show(try await common.client().call("GET", ["webhook"]), WebhookCommand.lines)
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the webhook.", discussion: "Without --secret-file the secret that is set stays.")

        @Argument var url: String
        @Option(help: "A file with the secret that signs the batches.", completion: .file()) var secretFile: String?
        @Option(name: .customLong("event"), help: "Only this event; can be repeated. Absent: all.")
        var events: [String] = []
        @Option(help: "Items of a batch, 1-1000.") var maxBatch: Int64?
        @Option(help: "Milliseconds for one call.") var timeoutMs: Int64?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body: [String: JSONTree] = ["url": .text(url)]
            body["secret"] = try secretFile.map { .text(try SecretFile.read($0)) }
            if !events.isEmpty { body["events"] = .array(events.map(JSONTree.text)) }
            body["maxBatch"] = maxBatch.map(JSONTree.integer)
            body["timeoutMs"] = timeoutMs.map(JSONTree.integer)
            let answer = try await common.client().call("PUT", ["webhook"], body: .object(body))
            common.show(answer, WebhookCommand.lines)
        }
    }

    struct Off: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn the webhook off; what it had not got yet is forgotten.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            let answer = try await common.client().call("PUT", ["webhook"], body: .object(["url": .text("")]))
            common.show(answer, WebhookCommand.lines)
        }
    }

    private static func lines(_ webhook: JSONTree) -> [String] {
        guard let url = webhook["url"]?.text, !url.isEmpty else { return ["no webhook is set"] }
        let events = (webhook["events"]?.items ?? []).map(\.shown)
        return [
            "url      \(DisplayText.safe(url))", "events   \(events.isEmpty ? "all" : events.joined(separator: ", "))",
        ]
    }
}

/// A secret comes from a file, never from an argument, which others on the machine could see.
enum SecretFile {
    static func read(_ path: String) throws(CommandFailure) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.usage, "\(path) cannot be read")
        }
        let secret = String(decoding: data, as: UTF8.self).trimmed
        guard !secret.isEmpty else { throw CommandFailure(.usage, "\(path) is empty") }
        return secret
    }
}
