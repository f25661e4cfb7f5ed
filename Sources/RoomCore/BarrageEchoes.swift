import ChatModel

/// Items that one session has sent in one window and the sample does not show: they are shown to this session alone.
///
/// Bounded by `itemsMax` items and `bytesMax` bytes a window, which nobody types: what has no room is not shown to its
/// sender either, and is counted in `skipped`, as it is to everybody.
public struct BarrageEchoes: Sendable {
    public static let itemsMax = 256
    /// The bound for their texts and the fields that come with them.
    public static let bytesMax = 128 * Limits.kilobyte

    /// In the order in which they came.
    public private(set) var items: [BarrageItem] = []
    private var places: [BarrageBody: Int] = [:]
    private var bytes = 0

    public init() {}

    /// Adds an item; equal ones are one.
    /// - Returns: false when it has no room.
    @discardableResult
    public mutating func add(_ item: BarrageItem) -> Bool {
        let body = BarrageBody(item)
        if let place = places[body] {
            items[place].count += item.count
            return true
        }
        let size = Self.size(of: item)
        guard items.count < Self.itemsMax, bytes + size <= Self.bytesMax else { return false }
        bytes += size
        places[body] = items.count
        items.append(item)
        return true
    }

    /// Each item carries its sender.
    static func size(of item: BarrageItem) -> Int {
        var size = item.text.utf8.count + (item.ext?.utf8.count ?? 0) + (item.style?.utf8.count ?? 0)
        if let profile = item.from?.profile {
            size += profile.nick.utf8.count + profile.avatar.utf8.count + profile.ext.utf8.count
        }
        return size
    }
}
