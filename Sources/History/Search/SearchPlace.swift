import ChatModel

/// A file that a search is looking through.
struct SearchPlace: Sendable {
    var file: HistoryFile
    /// The seqs that are left.
    var seqs: ClosedRange<Int64>
    /// The index that the following are about.
    private(set) var generation: UInt64?
    /// Messages that it may not have as they are, the newest first.
    private var waiting: ArraySlice<Int64> = []
    /// Blocks after this one have been looked into.
    var block = Int64.max
    /// The block whose expression is known, and that; nil: it has too many places of all words, so the room's messages of
    /// its time are looked at without it.
    var asked: (block: Int64, expression: String?)?
    /// Messages that the turn before did not come to.
    var left: SearchCandidates?

    init(file: HistoryFile, seqs: ClosedRange<Int64>) { (self.file, self.seqs) = (file, seqs) }

    /// Takes notice of what waits for the index. Blocks of another one under the same name may have other times.
    mutating func take(_ view: SearchState.View) {
        if generation != view.generation {
            (generation, block, asked) = (view.generation, .max, nil)
            waiting = view.waiting.sorted(by: >)[...]
        }
        // The others have been looked at without the index.
        let last = seqs.upperBound
        waiting = waiting.drop { $0 > last }
    }

    /// Adds the messages that wait to those that were found.
    mutating func addWaiting(to found: [Int64], floor: Int64) -> SearchCandidates {
        let some = waiting.prefix { $0 >= floor }
        waiting = waiting.dropFirst(some.count)
        guard !some.isEmpty else { return SearchCandidates(seqs: found[...], floor: floor) }
        var last: Int64?
        let all = (found + Array(some)).sorted(by: >).filter { seq in
            defer { last = seq }
            return seq != last
        }
        return SearchCandidates(seqs: all[...], floor: floor)
    }
}

/// Messages that may fit.
struct SearchCandidates: Sendable {
    /// The newest first.
    var seqs: ArraySlice<Int64>
    /// There are no others from this seq on.
    var floor: Int64
}
