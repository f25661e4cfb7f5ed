import Foundation

/// Which fault makes the checks say which sentence: a sentence that no fault brings about may be one that is never said.
struct SentenceTable {
    /// The document that has the table.
    static let file = "docs/contributing/fault.md"

    private let list: MutantList

    init(_ list: MutantList) { self.list = list }

    /// All kinds of sentences, as the simulator beside this program says.
    static func kinds() throws -> [String] {
        let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let simulator = own.deletingLastPathComponent().appending(path: "simulate").path
        guard FileManager.default.isExecutableFile(atPath: simulator) else {
            throw MutateError("\(simulator) is not there: build it first")
        }
        let text = try MutatedSources.output(simulator, ["sentences"])
        return text.split(separator: "\n").map(String.init) + [MutantTrial.trap]
    }

    func rows(of kinds: [String]) -> [String] {
        kinds.filter { !list.unsaid.contains($0) }.map { kind in
            let names = list.mutants(saying: kind).map { "`\($0.name)`: \($0.sentence)" }
            return "| `\(kind)` | \(names.joined(separator: "; ")) |"
        }
    }

    func check(_ kinds: [String], in file: URL) throws {
        var failures: [String] = []
        for kind in kinds where list.mutants(saying: kind).isEmpty != list.unsaid.contains(kind) {
            let isSaid = list.unsaid.contains(kind)
            failures.append(isSaid ? "\(kind) is said: it is not unsaid" : "no mutant makes the checks say \(kind)")
        }
        for mutant in list.mutants {
            for kind in mutant.says where !kinds.contains(kind) {
                failures.append("\(mutant.name): there is no sentence \(kind)")
            }
        }
        let lines = Set(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init))
        for row in rows(of: kinds) where !lines.contains(row) {
            failures.append("\(Self.file) has no row\n\(row)")
        }
        guard failures.isEmpty else { throw MutateError(failures.joined(separator: "\n")) }
    }
}
