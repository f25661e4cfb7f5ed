import ArgumentParser
import FoundationEssentials

/// `conformance`: checks a running cluster against the contract.
struct ConformanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Check a running cluster against the contract: codes, numbers, limits and rules.",
        discussion: """
            It creates rooms and users named conformance-…, and deletes the rooms in the end; nothing else is changed. \
            It expects the contract's default settings, as cluster/up has them. Exit code 1 when something deviates.
            """)

    @Option(
        help: ArgumentHelp(
            "Where clients connect; wss://host:port where that speaks TLS. Default: that of .run/cluster.json.",
            valueName: "host:port"))
    var client: String?

    @Option(help: "Only checks whose section or sentence contains this text.") var only: String?
    @Option(help: "Checks that run at the same time.") var parallel = 8
    @Flag(help: "Show the deviations only.") var quiet = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (1...64).contains(parallel) else { throw ValidationError("--parallel must be 1-64.") }
    }

    struct Finding: Sendable {
        var number: Int
        var check: ConformanceCheck
        var deviation: String?
    }

    func run() async throws {
        let admin = try common.client()
        guard let address = client ?? admin.target.nodes.first?.client else {
            throw CommandFailure(.usage, "where do clients connect? Give --client host:port")
        }
        let run = try ConformanceRun(
            target: admin.target, transport: admin.transport, client: address, trustFile: common.caFile)
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
        await withTaskGroup(of: Finding.self) { group in
            var findings: [Finding] = []
            for (number, check) in checks.enumerated() {
                if number >= parallel, let finding = await group.next() { findings.append(finding) }
                group.addTask {
                    do {
                        try await check.body(run)
                        return Finding(number: number, check: check, deviation: nil)
                    } catch let deviation as Deviation {
                        return Finding(number: number, check: check, deviation: deviation.message)
                    } catch {
                        return Finding(number: number, check: check, deviation: "\(error)")
                    }
                }
            }
            for await finding in group { findings.append(finding) }
            return findings.sorted { $0.number < $1.number }
        }
    }

    private func report(_ findings: [Finding]) {
        let conformant = findings.count { $0.deviation == nil }
        if common.json {
            let items = findings.map { finding in
                JSONTree.object([
                    "section": .text(finding.check.section), "sentence": .text(finding.check.sentence),
                    "conformant": .boolean(finding.deviation == nil),
                    "deviation": finding.deviation.map(JSONTree.text) ?? .null,
                ])
            }
            let report: JSONTree = [
                "checks": .array(items), "conformant": .integer(Int64(conformant)),
                "of": .integer(Int64(findings.count)),
            ]
            return Output.line(report.line)
        }
        for finding in findings where !quiet || finding.deviation != nil {
            let mark = finding.deviation == nil ? "ok  " : "DIFF"
            Output.line("\(mark)  \(DisplayText.padded(finding.check.section, columns: 12))  \(finding.check.sentence)")
            if let deviation = finding.deviation { Output.line("      \(DisplayText.safe(deviation))") }
        }
        Output.line("\(conformant) of \(findings.count) conformant")
    }
}
