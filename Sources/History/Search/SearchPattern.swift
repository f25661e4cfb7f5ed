import ChatModel

/// A text that is looked for. A message fits when it has all of the text's terms: the beginnings of words, and characters of
/// Chinese, Japanese and Korean that stand together there as they do here.
public struct SearchPattern: Sendable, Hashable {
    /// Words, folded.
    private var words: [[UInt8]] = []
    /// Runs of characters, each as its scalar.
    private var runs: [[Unicode.Scalar]] = []

    /// Nil: the text has nothing to look for, as punctuation has not.
    public init?(_ text: String) {
        SearchTerms.walk(text) { term in
            if let scalar = term.scalar {
                if term.isJoined, !runs.isEmpty { runs[runs.count - 1].append(scalar) } else { runs.append([scalar]) }
            } else {
                let bytes = Array(term.bytes)
                if !words.contains(bytes) { words.append(bytes) }
            }
            return true
        }
        if words.isEmpty, runs.isEmpty { return nil }
    }

    /// Whether a text has all of the terms. Linear in the text, whatever it is: a pattern has a bounded length.
    public func matches(_ text: String) -> Bool {
        var missing = Set(words.indices)
        var characters: [(scalar: Unicode.Scalar, isJoined: Bool)] = []
        SearchTerms.walk(text) { term in
            if let scalar = term.scalar {
                if !runs.isEmpty { characters.append((scalar, term.isJoined)) }
            } else {
                for index in missing where term.bytes.starts(with: words[index]) { missing.remove(index) }
            }
            return true
        }
        return missing.isEmpty && runs.allSatisfy { Self.has($0, characters) }
    }

    private static func has(_ run: [Unicode.Scalar], _ characters: [(scalar: Unicode.Scalar, isJoined: Bool)]) -> Bool {
        guard characters.count >= run.count else { return false }
        return (0...(characters.count - run.count)).contains { start in
            run.indices.allSatisfy { offset in
                let character = characters[start + offset]
                return character.scalar == run[offset] && (offset == 0 || character.isJoined)
            }
        }
    }

    /// The parts of the MATCH expression that finds every message of a room which fits, and a few more: the index does not know
    /// where something stands between two characters.
    func index(_ life: Incarnation) -> IndexPattern {
        let prefix = IndexTokenizer.prefix(life)
        return IndexPattern(
            words: words.map { prefix + String(decoding: IndexTokenizer.kept($0), as: UTF8.self) },
            runs: runs.map { run in
                let terms = run.map { prefix + String($0) }
                return "\"" + terms.joined(separator: String(IndexTokenizer.separator)) + "\""
            })
    }
}

/// A pattern as an index is asked for it.
struct IndexPattern: Sendable {
    /// The beginnings of the terms that words have in the index.
    var words: [String]
    /// Expressions for the runs of characters.
    var runs: [String]

    /// - Parameter words: some of them; with fewer, more messages are found.
    /// - Returns: nil when nothing is left to look for.
    func expression(_ words: [String]) -> String? {
        let parts = words.map { "\"" + $0 + "\"*" } + runs
        return parts.isEmpty ? nil : parts.joined(separator: " AND ")
    }
}
