import Consensus

/// The bytes of the newest segments as the opening has read them. A start asks for nearly every entry, one by one and
/// for each group: from here, that takes no call of the system.
struct OpenedSegments {
    private var segments: [UInt32: ArraySlice<UInt8>] = [:]

    mutating func keep(_ segment: UInt32, _ records: ArraySlice<UInt8>) { segments[segment] = records }

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
