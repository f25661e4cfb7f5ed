/// How long things are at most as JSON, the longer of the two encodings: by what pages and notifications are cut, so
/// that no frame is longer than `Limits.frameBytes`. A function of the text alone, so `apply` may decide by it.
public enum FrameSize {
    /// A bound for keys, quotes, numbers and flags of one element, member or item.
    private static let fields = 200

    /// The bytes of a JSON string, without quotes: never less than what a writer makes of it.
    public static func of(_ text: String) -> Int {
        var text = text
        return text.withUTF8 { bytes in
            var count = bytes.count
            for byte in bytes {
                if byte < 0x20 {
                    count += 5
                } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    count += 1
                }
            }
            return count
        }
    }

    public static func of(_ element: QueueElement) -> Int {
        fields + of(element.key) + of(element.value) + Limits.opaqueIDBytes
    }

    /// The same for an element in an answer, by which `apply` does not decide: closer, so that a whole queue fits in more often.
    public static func shown(_ element: QueueElement) -> Int {
        shownFields + of(element.key) + of(element.value) + element.owner.text.utf8.count
    }

    /// `{"key":"","value":"","owner":"","transient":false,"version":9223372036854775807,"held":true,"locked":true},`
    private static let shownFields = 108

    public static func of(_ profile: Profile) -> Int { of(profile.nick) + of(profile.avatar) + of(profile.ext) }

    public static func of(_ member: Member) -> Int { 2 * fields + Limits.opaqueIDBytes + of(member.profile) }

    /// The longest that a member can be.
    public static let memberMax =
        2 * fields + Limits.opaqueIDBytes + 6 * (Limits.nickBytes + Limits.urlBytes + Limits.extBytes)

    public static func of(_ item: BarrageItem) -> Int {
        fields + Limits.opaqueIDBytes + of(item.text) + of(item.ext ?? "") + of(item.style ?? "")
            + of(item.from?.profile.nick ?? "") + of(item.from?.profile.avatar ?? "") + of(item.from?.profile.ext ?? "")
    }

    public static func of(_ info: RoomInfo) -> Int {
        4 * fields + 4 * Limits.opaqueIDBytes + of(info.name) + of(info.announcement) + of(info.ext)
            + of(info.broadcastUrl) + info.pinned.count * (fields + Limits.opaqueIDBytes)
    }

    /// A bound for so many tallies.
    public static func ofTallies(_ count: Int) -> Int { count * (fields + Limits.tallyKeyBytes) }

    /// How many of the first items fit together; at least one if there are any.
    /// - Parameter bytesMax: what all of them may have.
    public static func fitting<Item>(_ items: [Item], within bytesMax: Int, _ size: (Item) -> Int) -> Int {
        var bytes = 0
        for (index, item) in items.enumerated() {
            bytes += size(item)
            if bytes > bytesMax { return max(1, index) }
        }
        return items.count
    }

    /// Divides items so that each part fits, unless it is a single item.
    public static func parts<Item>(of items: [Item], within bytesMax: Int, _ size: (Item) -> Int) -> [ArraySlice<Item>]
    {
        var parts: [ArraySlice<Item>] = []
        var (start, bytes) = (0, 0)
        for (index, item) in items.enumerated() {
            let more = size(item)
            if index > start, bytes + more > bytesMax {
                parts.append(items[start..<index])
                (start, bytes) = (index, 0)
            }
            bytes += more
        }
        if start < items.count { parts.append(items[start...]) }
        return parts
    }
}
