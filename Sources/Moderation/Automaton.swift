import ChatModel

/// The trie of all words with its failure links. States are numbered breadth first, so the children of a state are
/// neighbours, in the order of their bytes: a state needs no table of its own.
struct Automaton: Sendable {
    static let root: UInt32 = 0

    /// The byte that leads to a state.
    private var labels: [UInt8] = [0]
    /// Where the children of a state begin; they end where those of the next state begin.
    private var firstChild: [UInt32] = []
    /// The state of the longest proper suffix that is in the trie.
    private var failure: [UInt32] = [0]
    /// Letters of the longest REPLACE word that ends here; 0: none.
    private var replaced: [UInt16] = [0]
    private var refused: [Bool] = [false]
    private var held: [Bool] = [false]
    /// The root has most of the children and is asked most often.
    private var rootChildren = [UInt32](repeating: 0, count: 256)

    /// A word as the trie sees it.
    private struct Folded {
        var bytes: [UInt8]
        var letters: Int
        var action: WordAction
    }

    /// Words whose first `depth` bytes lead to one state.
    private struct Group {
        var words: Range<Int>
        var depth: Int
    }

    init(_ words: [Word]) {
        var folded = words.map { word in
            var (bytes, letters): ([UInt8], Int) = ([], 0)
            _ = Letters.forEach(in: word.text) { letter, _ in
                bytes.append(contentsOf: CaseFolding.fold(letter).utf8)
                letters += 1
                return true
            }
            return Folded(bytes: bytes, letters: letters, action: word.action)
        }
        folded.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        var groups = [Group(words: folded.indices, depth: 0)]
        var state = 0
        while state < groups.count {
            addChildren(of: state, folded, &groups)
            state += 1
        }
        firstChild.append(UInt32(clamping: labels.count))
    }

    private mutating func addChildren(of state: Int, _ words: [Folded], _ groups: inout [Group]) {
        firstChild.append(UInt32(clamping: labels.count))
        let group = groups[state]
        var index = group.words.lowerBound
        // Those that end in this state come first, and belong to it already.
        while index < group.words.upperBound, words[index].bytes.count == group.depth { index += 1 }
        while index < group.words.upperBound {
            let start = index
            let byte = words[index].bytes[group.depth]
            var (ownReplaced, ownRefused, ownHeld) = (0, false, false)
            while index < group.words.upperBound, words[index].bytes[group.depth] == byte {
                let word = words[index]
                if word.bytes.count == group.depth + 1 {
                    switch word.action {
                    case .refuse: ownRefused = true
                    case .hold: ownHeld = true
                    case .replace: ownReplaced = word.letters
                    }
                }
                index += 1
            }
            let child = UInt32(clamping: labels.count)
            let fallback = state == 0 ? Self.root : next(failure[state], byte)
            if state == 0 { rootChildren[Int(byte)] = child }
            labels.append(byte)
            failure.append(fallback)
            replaced.append(ownReplaced > 0 ? UInt16(clamping: ownReplaced) : replaced[Int(fallback)])
            refused.append(ownRefused || refused[Int(fallback)])
            held.append(ownHeld || held[Int(fallback)])
            groups.append(Group(words: start..<index, depth: group.depth + 1))
        }
    }

    /// The state after one more byte. Steps back along failures only as often as it has stepped forward.
    func next(_ from: UInt32, _ byte: UInt8) -> UInt32 {
        var state = from
        while state != Self.root {
            if let child = child(of: Int(state), byte) { return child }
            state = failure[Int(state)]
        }
        return rootChildren[Int(byte)]
    }

    private func child(of state: Int, _ byte: UInt8) -> UInt32? {
        var low = Int(firstChild[state])
        var high = Int(firstChild[state + 1])
        while low < high {
            let middle = (low + high) / 2
            if labels[middle] < byte { low = middle + 1 } else { high = middle }
        }
        return low < Int(firstChild[state + 1]) && labels[low] == byte ? UInt32(clamping: low) : nil
    }

    func refuses(_ state: UInt32) -> Bool { refused[Int(state)] }
    func holds(_ state: UInt32) -> Bool { held[Int(state)] }
    func longestReplaced(_ state: UInt32) -> Int { Int(replaced[Int(state)]) }
}
