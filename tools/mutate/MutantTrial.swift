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

    func run(setting: String, stories own: [[String]]) throws -> Outcome {
        var outcome = Outcome()
        for seed in seeds {
            for story in own.isEmpty ? stories : own where !excluded.contains(Self.key(story, seed)) {
                outcome.runs += 1
                if let sentence = try one(setting, story, seed) {
                    (outcome.story, outcome.seed, outcome.sentence) = (story, seed, sentence)
                    return outcome
                }
            }
        }
        return outcome
    }

    static func key(_ story: [String], _ seed: UInt64) -> String { story.joined(separator: " ") + " \(seed)" }

    /// The first sentence that a run says; nil when it passes.
    func one(_ setting: String, _ story: [String], _ seed: UInt64) throws -> String? {
        let process = Process()
        process.executableURL = URL(filePath: simulator)
        process.arguments = ["cluster"] + story + ["--seed", "\(seed)"]
        var environment = ProcessInfo.processInfo.environment
        environment["MUTANT"] = setting
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
        if isLate.withLock({ $0 }) { return "the run did not end" }
        if process.terminationStatus == 0 { return nil }
        if process.terminationReason == .uncaughtSignal {
            return "a node trapped (signal \(process.terminationStatus))"
        }
        let line = text.split(separator: "\n").first.map(String.init) ?? "it ended with \(process.terminationStatus)"
        return line.replacingOccurrences(of: "seed \(seed): ", with: "")
    }
}
