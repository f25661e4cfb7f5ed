import ChatModel

/// A text that is looked for. A message fits when it has all of the text's terms: the beginnings of words, and characters of
/// Chinese, Japanese and Korean that stand together there as they do here.
public struct SearchPattern: Sendable, Hashable {
    /// Words, folded.
    private var words: [[UInt8]] = []
    /// Characters that stand together.
    private var runs: [CharacterRun] = []

    /// Nil: the text has nothing to look for, as punctuation has not.
    public init?(_ text: String) {
        var characters: [[Unicode.Scalar]] = []
        SearchTerms.walk(text) { term in
            if let scalar = term.scalar {
                if term.isJoined, !characters.isEmpty {
                    characters[characters.count - 1].append(scalar)
                } else {
                    characters.append([scalar])
                }
            } else {
                let bytes = Array(term.bytes)
                if !words.contains(bytes) { words.append(bytes) }
            }
            return true
        }
        for run in characters.map(CharacterRun.init) where !runs.contains(run) { runs.append(run) }
        if words.isEmpty, runs.isEmpty { return nil }
    }

    /// Whether a text has all of the terms. Linear in the text, whatever it is: a pattern has a bounded number of words and
    /// runs. It ends with the last term that was missing.
    public func matches(_ text: String) -> Bool {
        var missingWords = Array(words.indices)
        var missingRuns = runs.indices.map { (run: $0, fitting: 0) }
        SearchTerms.walk(text) { term in
            if let scalar = term.scalar {
                var place = 0
                while place < missingRuns.count {
                    let run = runs[missingRuns[place].run]
                    let fitting = run.fitting(missingRuns[place].fitting, and: scalar, isJoined: term.isJoined)
                    if fitting == run.scalars.count {
                        missingRuns.remove(at: place)
                    } else {
                        missingRuns[place].fitting = fitting
                        place += 1
                    }
                }
            } else {
                missingWords.removeAll { term.bytes.starts(with: words[$0]) }
            }
            return !missingWords.isEmpty || !missingRuns.isEmpty
        }
        return missingWords.isEmpty && missingRuns.isEmpty
    }

    /// The parts of the MATCH expression that finds every message of a room which fits, and a few more: the index does not know
    /// where something stands between two characters, and is asked for a part of a long run only.
    func index(_ life: Incarnation) -> IndexPattern {
        let prefix = IndexTokenizer.prefix(life)
        var left = IndexPattern.joinedTermsMax
        var phrases: [String] = []
        for run in runs {
            // A character alone costs no comparison of places.
            let count = max(1, min(run.scalars.count, IndexPattern.runTermsMax, left))
            let terms = run.scalars.prefix(count).map { prefix + String($0) }
            let phrase = "\"" + terms.joined(separator: String(IndexTokenizer.separator)) + "\""
            guard !phrases.contains(phrase) else { continue }
            phrases.append(phrase)
            if count > 1 { left -= count }
        }
        // A long word seldom has as many places as a short one.
        let longestFirst = words.sorted { $0.count > $1.count }
        let beginnings = longestFirst.map { prefix + String(decoding: IndexTokenizer.kept($0), as: UTF8.self) }
        return IndexPattern(words: beginnings, runs: phrases)
    }
}

/// A pattern as an index is asked for it.
struct IndexPattern: Sendable {
    /// So many characters of one run are asked for, and of all runs with several together. FTS5 walks over all places of each
    /// in every message that has all of them: 63 times one character took it 4 ms in a message that has nothing else.
    static let (runTermsMax, joinedTermsMax) = (4, 8)

    /// The beginnings of the terms that words have in the index, the longest first.
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
