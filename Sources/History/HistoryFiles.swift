/// Files in their order, each once.
struct HistoryFiles: Sendable {
    private(set) var all: [HistoryFile]

    init(_ files: some Sequence<HistoryFile> = []) { all = Set(files).sorted() }

    /// The place of a file, or the one that it would have.
    private func place(_ file: HistoryFile) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = low + (high - low) / 2
            if all[middle] < file { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func has(_ file: HistoryFile, at place: Int) -> Bool { place < all.count && all[place] == file }

    mutating func insert(_ file: HistoryFile) {
        let place = place(file)
        if !has(file, at: place) { all.insert(file, at: place) }
    }

    mutating func remove(_ file: HistoryFile) {
        let place = place(file)
        if has(file, at: place) { all.remove(at: place) }
    }

    /// The newest file that is older than `file`; nil as `file`: the newest of all.
    func last(before file: HistoryFile?) -> HistoryFile? {
        guard let file else { return all.last }
        let place = place(file)
        return place > 0 ? all[place - 1] : nil
    }
}
