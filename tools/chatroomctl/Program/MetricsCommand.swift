import ArgumentParser
import ControlClient
import FoundationEssentials

/// `metrics`: the figures of one node.
struct MetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Print a node's figures in the Prometheus text format.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try common.client()
        guard let server = client.target.servers.first else { throw CommandFailure(.usage, "no server is known") }
        let answer = try await client.plain("/metrics", of: server)
        guard answer.status == 200 else { throw AdminClient.refusal(answer) }
        let text = String(decoding: answer.body, as: UTF8.self)
        if common.json {
            Output.line(JSONTree.object(["metrics": .text(text)]).line)
        } else {
            Output.line(text.hasSuffix("\n") ? String(text.dropLast()) : text)
        }
    }
}
