import Foundation
import Glibc
import Logging
import Simulator
import Synchronization

/// One room with viewers at many nodes (`SizeStory`): `size --nodes 60 --viewers 1000000`.
struct SizeRun {
    private var plan = SizeStory.Plan()
    private var seed: UInt64 = 1
    private var traces = false

    init?(_ words: [String]) {
        guard let given = numbers(words, names: ["--nodes", "--viewers", "--messages", "--seed", "--trace"]) else {
            return nil
        }
        plan.nodes = given["--nodes"].map { Int($0) } ?? plan.nodes
        plan.viewers = given["--viewers"].map { Int($0) } ?? plan.viewers
        plan.messages = given["--messages"].map { Int($0) } ?? plan.messages
        seed = given["--seed"] ?? seed
        traces = (given["--trace"] ?? 0) > 0
        guard (2...200).contains(plan.nodes), plan.viewers > 0, plan.messages > 0 else { return nil }
    }

    func run() -> Int32 {
        Simulator.prepare()
        let traces = traces
        let trace: @Sendable (String) -> Void = { text in
            if traces {
                print(WholeRun.time(), text)
                fflush(nil)
            }
        }
        LoggingSystem.bootstrap { _ in TraceLog(logLevel: .critical, say: trace) }
        let directory = NSTemporaryDirectory() + "simulation-\(getpid())"
        let plan = plan
        let result = Mutex<SizeStory?>(nil)
        let isDone = Simulator.run(seed: seed, within: .seconds(1_800)) {
            var logger = Logger(label: "node")
            logger.logLevel = .critical
            guard let story = try? SizeStory(plan, directory: directory, logger: logger, trace: trace) else { return }
            result.withLock { $0 = story }
            await story.run()
        }
        let story = result.withLock { $0 }
        var findings = story?.findings ?? [.broken("the story could not begin")]
        if !isDone { findings.append(.endless("the story did not end")) }
        for line in story?.report ?? [] { print(line) }
        for finding in findings { print("FAILED: \(finding)") }
        fflush(nil)
        try? FileManager.default.removeItem(atPath: directory)
        _exit(findings.isEmpty ? 0 : 1)
    }
}
