/// Payloads that are too big for one frame: cut here, put together there.
///
/// Parts are told apart by a check of the whole, so that those of several payloads may be mixed; equal payloads are the
/// same to whoever gets them.
struct PayloadParts: Sendable {
    private struct Incomplete: Sendable {
        var check: UInt64
        var length: Int
        var bytes: [UInt8]
    }

    /// Oldest first.
    private var incomplete: [Incomplete] = []

    static let partBytes = 1 << 20
    static let headerBytes = 17
    /// Payloads that may be incomplete at a time: of a further one, the oldest is forgotten. A caller that waits for
    /// that asks again when its time is up.
    static let incompleteMax = 4

    static func parts(of payload: [UInt8]) -> [[UInt8]] {
        let check = Checksum.of(payload)
        return stride(from: 0, to: payload.count, by: partBytes).map { start in
            let end = min(start + partBytes, payload.count)
            var part: [UInt8] = []
            part.reserveCapacity(headerBytes + end - start)
            part.append(NodePayload.Kind.part.rawValue)
            withUnsafeBytes(of: check.littleEndian) { part.append(contentsOf: $0) }
            withUnsafeBytes(of: UInt32(clamping: payload.count).littleEndian) { part.append(contentsOf: $0) }
            withUnsafeBytes(of: UInt32(clamping: start).littleEndian) { part.append(contentsOf: $0) }
            part.append(contentsOf: payload[start..<end])
            return part
        }
    }

    /// Takes a part. Returns the payload that it completes.
    /// - Throws: `malformed`, `tooLarge`.
    mutating func append(_ part: [UInt8]) throws(NodeMessageError) -> [UInt8]? {
        guard part.count > Self.headerBytes else { throw NodeMessageError(.malformed, "a part without bytes") }
        let check = Self.number(part[1..<9])
        let length = Int(Self.number(part[9..<13]))
        let start = Int(Self.number(part[13..<17]))
        let content = part[Self.headerBytes...]
        guard length <= NodePayload.messageBytesMax else {
            throw NodeMessageError(.tooLarge, "a message of \(length) bytes")
        }
        guard start < length, content.count <= length - start else {
            throw NodeMessageError(.malformed, "a part that is not within its message")
        }
        if start == 0 {
            incomplete.removeAll { $0.check == check }
            if incomplete.count == Self.incompleteMax { incomplete.removeFirst() }
            incomplete.append(Incomplete(check: check, length: length, bytes: []))
        }
        // The parts before it may have been forgotten.
        guard
            let place = incomplete.firstIndex(where: {
                $0.check == check && $0.length == length && $0.bytes.count == start
            })
        else { return nil }
        incomplete[place].bytes.append(contentsOf: content)
        guard incomplete[place].bytes.count == length else { return nil }
        let whole = incomplete.remove(at: place).bytes
        guard Checksum.of(whole) == check else { throw NodeMessageError(.malformed, "parts of different messages") }
        return whole
    }

    /// Least significant byte first.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
