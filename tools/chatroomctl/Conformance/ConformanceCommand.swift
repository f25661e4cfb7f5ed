import ArgumentParser
import ControlClient
import FoundationEssentials

/// `conformance`: checks a running cluster against docs/PROTOCOL.md.
package struct ConformanceCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Check a running cluster against the protocol: codes, numbers, limits and rules.",
        discussion: """
            It creates rooms and users named conformance-…, and deletes the rooms in the end. For a moment it adds a \
            word and, where there are none, a hook and a webhook on this machine; nothing else is changed. It expects \
            the default settings, as cluster/up has them. Exit code 1 when something deviates.
            """)

    @Option(
        help: ArgumentHelp(
            "Where clients connect; wss://host:port where that speaks TLS. Default: that of .run/cluster.json.",
            valueName: "host:port"))
    var client: String?

    @Option(
        help: ArgumentHelp(
            "A file as cluster/up writes it: the nodes and the token key of the cluster. Default: .run/cluster.json, "
                + "when that is the cluster that is checked.", valueName: "file"), completion: .file())
    var clusterFile: String?

    @Option(help: "Only checks whose section or sentence contains this text.") var only: String?
    @Option(help: "Checks that run at the same time.") var parallel = 8
    @Flag(help: "Show the deviations only.") var quiet = false
    @OptionGroup var common: CommonOptions

    package init() {}

    package func validate() throws {
        guard (1...64).contains(parallel) else { throw ValidationError("--parallel must be 1-64.") }
    }

    struct Finding: Sendable {
        var number: Int
        var check: ConformanceCheck
        var deviation: String?
        var seconds = 0.0
        /// Why nothing was found out.
        var notChecked: String?
    }

    package func run() async throws {
        let admin = try common.client()
        var target = admin.target
        if let clusterFile {
            let file = try ClusterFile.read(URL(fileURLWithPath: clusterFile))
            (target.nodes, target.tokenKey) = (file.nodes, file.tokenKey)
        }
        guard let address = client ?? target.nodes.first(where: { $0.api == target.servers.first })?.client else {
            throw CommandFailure(.usage, "where do clients connect? Give --client host:port")
        }
        let run = try ConformanceRun(
            target: target, transport: admin.transport, client: address, trustFile: common.caFile)
        let checks = ConformanceCheck.all.filter { check in
            only.map { check.sentence.lowercased().contains($0.lowercased()) || check.section.contains($0) } ?? true
        }
        // A wrong address or key would fail every check: better said once.
        _ = try await admin.call("GET", ["rooms"], query: [("limit", "1")])
        let findings = await Self.perform(checks, run, parallel: parallel)
        await run.cleanUp()
        report(findings)
        if findings.contains(where: { $0.deviation != nil }) { throw ExitCode(1) }
    }

    private static func perform(_ checks: [ConformanceCheck], _ run: ConformanceRun, parallel: Int) async -> [Finding] {
        let numbered = Array(checks.enumerated())
        func those(_ pace: ConformanceCheck.Pace) -> [(offset: Int, element: ConformanceCheck)] {
            numbered.filter { $0.element.pace == pace }
        }
        let (busy, waiting) = (those(.busy), those(.waiting))
        async let waited = perform(waiting, run, parallel: waiting.count)
        var findings = await perform(busy, run, parallel: parallel)
        findings += await waited
        findings += await perform(those(.alone), run, parallel: 1)
        return findings.sorted { $0.number < $1.number }
    }

    private static func perform(
        _ checks: [(offset: Int, element: ConformanceCheck)], _ run: ConformanceRun, parallel: Int
    ) async -> [Finding] {
        await withTaskGroup(of: Finding.self) { group in
            var findings: [Finding] = []
            for (place, (number, check)) in checks.enumerated() {
                if place >= parallel, let finding = await group.next() { findings.append(finding) }
                group.addTask { await perform(check, number, run) }
            }
            for await finding in group { findings.append(finding) }
            return findings
        }
    }

    private static func perform(_ check: ConformanceCheck, _ number: Int, _ run: ConformanceRun) async -> Finding {
        var finding = Finding(number: number, check: check)
        let began = ContinuousClock.now
        do {
            try await check.body(run)
        } catch let deviation as Deviation {
            finding.deviation = deviation.message
        } catch let reason as NotChecked {
            finding.notChecked = reason.reason
        } catch {
            finding.deviation = "\(error)"
        }
        finding.seconds = (ContinuousClock.now - began) / .seconds(1)
        return finding
    }

    private func report(_ findings: [Finding]) {
        let checked = findings.filter { $0.notChecked == nil }
        let conformant = checked.count { $0.deviation == nil }
        if common.json {
            let items = checked.map { finding in
                JSONTree.object([
                    "section": .text(finding.check.section), "sentence": .text(finding.check.sentence),
                    "conformant": .boolean(finding.deviation == nil),
                    "deviation": finding.deviation.map(JSONTree.text) ?? .null,
                    "seconds": .number(finding.seconds),
                ])
            }
            let unchecked = findings.compactMap { finding in
                finding.notChecked.map { reason -> JSONTree in
                    [
                        "section": .text(finding.check.section), "sentence": .text(finding.check.sentence),
                        "reason": .text(reason),
                    ]
                }
            }
            let report: JSONTree = [
                "checks": .array(items), "conformant": .integer(Int64(conformant)),
                "of": .integer(Int64(checked.count)), "notChecked": .array(unchecked),
            ]
            return Output.line(report.line)
        }
        for finding in findings where !quiet || finding.deviation != nil {
            let mark = finding.notChecked != nil ? "skip" : finding.deviation == nil ? "ok  " : "DIFF"
            Output.line("\(mark)  \(DisplayText.padded(finding.check.section, columns: 12))  \(finding.check.sentence)")
            if let text = finding.deviation ?? finding.notChecked { Output.line("      \(DisplayText.safe(text))") }
        }
        let rest = findings.count - checked.count
        Output.line("\(conformant) of \(checked.count) conformant" + (rest > 0 ? ", \(rest) not checked" : ""))
    }
}
