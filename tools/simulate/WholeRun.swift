import Foundation
import Glibc
import Logging
import Simulator
import Synchronization

/// Runs whole nodes, with bots and their ledger, in the simulated system: `cluster --seed 7`, with `--trace 1` for what
/// happens, or `--seeds 100 --from 1`, each in a process of its own.
struct WholeRun {
    private var seed: UInt64?
    private var from: UInt64 = 1
    private var seeds: UInt64 = 20
    private var traces = false
    private var plan = ClusterStory.Plan()
    /// As they were given: each seed's process gets them, too.
    private let flags: [String]

    init?(_ words: [String]) {
        flags = words
        var words = words
        if let place = words.firstIndex(of: "--fault") {
            guard place + 1 < words.count, let fault = ClusterStory.Fault(rawValue: words[place + 1]) else {
                return nil
            }
            plan.faults = [fault]
            words.removeSubrange(place...(place + 1))
        }
        if let place = words.firstIndex(of: "--show") {
            plan.conversation = .show
            if plan.faults.count > 1 { plan.faults = ClusterStory.showFaults }
            words.remove(at: place)
        }
        if let place = words.firstIndex(of: "--moderated") {
            plan.conversation = .moderated
            words.remove(at: place)
        }
        if let place = words.firstIndex(of: "--ages") {
            plan.ages = true
            words.remove(at: place)
        }
        guard
            let given = numbers(
                words,
                names: [
                    "--seed", "--seeds", "--from", "--trace", "--nodes", "--loops", "--faults", "--seconds",
                    "--barrage", "--slow", "--senders",
                ])
        else { return nil }
        seed = given["--seed"]
        seeds = given["--seeds"] ?? seeds
        from = given["--from"] ?? from
        traces = (given["--trace"] ?? 0) > 0
        plan.layout.nodes = given["--nodes"].map { Int($0) } ?? 3
        plan.layout.loops = given["--loops"].map { Int($0) } ?? 1
        plan.layout.barragePerViewer = given["--barrage"].map { Int($0) }
        plan.layout.slowMilliseconds = given["--slow"]
        plan.senders = min(plan.bots, given["--senders"].map { Int($0) } ?? plan.senders)
        plan.faultCount = given["--faults"].map { Int($0) } ?? plan.faultCount
        plan.seconds = given["--seconds"].map { Double($0) } ?? plan.seconds
    }

    func run() -> Int32 {
        if let seed { return one(seed) }
        return many()
    }

    private func one(_ seed: UInt64) -> Int32 {
        Simulator.prepare()
        let level: Logger.Level = traces ? .debug : .critical
        let traces = traces
        let trace: @Sendable (String) -> Void = { text in
            if traces { print(Self.time(), text) }
        }
        LoggingSystem.bootstrap { _ in TraceLog(logLevel: level, say: trace) }
        let directory = NSTemporaryDirectory() + "simulation-\(getpid())"
        var plan = plan
        plan.seed = seed
        let told = plan
        let result = Mutex<ClusterStory?>(nil)
        let isDone = Simulator.run(seed: seed, within: .seconds(plan.ages ? 1_600 : 600)) {
            var logger = Logger(label: "node")
            logger.logLevel = level
            guard let story = try? ClusterStory(told, directory: directory, logger: logger, trace: trace) else {
                return
            }
            result.withLock { $0 = story }
            await story.run()
        }
        let story = result.withLock { $0 }
        var findings = story?.findings ?? [.broken("the story could not begin")]
        if !isDone { findings.append(.endless("the story did not end")) }
        for finding in findings { print("seed \(seed): \(finding)") }
        let counts = (story?.happened ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        print(
            "seed \(seed): \(findings.isEmpty ? "passed" : "FAILED"), \(Self.time()), \(Simulator.turns) turns, "
                + "\(String(Simulator.fingerprint, radix: 16)); \(counts.joined(separator: ", "))")
        fflush(nil)
        if findings.isEmpty { try? FileManager.default.removeItem(atPath: directory) }
        // Threads of the simulation still wait for turns that never come.
        _exit(findings.isEmpty ? 0 : 1)
    }

    static func time() -> String {
        let now = SimulatedTime.now.components
        let micros = now.attoseconds / 1_000_000_000_000
        return "\(now.seconds).\(String(1_000_000 + micros).dropFirst())"
    }

    /// Each seed in a process of its own, so that a trap ends one of them only.
    private func many() -> Int32 {
        var failed: [UInt64] = []
        for seed in from..<from + seeds {
            let words = ["simulate", "cluster"] + flags + ["--seed", "\(seed)"]
            var arguments = words.map { strdup($0) }
            arguments.append(nil)
            var child: pid_t = 0
            guard posix_spawn(&child, "/proc/self/exe", nil, nil, &arguments, environ) == 0 else { return 2 }
            var status: Int32 = 0
            waitpid(child, &status, 0)
            if status != 0 { failed.append(seed) }
        }
        print("\(seeds) seeds, \(failed.count) failed\(failed.isEmpty ? "" : ": \(failed)")")
        return failed.isEmpty ? 0 : 1
    }
}

/// The log of nodes, with the simulated time.
struct TraceLog: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let say: @Sendable (String) -> Void

    init(logLevel: Logger.Level, say: @escaping @Sendable (String) -> Void) {
        self.logLevel = logLevel
        self.say = say
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        say("\(event.level) \(event.message) \(all.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " "))")
    }
}
