import ChatModel
import ShardPlacement

/// Where a room stands in the listing by people: those with the most first, and those with as many in an order of their
/// own that does not change. So a cursor is short whatever the ID is, and following the pages ends: a room comes twice
/// or not at all only if its number changes meanwhile.
public struct OnlinePlace: Comparable, Sendable {
    let online: Int
    /// The hash of the ID; a room is missed only if its hash equals another one's, among 2^64.
    let hash: UInt64

    init(_ room: RoomID, online: Int) {
        self.online = online
        hash = ShardMap.hash(room.text.utf8)
    }

    public init(_ view: RoomView) { self.init(view.info.id, online: Int(clamping: view.online)) }

    /// nil for what is no cursor.
    init?(cursor: String) {
        let parts = cursor.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let online = Int(parts[0]), online >= 0, let hash = UInt64(parts[1], radix: 36) else {
            return nil
        }
        (self.online, self.hash) = (online, hash)
    }

    /// The cursor that a caller gives back for the next page.
    public var cursor: String { "\(online)-\(String(hash, radix: 36))" }

    public static func < (one: OnlinePlace, other: OnlinePlace) -> Bool {
        (other.online, one.hash) < (one.online, other.hash)
    }
}
