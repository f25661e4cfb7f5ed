import Consensus
import SQLite

/// A file of segments. It holds one segment after the other: when nothing in it is needed any more, the next one is
/// written over it, because a sync of bytes that are written over others is the cheapest. A new one is filled with zeros
/// first, for the same reason.
final class SegmentFile {
    static let prefix = "log.segment."
    let number: Int
    let file: PlainFile
    /// The segment that it holds; nil: none that counts.
    var segment: UInt32?
    /// Up to where it has been filled with zeros; nil: it has been filled or written before, or has no space reserved.
    var filled: Int?

    init(_ number: Int, _ configuration: LogStoreConfiguration) throws(SQLiteError) {
        self.number = number
        file = try PlainFile(path: Self.path(number, configuration.directory), vfs: configuration.vfs)
    }

    /// Takes the space of a new file, which is filled by and by. Where there is no such space it is not filled either: the
    /// log takes what it needs as it grows.
    func reserve(_ bytes: Int) { filled = file.reserve(bytes) ? 0 : nil }

    /// Fills a part of it with zeros, before it is used.
    func fill(_ bytes: Int, of size: Int) {
        guard let start = filled else { return }
        let end = min(size, start + bytes)
        filled = file.fillWithZeros(start..<end) && end < size ? end : nil
    }

    static func path(_ number: Int, _ directory: String) -> String { "\(directory)/\(prefix)\(number)" }

    /// The numbers of the files that are there, ascending.
    static func numbers(in directory: String) throws(SQLiteError) -> [Int] {
        try FileSystem.names(in: directory).compactMap { name in
            guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)), number >= 0,
                name == prefix + String(number)
            else { return nil }
            return number
        }.sorted()
    }
}

/// A segment that is in use.
struct Segment {
    var number: UInt32
    var file: SegmentFile
    /// The offset at which its next record begins, or would.
    var used: Int
    /// Entries that are needed here.
    var needs = SegmentNeeds()
}

/// The entries that are needed of a segment, or of the table.
struct SegmentNeeds {
    private(set) var groups: [GroupID: Int] = [:]
    private(set) var count = 0
    private(set) var bytes = 0

    mutating func add(_ places: ArraySlice<EntryPlace>, of group: GroupID) {
        groups[group, default: 0] += places.count
        count += places.count
        bytes += places.reduce(0) { $0 + Int($1.length) }
    }

    mutating func remove(_ places: ArraySlice<EntryPlace>, of group: GroupID) {
        groups[group, default: 0] -= places.count
        if groups[group] == 0 { groups[group] = nil }
        count -= places.count
        bytes -= places.reduce(0) { $0 + Int($1.length) }
    }
}
