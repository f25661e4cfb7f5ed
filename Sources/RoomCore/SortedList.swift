/// Distinct elements in ascending order, kept in chunks: insert, remove and seek cost O(log n + chunk), and a page
/// costs O(log n + page), also with a million elements. Unlike one sorted array it never moves more than a chunk.
struct SortedList<Element: Comparable & Sendable>: Sendable {
    /// A full chunk is split in two; a small one is joined with its neighbour. All chunks are non-empty.
    private static var chunkMax: Int { 512 }
    private static var chunkMin: Int { 128 }

    private var chunks: [[Element]] = []
    private(set) var count = 0

    init() {}

    init(sorting elements: some Sequence<Element>) {
        for element in elements.sorted() { insert(element) }
    }

    var isEmpty: Bool { count == 0 }
    var first: Element? { chunks.first?.first }
    var last: Element? { chunks.last?.last }

    /// Returns false when the element was there already.
    @discardableResult
    mutating func insert(_ element: Element) -> Bool {
        guard let last, element <= last else {
            append(element)
            return true
        }
        let chunk = chunkIndex(reaching: element)
        let place = Self.lowerBound(of: element, in: chunks[chunk])
        guard chunks[chunk][place] != element else { return false }
        chunks[chunk].insert(element, at: place)
        count += 1
        if chunks[chunk].count > Self.chunkMax {
            let half = Array(chunks[chunk][(Self.chunkMax / 2)...])
            chunks[chunk].removeSubrange((Self.chunkMax / 2)...)
            chunks.insert(half, at: chunk + 1)
        }
        return true
    }

    private mutating func append(_ element: Element) {
        // Ascending input fills chunks up instead of leaving halves behind.
        if chunks.isEmpty || chunks[chunks.count - 1].count >= Self.chunkMax {
            chunks.append([element])
        } else {
            chunks[chunks.count - 1].append(element)
        }
        count += 1
    }

    /// Returns false when the element was not there.
    @discardableResult
    mutating func remove(_ element: Element) -> Bool {
        guard let last, element <= last else { return false }
        let chunk = chunkIndex(reaching: element)
        let place = Self.lowerBound(of: element, in: chunks[chunk])
        guard chunks[chunk][place] == element else { return false }
        chunks[chunk].remove(at: place)
        count -= 1
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
        } else if chunks[chunk].count < Self.chunkMin {
            join(chunk)
        }
        return true
    }

    /// Joins a small chunk with its successor, if both together are at most half full.
    private mutating func join(_ chunk: Int) {
        let next = chunk + 1
        guard next < chunks.count, chunks[chunk].count + chunks[next].count <= Self.chunkMax / 2 else { return }
        chunks[chunk].append(contentsOf: chunks[next])
        chunks.remove(at: next)
    }

    func contains(_ element: Element) -> Bool {
        guard let last, element <= last else { return false }
        let chunk = chunks[chunkIndex(reaching: element)]
        return chunk[Self.lowerBound(of: element, in: chunk)] == element
    }

    /// Visits elements in ascending order, from the first one for which `isBefore` is false, until `visit` returns
    /// false. `isBefore` must be true of a prefix of the elements.
    func ascend(skipping isBefore: (Element) -> Bool, _ visit: (Element) -> Bool) {
        var chunk = Self.partition(chunks.count) { isBefore(chunks[$0][chunks[$0].count - 1]) }
        guard chunk < chunks.count else { return }
        var place = Self.partition(chunks[chunk].count) { isBefore(chunks[chunk][$0]) }
        while chunk < chunks.count {
            while place < chunks[chunk].count {
                guard visit(chunks[chunk][place]) else { return }
                place += 1
            }
            chunk += 1
            place = 0
        }
    }

    /// Visits elements in descending order, from the last one for which `isBelow` is true, until `visit` returns
    /// false. `isBelow` must be true of a prefix of the elements.
    func descend(from isBelow: (Element) -> Bool, _ visit: (Element) -> Bool) {
        var chunk = Self.partition(chunks.count) { isBelow(chunks[$0][0]) } - 1
        guard chunk >= 0 else { return }
        var place = Self.partition(chunks[chunk].count) { isBelow(chunks[chunk][$0]) } - 1
        while true {
            while place >= 0 {
                guard visit(chunks[chunk][place]) else { return }
                place -= 1
            }
            chunk -= 1
            guard chunk >= 0 else { return }
            place = chunks[chunk].count - 1
        }
    }

    /// All elements, in order: for what is small or rare.
    var elements: [Element] { chunks.flatMap { $0 } }

    // MARK: - Searching

    /// The first chunk whose last element is not below `element`; there must be one.
    private func chunkIndex(reaching element: Element) -> Int {
        Self.partition(chunks.count) { chunks[$0][chunks[$0].count - 1] < element }
    }

    private static func lowerBound(of element: Element, in chunk: [Element]) -> Int {
        partition(chunk.count) { chunk[$0] < element }
    }

    /// How many of the indices 0 ..< count, from the first on, satisfy the predicate.
    private static func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
