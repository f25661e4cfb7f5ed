import Foundation
import Synchronization

/// The request that the arguments make.
struct MutateCommand {
    private enum Task: String { case check, list, table, build, run }

    private var task: Task
    private var seeds: UInt64 = 10
    private var from: UInt64 = 1
    private var jobs = 2
    private var scratch: String
    private var report: String?
    /// One that was built before, with all mutants in it.
    private var simulator: String?
    private var names: [String] = []
    private let root = URL(filePath: FileManager.default.currentDirectoryPath)

    /// The stories of mutants that name no story of their own.
    private static let stories = [
        [], ["--show"], ["--nodes", "5", "--loops", "2"], ["--show", "--faults", "0"], ["--fault", "transfer"],
    ]

    init?(_ words: [String]) {
        guard let first = words.first, let task = Task(rawValue: first) else { return nil }
        self.task = task
        scratch = FileManager.default.temporaryDirectory.path + "/mutants"
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                names.append(word)
                continue
            }
            guard let value = rest.popFirst() else { return nil }
            switch word {
            case "--seeds": seeds = UInt64(value) ?? seeds
            case "--from": from = UInt64(value) ?? from
            case "--jobs": jobs = Int(value) ?? jobs
            case "--scratch": scratch = value
            case "--report": report = value
            case "--simulator": simulator = value
            default: return nil
            }
        }
    }

    func run() throws -> Int32 {
        let text = try String(contentsOf: root.appending(path: "tools/mutate/mutants.txt"), encoding: .utf8)
        let list = try MutantList(parsing: text)
        for name in names where list.number(of: name) == nil { throw MutateError("there is no mutant \(name)") }
        let sources = MutatedSources(root: root, scratch: URL(filePath: scratch), list: list)
        switch task {
        case .list:
            for mutant in list.mutants { print("\(mutant.name): \(mutant.sentence)") }
            return 0
        case .table:
            for row in SentenceTable(list).rows(of: try SentenceTable.kinds()) { print(row) }
            return 0
        case .check:
            _ = try sources.mutated()
            let kinds = try SentenceTable.kinds()
            try SentenceTable(list).check(kinds, in: root.appending(path: SentenceTable.file))
            print(
                "\(list.mutants.count) mutants match the sources, and make \(kinds.count - list.unsaid.count) of \(kinds.count) "
                    + "kinds of sentences be said")
            return 0
        case .build, .run:
            if task == .run, let simulator { return try tryAll(list, simulator) }
            try sources.write()
            let simulator = try sources.build()
            return task == .build ? 0 : try tryAll(list, simulator)
        }
    }

    private func tryAll(_ list: MutantList, _ simulator: String) throws -> Int32 {
        let chosen = list.mutants.filter { names.isEmpty || names.contains($0.name) }
        var trial = MutantTrial(simulator: simulator, stories: Self.stories, seeds: from..<from + seeds)
        // A story that fails without a fault finds none.
        let stories = Set(Self.stories + chosen.flatMap(\.stories))
        let plain = stories.flatMap { story in trial.seeds.map { (story, $0) } }
        let failures = try inParallel(plain) { try trial.one("", $0.0, $0.1) }
        for ((story, seed), sentences) in zip(plain, failures) {
            guard let sentence = sentences.first else { continue }
            trial.excluded.insert(MutantTrial.key(story, seed))
            print("without a mutant: \(MutantTrial.key(story, seed)): \(sentence)")
        }
        let ready = trial
        let outcomes = try inParallel(chosen) { mutant in
            let outcome = try ready.run(mutant, setting: list.setting(of: mutant))
            print(Self.row(mutant, outcome))
            fflush(nil)
            return outcome
        }
        let all = zip(chosen, outcomes).map { ($0, $1) }
        let survivors = all.filter { $1.sentence == nil && $0.survives == nil }.map(\.0.name)
        print("\(chosen.count) mutants, \(outcomes.count { $0.sentence != nil }) found, not found: \(survivors)")
        let silent = all.filter { $1.sentence != nil && !$1.kinds.isSuperset(of: $0.says) }
        for (mutant, outcome) in silent {
            print("\(mutant.name) does not say \(mutant.says.filter { !outcome.kinds.contains($0) })")
        }
        if let report { try Self.table(all).write(toFile: report, atomically: true, encoding: .utf8) }
        return survivors.isEmpty && silent.isEmpty ? 0 : 1
    }

    private static func row(_ mutant: Mutant, _ outcome: MutantTrial.Outcome) -> String {
        guard let sentence = outcome.sentence else {
            let why = mutant.survives.map { "expected: \($0)" } ?? "NOT FOUND"
            return "| \(mutant.name) | \(mutant.sentence) | \(why) | \(outcome.runs) runs |"
        }
        let story = (outcome.story + ["--seed \(outcome.seed)"]).joined(separator: " ")
        let others = outcome.kinds.filter { !sentence.hasPrefix($0) }.sorted()
        let besides = others.isEmpty ? "" : " (\(others.joined(separator: ", ")))"
        return "| \(mutant.name) | \(mutant.sentence) | \(sentence.prefix(160))\(besides) | `\(story)` |"
    }

    private static func table(_ all: [(Mutant, MutantTrial.Outcome)]) -> String {
        let head = "| mutant | fault | found by | story |\n|---|---|---|---|\n"
        return head + all.map { row($0, $1) }.joined(separator: "\n") + "\n"
    }

    /// The results in order.
    private func inParallel<Item, Value: Sendable>(_ items: [Item], _ body: @escaping (Item) throws -> Value) throws
        -> [Value]
    {
        let results = Mutex<[Int: Result<Value, any Error>]>([:])
        let next = Mutex(0)
        let work = Shared(items, body)
        let group = DispatchGroup()
        for _ in 0..<jobs {
            DispatchQueue.global().async(group: group) {
                while true {
                    let index = next.withLock { next in
                        defer { next += 1 }
                        return next
                    }
                    guard index < work.items.count else { return }
                    let result = Result { try work.body(work.items[index]) }
                    results.withLock { $0[index] = result }
                }
            }
        }
        group.wait()
        return try results.withLock { results in try items.indices.compactMap { try results[$0]?.get() } }
    }

    /// State that threads share, and only read.
    private final class Shared<Item, Value>: @unchecked Sendable {
        let items: [Item]
        let body: (Item) throws -> Value
        init(_ items: [Item], _ body: @escaping (Item) throws -> Value) { (self.items, self.body) = (items, body) }
    }
}
