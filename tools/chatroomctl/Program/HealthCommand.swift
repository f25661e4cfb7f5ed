import ArgumentParser
import ControlClient
import FoundationEssentials

/// `health`: which nodes live, and which serve.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Ask every known node whether it lives and serves.",
        discussion: "Exit code 0 when all serve, 1 when one does not yet, 3 when one cannot be reached.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try common.client()
        let nodes =
            client.target.nodes.isEmpty
            ? client.target.servers.map { ClusterFile.Node(id: "", api: $0) } : client.target.nodes
        var table = Table(["NODE", "API", "ALIVE", "READY", "WHY NOT"])
        let reports = zip(nodes, await Self.ask(nodes, client)).map { (node: $0, report: $1) }
        for (node, report) in reports {
            table.add([node.id, node.api, report.alive ? "yes" : "no", report.ready ? "yes" : "no", report.reason])
        }
        common.show(.object(["nodes": .array(reports.map { $0.report.json($0.node) })])) { _ in
            table.lines(within: Output.columns)
        }
        if let failure = Self.verdict(reports) { throw failure }
    }

    /// The fault, and its remedy; nil when all serve.
    static func verdict(_ reports: [(node: ClusterFile.Node, report: Report)]) -> CommandFailure? {
        let dead = reports.filter { !$0.report.alive }
        if let first = dead.first {
            guard dead.count < reports.count else {
                return CommandFailure(.unreachable, "\(first.report.reason). Start a cluster with cluster/up")
            }
            return CommandFailure(
                .unreachable,
                "\(dead.count) of \(reports.count) nodes can't be reached: "
                    + dead.map { name($0.node) }.joined(separator: ", ")
                    + ". Look for their processes, machines and network; start them again with their data "
                    + "(docs/OPERATIONS.md, \"What to do when\")")
        }
        return reports.first { !$0.report.ready }.map {
            CommandFailure(
                .refused, "\(name($0.node)) does not serve\($0.report.mayPass ? " yet" : ""): \($0.report.reason)")
        }
    }

    private static func name(_ node: ClusterFile.Node) -> String {
        node.id.isEmpty ? node.api : "\(node.id) (\(node.api))"
    }

    /// How one node is.
    struct Report {
        var alive = false
        var ready = false
        var reason = ""
        /// Whether the node says when to ask again.
        var mayPass = true

        func json(_ node: ClusterFile.Node) -> JSONTree {
            var members: [String: JSONTree] = [
                "api": .text(node.api), "alive": .boolean(alive), "ready": .boolean(ready),
            ]
            if !node.id.isEmpty { members["id"] = .text(node.id) }
            if !reason.isEmpty { members["reason"] = .text(reason) }
            return .object(members)
        }
    }

    /// All at once: one that stands still lets nobody wait for the others.
    private static func ask(_ nodes: [ClusterFile.Node], _ client: AdminClient) async -> [Report] {
        await withTaskGroup(of: (Int, Report).self) { group in
            for (place, node) in nodes.enumerated() {
                group.addTask { (place, await ask(node, client)) }
            }
            var reports = [Report](repeating: Report(), count: nodes.count)
            for await (place, report) in group { reports[place] = report }
            return reports
        }
    }

    private static func ask(_ node: ClusterFile.Node, _ client: AdminClient) async -> Report {
        var report = Report()
        do throws(CommandFailure) {
            func plain(_ path: String) async throws(CommandFailure) -> HTTPAnswer {
                try await client.plain(path, of: node.api, timeoutSeconds: NetworkTransport.healthSeconds)
            }
            report.alive = try await plain("/healthz").status == 200
            let answer = try await plain("/readyz")
            report.ready = answer.status == 200
            if !report.ready {
                report.reason = AdminClient.refusal(answer).message
                report.mayPass = (try? JSONTree(parsing: answer.body))?["error"]?["retryAfterMs"] != nil
            }
        } catch {
            report.reason = error.message
        }
        return report
    }
}
