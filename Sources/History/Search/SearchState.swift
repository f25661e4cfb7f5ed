import ChatModel
import SQLite
import Synchronization

/// The state of a shard's indexes that its storage thread, the index thread and the reader threads share, behind one lock.
///
/// Nothing is skipped: a row is in the index, or among those that wait for it, or its file counts as incomplete, whose rows
/// searches look at themselves.
final class SearchState: Sendable {
    /// How far the index of a day file is.
    enum Phase: Sendable, Hashable {
        /// Nobody has looked for much in it: there is no index, and nothing waits for one.
        case unasked
        /// Not compared with its day file since the start, or given up: it is made or completed.
        case unknown
        /// It has all rows but those that wait.
        case complete
        /// There is none, while rows of another replica come in any order.
        case blocked
    }

    /// Rows of one file, by room and seq.
    struct Keys: Sendable {
        private(set) var rooms: [Incarnation: Set<UInt64>] = [:]
        private(set) var count = 0

        mutating func insert(_ life: Incarnation, _ seq: UInt64) {
            if rooms[life, default: []].insert(seq).inserted { count += 1 }
        }

        mutating func insert(_ others: Keys) {
            for (life, seqs) in others.rooms { for seq in seqs { insert(life, seq) } }
        }

        /// Takes some out, at most `limit`, of a room the oldest ones first: blocks of an index are full in the order of time.
        mutating func take(_ limit: Int) -> Keys {
            var taken = Keys()
            while taken.count < limit, let life = rooms.keys.first {
                let some = Self.lowest(limit - taken.count, of: rooms[life] ?? [])
                for seq in some {
                    taken.insert(life, seq)
                    // In place: a copy of the set would cost more than what is taken.
                    rooms[life]?.remove(seq)
                }
                if rooms[life]?.isEmpty != false { rooms[life] = nil }
                count -= some.count
            }
            return taken
        }

        /// The lowest seqs, at most `limit`, which is not zero. One pass: all of them are not brought into an order each time.
        private static func lowest(_ limit: Int, of seqs: Set<UInt64>) -> ArraySlice<UInt64> {
            var lowest: [UInt64] = []
            var bound = UInt64.max
            for seq in seqs where seq <= bound {
                lowest.append(seq)
                guard lowest.count >= 2 * limit else { continue }
                lowest.sort()
                lowest.removeSubrange(limit...)
                bound = lowest[limit - 1]
            }
            return lowest.sorted().prefix(limit)
        }
    }

    struct File: Sendable {
        var phase = Phase.unasked
        /// It is to have an index.
        var isAsked = false
        /// A higher one is another file under the same name.
        var generation: UInt64 = 0
        /// Changed, and not in the index yet.
        var pending = Keys()
        /// Those of them that are being put there.
        var taken = Keys()
        /// The log entry up to which all rows are in the day file, and in the index or among those that wait.
        var applied: UInt64 = 0
        /// The index that was on the disk when rows of another replica came has been removed.
        var isDiscarded = false
        /// The index was found damaged, and no whole one has been made since.
        var wasDamaged = false
        /// Left alone until then.
        var retryAt: ContinuousClock.Instant?
        /// The rooms that the index, or those that wait for it, may have something of; nil: any.
        var rooms: RoomFilter?

        init(isAsked: Bool) {
            self.isAsked = isAsked
            release()
        }

        /// Its index may be made, where it is to have one.
        mutating func release() { phase = isAsked ? .unknown : .unasked }

        /// The rooms of the file, once its index is complete.
        mutating func setRooms(_ lives: [Incarnation]?, isNew: Bool) {
            guard let lives else {
                rooms = nil
                return
            }
            var filter = RoomFilter(for: isNew ? nil : lives.count)
            for life in lives { filter.insert(life) }
            for keys in [pending, taken] { for life in keys.rooms.keys { filter.insert(life) } }
            rooms = filter
        }
    }

    /// A file without its sets: a copy of these would make the next change copy them as a whole.
    struct Summary {
        var phase: Phase
        var generation: UInt64
        var hasPending: Bool
        var retryAt: ContinuousClock.Instant?
    }

    struct Shared: Sendable {
        var files: [HistoryFile: File] = [:]
        /// The files that the index thread has to look at.
        var due = HistoryFiles()
        /// Days whose files have gone.
        var removed: Set<HistoryFile> = []
        /// For `SearchFigures`.
        var (errors, rebuilds) = (0, 0)
        var isBlocked = false
        /// The index thread has a job that is due when changes have waited.
        var isAwake = false
        /// It has one that is due at once.
        var isHurried = false
    }

    /// The facts that a search has to know of a file.
    struct View: Sendable {
        var isComplete = false
        /// There is an index, or there will be.
        var isAsked = true
        var generation: UInt64 = 0
        /// Seqs of the room that the index may not have as they are; empty where they are known.
        var waiting: [Int64] = []
    }

    let shared = Monitor(Shared())
    /// The shard is about to close: nothing is begun any more.
    private let resting = Atomic(false)

    var isResting: Bool { resting.load(ordering: .relaxed) }
    func rest() { resting.store(true, ordering: .relaxed) }
    let configuration: SearchConfiguration

    init(_ configuration: SearchConfiguration) { self.configuration = configuration }

    // MARK: - Index thread

    /// Takes the newest file that is to be looked at, and older than `name`; nil: there is none.
    func takeDue(before name: HistoryFile?) -> (name: HistoryFile, file: Summary)? {
        shared.withLock { shared in
            var place = name
            // Not more often than there are files: each turn has an older one.
            while let next = shared.due.last(before: place) {
                place = next
                shared.due.remove(next)
                guard let file = shared.files[next] else { continue }
                let summary = Summary(
                    phase: file.phase, generation: file.generation, hasPending: file.pending.count > 0,
                    retryAt: file.retryAt)
                return (next, summary)
            }
            return nil
        }
    }

    /// The index thread is to look at a file, once more.
    func setDue(_ name: HistoryFile) {
        shared.withLock { shared in
            if shared.files[name] != nil { shared.due.insert(name) }
        }
    }

    // MARK: - Storage thread

    /// Takes notice of files that are there already.
    /// - Parameters:
    ///   - indexed: those that have an index, which goes on.
    ///   - isBlocked: rows of another replica are still to come.
    func begin(_ files: some Sequence<HistoryFile>, indexed: Set<HistoryFile>, isBlocked: Bool) {
        shared.withLock { shared in
            shared.isBlocked = isBlocked
            for name in files {
                var file = File(isAsked: configuration.isAhead || indexed.contains(name))
                if isBlocked { file.phase = .blocked }
                shared.files[name] = file
            }
            shared.due = HistoryFiles(shared.files.keys)
        }
    }

    /// The work that changed rows are for the index thread.
    enum Noted { case nothing, some, much }

    /// A day file has other rows than before.
    /// - Parameter applied: the day file's.
    /// - Returns: `.much` when so many wait that they are to be indexed now.
    func note(
        _ name: HistoryFile, _ rows: RowGroups, in bytes: UnsafeRawBufferPointer, _ erasures: [Erasure], applied: UInt64
    ) -> Noted {
        shared.withLock { shared in
            var file = shared.files[name] ?? File(isAsked: configuration.isAhead)
            // Only one copy of the sets: they change in place.
            shared.files[name] = nil
            defer { shared.files[name] = file }
            file.applied = max(file.applied, applied)
            guard file.phase != .unasked else { return .nothing }
            shared.due.insert(name)
            guard file.phase != .blocked else { return .nothing }
            for group in rows.groups {
                for place in group.places {
                    file.pending.insert(group.incarnation, PackedRow(bytes, at: place).head.seq)
                }
                file.rooms?.insert(group.incarnation)
            }
            for erasure in erasures { file.pending.insert(erasure.incarnation, erasure.seq) }
            if file.pending.count > configuration.pendingMax {
                file.pending = Keys()
                file.phase = .unknown
                file.generation += 1
            }
            return file.pending.count >= configuration.lingerRowsMax ? .much : .some
        }
    }

    /// Rows of another replica come to a day file: its index is of no use until all have come. True when there may be one,
    /// which is to be removed from the disk before.
    func block(_ name: HistoryFile) -> Bool {
        shared.withLock { shared in
            shared.isBlocked = true
            var file = shared.files[name] ?? File(isAsked: configuration.isAhead)
            guard file.phase != .blocked || !file.isDiscarded else { return false }
            (file.phase, file.isDiscarded) = (.blocked, true)
            file.generation += 1
            (file.pending, file.taken) = (Keys(), Keys())
            shared.files[name] = file
            return true
        }
    }

    /// All rows of another replica have come. True when indexes are to be made because of it.
    func unblock() -> Bool {
        shared.withLock { shared in
            guard shared.isBlocked else { return false }
            shared.isBlocked = false
            for (name, file) in shared.files where file.phase == .blocked {
                var file = file
                file.isDiscarded = false
                file.release()
                shared.files[name] = file
                shared.due.insert(name)
            }
            return true
        }
    }

    /// A day file has gone.
    func remove(_ name: HistoryFile) {
        shared.withLock { shared in
            shared.files[name] = nil
            shared.due.remove(name)
            shared.removed.insert(name)
        }
    }

    // MARK: - Reader threads

    /// Takes those files from the end of the list in which a room has nothing to find.
    func skip(_ files: inout [HistoryFile], of life: Incarnation) {
        shared.withLock { shared in
            while let name = files.last, let file = shared.files[name], file.phase == .complete,
                file.rooms?.mayHave(life) == false
            {
                files.removeLast()
            }
        }
    }

    /// - Parameters:
    ///   - range: of the seqs that are asked for.
    ///   - known: the generation whose waiting rows the search has seen. Newer rows may wait by now, and those that it has
    ///     seen may be in the index.
    func view(
        _ name: HistoryFile, _ life: Incarnation, _ range: ClosedRange<Int64>, known: UInt64? = nil
    ) -> View {
        shared.withLock { shared in
            guard let file = shared.files[name] else { return View() }
            var view = View(
                isComplete: file.phase == .complete, isAsked: file.isAsked, generation: file.generation)
            if view.isComplete, known != file.generation {
                for keys in [file.pending, file.taken] {
                    for seq in keys.rooms[life] ?? [] where range.contains(Int64(clamping: seq)) {
                        view.waiting.append(Int64(clamping: seq))
                    }
                }
            }
            return view
        }
    }

    /// A search has much to look at in a file. True when its index is to be made because of that.
    func ask(for name: HistoryFile) -> Bool {
        shared.withLock { shared in
            guard var file = shared.files[name], !file.isAsked else { return false }
            shared.files[name] = nil
            file.isAsked = true
            if file.phase == .unasked { file.release() }
            shared.files[name] = file
            shared.due.insert(name)
            return file.phase == .unknown
        }
    }

    /// The index of a day can't be read. True when it is to be made anew.
    func giveUp(_ name: HistoryFile, _ generation: UInt64, isDamaged: Bool) -> Bool {
        shared.withLock { shared in
            guard var file = shared.files[name], file.generation == generation else { return false }
            shared.errors += 1
            guard isDamaged, file.phase == .complete else { return false }
            shared.rebuilds += 1
            file.phase = .unknown
            file.generation += 1
            shared.files[name] = file
            shared.due.insert(name)
            return true
        }
    }
}
