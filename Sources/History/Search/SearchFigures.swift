import SQLite

/// How the indexes of a shard are.
public struct SearchFigures: Sendable, Hashable {
    /// Changed rows that are not in the index of their file yet. Searches look at those themselves.
    public var waitingRows = 0
    /// History files whose index is asked for and not complete. Searches look at all rows that the room has there.
    public var incompleteFiles = 0
    /// Indexes that could not be read or written, each time.
    public var errors = 0
    /// Those of them that were damaged, and are made anew.
    public var rebuilds = 0

    public init() {}

    public static func += (sum: inout SearchFigures, one: SearchFigures) {
        sum.waitingRows += one.waitingRows
        sum.incompleteFiles += one.incompleteFiles
        sum.errors += one.errors
        sum.rebuilds += one.rebuilds
    }
}

extension SearchState {
    var figures: SearchFigures {
        shared.withLock { shared in
            var figures = SearchFigures()
            (figures.errors, figures.rebuilds) = (shared.errors, shared.rebuilds)
            for file in shared.files.values {
                switch file.phase {
                case .unasked: break
                case .complete: figures.waitingRows += file.pending.count + file.taken.count
                case .unknown, .blocked: if file.isAsked { figures.incompleteFiles += 1 }
                }
            }
            return figures
        }
    }
}

extension ShardStorage {
    /// All zero where search is off. Cheap enough to be asked for every few seconds.
    public var searchFigures: SearchFigures { search?.figures ?? SearchFigures() }
}
