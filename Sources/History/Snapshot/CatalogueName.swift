/// Names of catalogue files. Each installed snapshot is another generation with a name of its own, so that a
/// write-ahead log can never be taken for that of another catalogue.
enum CatalogueName {
    private static let prefix = "catalogue"
    private static let suffix = ".sqlite"
    /// Behind the name of what is still being received.
    private static let stagingSuffix = ".install"
    private static let companions = ["", "-wal", "-shm", "-journal"]

    static func fileName(_ generation: UInt64) -> String {
        prefix + (generation == 0 ? "" : "-\(generation)") + suffix
    }

    static func stagingName(_ generation: UInt64) -> String { fileName(generation) + stagingSuffix }

    /// The newest generation among the names in a directory; nil when there is no catalogue. A file has its name only
    /// when it is whole and on the disk.
    static func newest(in names: [String]) -> UInt64? { names.compactMap(generation(fileName:)).max() }

    /// The names that an installation, or a start after one, leaves to be removed: everything of catalogues but the
    /// live one.
    static func rests(in names: [String], live: UInt64) -> [String] {
        names.filter { name in
            for companion in companions where name.hasSuffix(companion) {
                let main = String(name.dropLast(companion.count))
                if let generation = generation(fileName: main) { return generation != live }
                if main.hasSuffix(stagingSuffix),
                    generation(fileName: String(main.dropLast(stagingSuffix.count))) != nil
                {
                    return true
                }
            }
            return false
        }
    }

    /// The generation that a file name says; nil for other files.
    private static func generation(fileName name: String) -> UInt64? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let middle = name.dropFirst(prefix.count).dropLast(suffix.count)
        if middle.isEmpty { return 0 }
        guard middle.first == "-", let generation = UInt64(middle.dropFirst()) else { return nil }
        // Refuses leading zeros and signs.
        return generation > 0 && fileName(generation) == name ? generation : nil
    }
}
