/// The place of an entry's bytes.
struct EntryPlace: Sendable, Hashable {
    /// The number of the segment; 0: the table of `log.sqlite`.
    var segment: UInt32
    /// How many bytes it has there; 0 in the table.
    var length: UInt32
    /// The offset in the segment, or the row in the table.
    var start: Int64

    init(row: Int64) { (segment, length, start) = (0, 0, row) }

    init(segment: UInt32, length: Int, start: Int) {
        self.segment = segment
        self.length = UInt32(length)
        self.start = Int64(start)
    }

    var isInTable: Bool { segment == 0 }
}
