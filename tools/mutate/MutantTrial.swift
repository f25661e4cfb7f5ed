import Foundation
import Synchronization

/// Runs stories with one mutant on, until one of them fails.
struct MutantTrial {
    /// The outcome of a mutant.
    struct Outcome {
        var story: [String] = []
        var seed: UInt64 = 0
        /// The first sentence that was said; nil for a mutant that survived.
        var sentence: String?
        /// The kinds of all sentences that were said.
        var kinds: Set<String> = []
        var runs = 0
    }

    let simulator: String
    /// Stories of every mutant that names none.
    let stories: [[String]]
    let seeds: Range<UInt64>
    /// Stories and seeds that fail without any mutant.
    var excluded: Set<String> = []

    /// How long a run may take; one that turns in a circle never ends.
    private static let secondsMax = 120.0

    /// Runs stories until one of them fails and all that `mutant` has to make them say is said.
    func run(_ mutant: Mutant, setting: String) throws -> Outcome {
        var outcome = Outcome()
        for seed in seeds {
            for story in mutant.stories.isEmpty ? stories : mutant.stories
            where !excluded.contains(Self.key(story, seed)) {
                outcome.runs += 1
                let said = try one(setting, story, seed)
                guard let first = said.first else { continue }
                if outcome.sentence == nil { (outcome.story, outcome.seed, outcome.sentence) = (story, seed, first) }
                outcome.kinds.formUnion(said.map { String($0.prefix { $0 != ":" }) })
                if outcome.kinds.isSuperset(of: mutant.says) { return outcome }
            }
        }
        return outcome
    }

    static func key(_ story: [String], _ seed: UInt64) -> String { story.joined(separator: " ") + " \(seed)" }

    /// The sentences that a run says, each behind its kind and a colon; none when it passes.
    func one(_ setting: String, _ story: [String], _ seed: UInt64) throws -> [String] {
        let process = Process()
        process.executableURL = URL(filePath: simulator)
        process.arguments = ["cluster"] + story + ["--seed", "\(seed)"]
        var environment = ProcessInfo.processInfo.environment
        environment["MUTANT"] = setting
        // A run that fails leaves the disks of its nodes behind.
        let disks = FileManager.default.temporaryDirectory.appending(path: "mutant-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: disks, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: disks) }
        environment["TMPDIR"] = disks.path + "/"
        process.environment = environment
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let isLate = Mutex(false)
        let patience = DispatchWorkItem {
            isLate.withLock { $0 = true }
            kill(process.processIdentifier, SIGKILL)
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.secondsMax, execute: patience)
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        patience.cancel()
        if isLate.withLock({ $0 }) { return ["endless: the run did not end"] }
        if process.terminationStatus == 0 { return [] }
        if process.terminationReason == .uncaughtSignal {
            return ["\(Self.trap): a node trapped (signal \(process.terminationStatus))"]
        }
        let lines = text.split(separator: "\n").map { $0.replacingOccurrences(of: "seed \(seed): ", with: "") }
        let said = lines.filter { !$0.hasPrefix("FAILED") }
        return said.isEmpty ? ["broken: it ended with \(process.terminationStatus)"] : said
    }

    /// The kind of sentence that no story lives to say.
    static let trap = "trapped"
}
