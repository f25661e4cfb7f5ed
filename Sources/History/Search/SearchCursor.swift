/// The place at which a search goes on.
public struct SearchCursor: Sendable, Hashable {
    /// Messages from this seq on have been looked at.
    public var beforeSeq: UInt64
    /// So have all files that are newer than this one: they are not opened once more. Nil: that is not known.
    public var file: HistoryFile?

    public init(beforeSeq: UInt64, file: HistoryFile? = nil) {
        self.beforeSeq = beforeSeq
        self.file = file
    }

    /// For clients, who need not know what is in it.
    public var text: String { file.map { "\(beforeSeq).\($0.number)" } ?? "\(beforeSeq)" }

    /// Nil: no search has given it.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let seq = UInt64(parts[0]) else { return nil }
        self.init(beforeSeq: seq)
        if parts.count == 2 {
            guard let number = Int64(parts[1]), let file = HistoryFile(number: number) else { return nil }
            self.file = file
        }
        // One place has one text.
        guard self.text == text else { return nil }
    }
}
