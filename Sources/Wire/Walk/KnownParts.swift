/// Parts of messages that were read lately, by their bytes: what comes again and again is read once.
///
/// It holds `partsMax` that had at most `bytesMax` bytes each; a new one takes the place of the oldest.
public struct KnownParts<Part: Sendable>: Sendable {
    static var partsMax: Int { 4 }
    static var bytesMax: Int { 512 }

    private var parts: [Part] = []
    /// The bytes of each of them.
    private var bytes: [[UInt8]] = []
    private var next = 0

    init() {}

    /// The part that was read from these bytes.
    func part(of content: UnsafeRawBufferPointer) -> Part? {
        for index in bytes.indices where Self.areEqual(bytes[index], content) { return parts[index] }
        return nil
    }

    /// Compares eight bytes at a time, the last ones once more: `elementsEqual` costs eight times as much.
    private static func areEqual(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard known.count == bytes.count else { return false }
        return known.withUnsafeBytes { known in
            guard bytes.count >= 8 else { return known.elementsEqual(bytes) }
            func differs(at offset: Int) -> Bool {
                known.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    != bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            }
            var offset = 0
            while offset + 8 <= bytes.count {
                if differs(at: offset) { return false }
                offset += 8
            }
            return !differs(at: bytes.count - 8)
        }
    }

    /// Notes a part that was read from these bytes.
    mutating func note(_ part: Part, of content: UnsafeRawBufferPointer) {
        guard content.count <= Self.bytesMax else { return }
        if parts.count < Self.partsMax {
            parts.append(part)
            bytes.append(Array(content))
        } else {
            parts[next] = part
            // In the memory of the former ones.
            bytes[next].removeAll(keepingCapacity: true)
            bytes[next].append(contentsOf: content)
            next = (next + 1) % Self.partsMax
        }
    }
}
