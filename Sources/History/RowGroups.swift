import ChatModel

/// Rows that go into a file with one transaction, by the room's life that they are of. Rooms have no order among each other,
/// and the rows of one keep theirs.
struct RowGroups {
    /// The rows of one life.
    struct Group {
        let incarnation: Incarnation
        /// The offsets at which they begin in the bytes.
        private(set) var places: [Int] = []
        private(set) var seqs: ClosedRange<UInt64>

        fileprivate init(_ incarnation: Incarnation, first seq: UInt64) {
            self.incarnation = incarnation
            seqs = seq...seq
        }

        fileprivate mutating func add(_ head: RowHead, at place: Int) {
            places.append(place)
            seqs = min(seqs.lowerBound, head.seq)...max(seqs.upperBound, head.seq)
        }
    }

    private(set) var groups: [Group] = []
    private var numbers: [Incarnation: Int] = [:]
    /// The group of the row before.
    private var last = 0
    /// The last of the log entries that made the rows.
    private(set) var lastIndex: UInt64 = 0
    private(set) var lastTime: Timestamp?

    init() {}

    /// All of some rows.
    ///
    /// - Parameter bytes: of these, in place.
    init(_ rows: HistoryRows, in bytes: UnsafeRawBufferPointer) {
        rows.forEachPlace(in: bytes) { row, place in add(row.head, at: place) }
    }

    mutating func add(_ head: RowHead, at place: Int) {
        let incarnation = Incarnation(head.incarnation)
        if last >= groups.count || groups[last].incarnation != incarnation {
            if let known = numbers[incarnation] {
                last = known
            } else {
                last = groups.count
                numbers[incarnation] = last
                groups.append(Group(incarnation, first: head.seq))
            }
        }
        groups[last].add(head, at: place)
        lastIndex = max(lastIndex, head.index)
        lastTime = max(lastTime ?? Timestamp(head.time), Timestamp(head.time))
    }
}
