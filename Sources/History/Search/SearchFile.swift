/// The names of indexes: each stands beside the day file that it belongs to, and is named after it.
enum SearchFile {
    private static let prefix = "search-"
    static let suffixes = ["-wal", "-shm", ""]

    static func name(of dayFile: String) -> String { prefix + dayFile }

    /// The day file that an index belongs to; nil for other files.
    static func dayFile(of name: String) -> String? {
        guard name.hasPrefix(prefix), let suffix = suffixes.first(where: { name.hasSuffix(".sqlite" + $0) }) else {
            return nil
        }
        return String(name.dropFirst(prefix.count).dropLast(suffix.utf8.count))
    }
}
