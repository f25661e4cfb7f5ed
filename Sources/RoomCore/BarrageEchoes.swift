import ChatModel

/// What one session has sent in one window that the sample does not show: it is shown to this session alone.
///
/// Bounded by `itemsMax` texts and `bytesMax` bytes a window, which nobody types: what has no room is not shown to its
/// sender either, and is counted in `skipped`, as it is to everybody.
public struct BarrageEchoes: Sendable {
    public static let itemsMax = 256
    /// Of texts and what comes with them.
    public static let bytesMax = 128 * Limits.kilobyte

    /// In the order in which the texts came.
    public private(set) var items: [BarrageItem] = []
    private var places: [ExactText: Int] = [:]
    private var bytes = 0

    public init() {}

    /// Adds an item; equal texts are one.
    /// - Returns: false when it has no room.
    @discardableResult
    public mutating func add(_ item: BarrageItem) -> Bool {
        let text = ExactText(item.text)
        if let place = places[text] {
            items[place].count += item.count
            return true
        }
        let size = item.text.utf8.count + (item.ext?.utf8.count ?? 0) + (item.style?.utf8.count ?? 0)
        guard items.count < Self.itemsMax, bytes + size <= Self.bytesMax else { return false }
        bytes += size
        places[text] = items.count
        items.append(item)
        return true
    }
}
