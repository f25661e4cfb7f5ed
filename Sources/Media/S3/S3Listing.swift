import ChatModel

/// A page of the keys in a bucket: the answer to ListObjectsV2.
///
/// The answer is XML of a form that stores agree on. It is read once from the front to the back, and only for the elements that
/// count here.
public struct S3Listing: Sendable, Hashable {
    public struct Entry: Sendable, Hashable {
        public var key: String
        public var modifiedAt: Timestamp
        public var size: Int64
    }

    public var entries: [Entry] = []
    /// The place at which the next page begins; nil: this was the last one.
    public var next: String?

    /// As many keys as stores give at a time.
    public static let keysMax = 1_000
    /// Bytes of a whole answer: each key has at most 1 KB, and about as much beside it.
    public static let bytesMax = 4 << 20

    /// nil for what is no such answer.
    public init?(_ xml: [UInt8]) {
        guard xml.count <= Self.bytesMax else { return nil }
        var rest = xml[...]
        guard Self.skip("<ListBucketResult", in: &rest) else { return nil }
        var isTruncated = false
        var open: [String: String] = [:]
        var isInEntry = false
        while let tag = Self.nextTag(in: &rest) {
            switch tag {
            case "Contents": (isInEntry, open) = (true, [:])
            case "/Contents":
                guard isInEntry, entries.count < Self.keysMax, let key = open["Key"],
                    let time = open["LastModified"].flatMap({ UTCTime.extended($0.utf8) })
                else { return nil }
                entries.append(Entry(key: key, modifiedAt: time, size: open["Size"].flatMap { Int64($0) } ?? 0))
                isInEntry = false
            case "Key", "LastModified", "Size":
                if isInEntry { open[tag] = Self.text(in: &rest) }
            case "IsTruncated":
                if !isInEntry { isTruncated = Self.text(in: &rest) == "true" }
            case "NextContinuationToken":
                if !isInEntry { next = Self.text(in: &rest) }
            case "/ListBucketResult":
                if !isTruncated { next = nil }
                guard !isTruncated || next != nil else { return nil }
                return
            default: break
            }
        }
        // It was cut off.
        return nil
    }

    /// Goes behind the next occurrence.
    private static func skip(_ text: StaticString, in rest: inout ArraySlice<UInt8>) -> Bool {
        let wanted = text.withUTF8Buffer { Array($0) }
        while let start = rest.firstIndex(of: wanted[0]) {
            rest = rest[start...]
            if rest.starts(with: wanted) {
                rest = rest.dropFirst(wanted.count)
                return true
            }
            rest = rest.dropFirst()
        }
        return false
    }

    /// The name of the next tag, with a slash for one that ends an element; without attributes.
    private static func nextTag(in rest: inout ArraySlice<UInt8>) -> String? {
        guard let start = rest.firstIndex(of: UInt8(ascii: "<")),
            let end = rest[start...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        let tag = rest[rest.index(after: start)..<end].prefix { $0 != 0x20 }.prefix(64)
        rest = rest[rest.index(after: end)...]
        return String(decoding: tag, as: UTF8.self)
    }

    /// The text up to the next tag.
    private static func text(in rest: inout ArraySlice<UInt8>) -> String {
        let bytes = rest.prefix { $0 != UInt8(ascii: "<") }
        rest = rest.dropFirst(bytes.count)
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        return unescaped(bytes)
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        let known: [(name: String, byte: UInt8)] = [
            ("&amp;", 0x26), ("&lt;", 0x3C), ("&gt;", 0x3E), ("&quot;", 0x22), ("&apos;", 0x27), ("&#34;", 0x22),
            ("&#39;", 0x27),
        ]
        var (rest, found): (ArraySlice<UInt8>, [UInt8]) = (bytes, [])
        while let byte = rest.first {
            if byte == 0x26, let one = known.first(where: { rest.starts(with: $0.name.utf8) }) {
                found.append(one.byte)
                rest = rest.dropFirst(one.name.utf8.count)
            } else {
                found.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: found, as: UTF8.self)
    }

    /// The time at which the store answered, by its header `Date`: what it has is as old by its own clock.
    public static func time(ofHeader text: String) -> Timestamp? { UTCTime.header(text.utf8) }
}
