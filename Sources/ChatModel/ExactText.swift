/// Text of others as a key: compared and hashed as its UTF-8 bytes.
///
/// `String` compares by canonical equivalence. For text that is not ASCII it normalises both sides, which costs much more
/// than the bytes say (and, for long runs of combining marks, more than linear time), and it holds texts for one that are
/// two on the wire and on disk.
public struct ExactText: Sendable, Hashable {
    /// The text as it came.
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (a: ExactText, b: ExactText) -> Bool {
        let (a, b) = (a.text.utf8, b.text.utf8)
        guard a.count == b.count else { return false }
        // Byte by byte through the string's own iterator costs ten times as much.
        let isEqual = a.withContiguousStorageIfAvailable { a in
            b.withContiguousStorageIfAvailable { b in a.elementsEqual(b) }
        }
        return (isEqual ?? nil) ?? a.elementsEqual(b)
    }

    public func hash(into hasher: inout Hasher) {
        let isHashed: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        // A string of this process is contiguous; one that is bridged would not be.
        if isHashed == nil { for byte in text.utf8 { hasher.combine(byte) } }
    }
}

extension CaseIterable where Self: RawRepresentable, RawValue == String {
    /// The case of that name, which others have sent: compared as bytes. `init(rawValue:)` would normalise the name once
    /// for each case.
    @inlinable
    public init?(exactly name: String) {
        guard let found = Self.allCases.first(where: { ExactText($0.rawValue) == ExactText(name) }) else { return nil }
        self = found
    }
}
