import Consensus

/// The bytes of the newest segments as the opening has read them. A start asks for nearly every entry, one by one and
/// for each group: from here, that takes no call of the system.
struct OpenedSegments {
    /// So much is kept in memory until the start is over; older segments are read from their files.
    private static let bytesMax = 128 << 20
    private var segments: [UInt32: ArraySlice<UInt8>] = [:]
    private var bytes = 0

    /// Keeps the records of a segment, which come in ascending order, and lets the oldest ones go where they are too many.
    mutating func keep(_ segment: UInt32, _ records: ArraySlice<UInt8>) {
        segments[segment] = records
        bytes += records.count
        while bytes > Self.bytesMax, let oldest = segments.keys.min(), let gone = segments.removeValue(forKey: oldest) {
            bytes -= gone.count
        }
    }

    /// The entry at a place; nil where it has to be read from the file.
    func entry(at place: EntryPlace, of group: GroupID) -> Entry? {
        let start = Int(place.start)
        guard let records = segments[place.segment], start + Int(place.length) <= records.count else { return nil }
        return records.withUnsafeBytes { bytes in
            SegmentRecord.entry(
                UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(place.length)]), of: group)
        }
    }
}
