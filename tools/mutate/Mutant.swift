/// One fault: replacements in the sources, each under a switch.
struct Mutant {
    /// `old` occurs once in the file. In `new`, `MUTANT` stands for the switch.
    struct Replacement {
        var file: String
        var old: String
        var new: String
    }

    var name: String
    /// The fault, in a sentence.
    var sentence: String
    var replacements: [Replacement] = []
    /// Faults of the list that are on together with this one.
    var parts: [String] = []
    /// The stories that are told with it; empty: those of all mutants.
    var stories: [[String]] = []
    /// Kinds of sentences that must be said about it, besides others that may be.
    var says: [String] = []
    /// Why nothing finds it; nil where it has to be found.
    var survives: String?
}

/// The list of faults, as `mutants.txt` has it.
///
/// ```
/// mutant early-forgotten: calls that wait are forgotten when leadership is lost
/// in Sources/Rooms/ShardHost+Leading.swift
/// - receiveEarly()
/// + if !MUTANT { receiveEarly() }
/// ```
///
/// Several `-` (or `+`) lines in a row are one text of several lines. Further lines: `parts NAME…`, `story WORD…`
/// (arguments of `simulate cluster`), `says KIND…`, `survives REASON`; and in front of all mutants `unsaid KIND…`.
struct MutantList {
    private(set) var mutants: [Mutant] = []
    /// Kinds of sentences for which there is no fault yet.
    private(set) var unsaid: Set<String> = []

    init(parsing text: String) throws {
        var file = ""
        var last: Character = " "
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            defer { last = line.first ?? " " }
            guard let first = line.first, first != "#" else { continue }
            func fail(_ why: String) -> MutateError { MutateError("mutants.txt:\(number + 1): \(why)") }
            let words = line.split(separator: " ").map(String.init)
            if first != "-", first != "+", words[0] == "mutant" {
                let parts = line.dropFirst("mutant ".count).split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { throw fail("a name and a sentence are needed") }
                let name = String(parts[0])
                guard !mutants.contains(where: { $0.name == name }) else { throw fail("\(name) is there twice") }
                mutants.append(Mutant(name: name, sentence: parts[1].trimmingPrefix(" ").description))
                continue
            }
            if mutants.isEmpty, words[0] == "unsaid" {
                unsaid.formUnion(words.dropFirst())
                continue
            }
            guard !mutants.isEmpty else { throw fail("no mutant has begun") }
            let current = mutants.count - 1
            let rest = String(line.dropFirst(2))
            switch first {
            case "-":
                if last == "-" {
                    let place = mutants[current].replacements.count - 1
                    mutants[current].replacements[place].old += "\n" + rest
                } else {
                    mutants[current].replacements.append(Mutant.Replacement(file: file, old: rest, new: ""))
                }
            case "+":
                guard last == "-" || last == "+" else { throw fail("there is nothing to replace") }
                let place = mutants[current].replacements.count - 1
                mutants[current].replacements[place].new += (last == "+" ? "\n" : "") + rest
            default:
                switch words[0] {
                case "in": file = words.dropFirst().joined(separator: " ")
                case "parts": mutants[current].parts += words.dropFirst()
                case "story": mutants[current].stories.append(Array(words.dropFirst()))
                case "says": mutants[current].says += words.dropFirst()
                case "survives": mutants[current].survives = words.dropFirst().joined(separator: " ")
                default: throw fail("\(words[0]) is unknown")
                }
            }
        }
        for mutant in mutants {
            for part in mutant.parts where number(of: part) == nil {
                throw MutateError("\(mutant.name): there is no mutant \(part)")
            }
        }
    }

    /// The mutants that make a kind of sentence be said.
    func mutants(saying kind: String) -> [Mutant] { mutants.filter { $0.says.contains(kind) } }

    /// By which the switch knows it.
    func number(of name: String) -> Int? { mutants.firstIndex { $0.name == name }.map { $0 + 1 } }

    /// The value of the switch for a mutant, its parts included.
    func setting(of mutant: Mutant) -> String {
        ([mutant.name] + mutant.parts).compactMap { number(of: $0) }.map(String.init).joined(separator: ",")
    }
}

struct MutateError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
