import ChatModel
import Testing

@testable import Wire

/// Fields that a newer version may write into bytes that this one reads, at every place where it could.
@Suite struct `A stored field that is not known` {
    /// The bytes with one more field, at the end of the whole and of each part that may be a message.
    private func extended(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var position = bytes.startIndex
        /// A varint; nil at the end.
        func number(_ position: inout Int) -> UInt64? {
            var (value, shift) = (UInt64(0), UInt64(0))
            while position < bytes.endIndex, shift < 64 {
                let byte = bytes[position]
                position += 1
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return value }
                shift += 7
            }
            return nil
        }
        while position < bytes.endIndex {
            let start = position
            guard let tag = number(&position), tag >> 3 > 0 else { return [] }
            switch tag & 7 {
            case 0: guard number(&position) != nil else { return [] }
            case 1: position += 8
            case 5: position += 4
            case 2:
                guard let length = number(&position), length <= UInt64(bytes.endIndex - position) else { return [] }
                let end = position + Int(length)
                for inner in extended(bytes[position..<end]) {
                    var whole = Array(bytes[..<start].suffix(start - bytes.startIndex))
                    Varint.append(tag, to: &whole)
                    Varint.append(UInt64(inner.count), to: &whole)
                    found.append(whole + inner + bytes[end...])
                }
                position = end
            default: return []
            }
            guard position <= bytes.endIndex else { return [] }
        }
        // 15,000: a varint, above all numbers.
        return found + [bytes + [0xC0, 0xA9, 0x07, 0x01]]
    }

    /// Whether it is refused where it can be told from a value: skipped, it changes nothing.
    /// - Returns: how many places there are.
    private func refused<Value: Equatable>(
        _ bytes: [UInt8], _ read: (ProtobufRules, [UInt8]) throws -> Value
    ) throws -> Int {
        let wanted = try read([], bytes)
        #expect(try read(.allFields, bytes) == wanted)
        var places = 0
        for bytes in extended(bytes[...]) {
            guard let skipping = try? read([], bytes), skipping == wanted else { continue }
            places += 1
            let error = #expect(throws: ChatError.self) { try read(.allFields, bytes) }
            #expect(error?.code == .unknown, "SEED=\(SeededGenerator.seed)")
        }
        return places
    }

    private func command(_ rules: ProtobufRules, _ bytes: [UInt8]) throws -> StampedCommand {
        var entry = StoredCommand.blank
        try WireProtobuf.fill(&entry, from: bytes, rules)
        return StampedCommand(command: entry.command, time: entry.time)
    }

    @Test func `is refused in each part of every command`() throws {
        var samples = Samples()
        for body in samples.bodies() {
            let bytes = LogCodec.encode(samples.command(body), time: samples.time())
            // The entry, its actor and its facts at least.
            #expect(try refused(bytes, command) >= 3, "\(body)")
            let error = #expect(throws: WireError.self) { try LogCodec.decode(bytes + [0xC0, 0xA9, 0x07, 0x01]) }
            #expect(error == WireError(.unknown, "log entry: the field 15000 is not known"))
        }
    }

    @Test func `is refused in rows from which a room is made, but for what is remembered of answers`() throws {
        var samples = Samples()
        for (kind, value) in samples.catalogueValues() {
            let bytes = CatalogueCodec.encode(value) + [0xC0, 0xA9, 0x07, 0x01]
            #expect(try CatalogueCodec.decode(kind: kind, bytes) == value)
            if kind == .command {
                #expect(try CatalogueCodec.decode(kind: kind, bytes, .allFields) == value)
            } else {
                let error = #expect(throws: WireError.self) {
                    try CatalogueCodec.decode(kind: kind, bytes, .allFields)
                }
                #expect(error?.code == .unknown)
            }
        }
    }

    @Test func `is refused in an entry of the system group`() throws {
        let entry = SystemEntry(time: Timestamp(1), key: nil, command: .nonce)
        let field: [UInt8] = [0xC0, 0xA9, 0x07, 0x01]
        #expect(try SystemCodec.decode(SystemCodec.encode(entry)) == entry)
        let error = #expect(throws: WireError.self) { try SystemCodec.decode(SystemCodec.encode(entry) + field) }
        #expect(error?.code == .unknown)
    }
}

/// A stored command without what it keeps for the ones behind it.
private struct StampedCommand: Equatable {
    var command: Command
    var time: Timestamp
}
