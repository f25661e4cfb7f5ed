/// One pass over a text in search of a filter's words.
struct WordSearch {
    let automaton: Automaton
    private var state = Automaton.root
    private(set) var isHeld = false
    /// Runs of scalars to replace, in order, not overlapping.
    private(set) var runs: [Range<Int>] = []

    init(_ automaton: Automaton) { self.automaton = automaton }

    /// - Returns: false where a word to refuse is found; the rest is not read then.
    mutating func read(_ text: String) -> Bool {
        guard Letters.areScalars(of: text) else { return readLetters(of: text) }
        var position = 0
        for scalar in text.unicodeScalars {
            step(scalar)
            position += 1
            if automaton.refuses(state) { return false }
            if automaton.holds(state) { isHeld = true }
            let length = automaton.longestReplaced(state)
            if length > 0 { replace(from: position - length, to: position) }
        }
        return true
    }

    /// The same of a text whose letters are not just its scalars.
    private mutating func readLetters(of text: String) -> Bool {
        // The first scalar of each letter.
        var starts: [Int] = []
        return Letters.forEach(in: text) { letter, place in
            step(letter)
            starts.append(place.lowerBound)
            if automaton.refuses(state) { return false }
            if automaton.holds(state) { isHeld = true }
            let length = automaton.longestReplaced(state)
            if length > 0 { replace(from: starts[starts.count - length], to: place.upperBound) }
            return true
        }
    }

    @inline(__always)
    private mutating func step(_ letter: Unicode.Scalar) {
        let folded = CaseFolding.fold(letter)
        if folded.isASCII {
            state = automaton.next(state, UInt8(truncatingIfNeeded: folded.value))
        } else {
            for byte in folded.utf8 { state = automaton.next(state, byte) }
        }
    }

    /// The longest word that ends here covers all shorter ones that do.
    private mutating func replace(from first: Int, to end: Int) {
        var start = first
        while let last = runs.last, last.upperBound >= start {
            start = min(start, last.lowerBound)
            runs.removeLast()
        }
        runs.append(start..<end)
    }
}
