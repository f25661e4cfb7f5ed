import ChatModel
import Testing

@testable import Wire

@Suite struct `The protobuf reader` {
    private func message(_ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        Varint.append(UInt64(body.count), to: &bytes)
        return bytes + body
    }

    private func code(_ body: [UInt8]) -> ErrorCode? {
        guard case .failure(let failure)? = read(protobuf: message(body)).first else { return nil }
        return failure.error.code
    }

    /// {"id":1,"exit":{"room":"r"}}
    private let exit: [UInt8] = [0x08, 0x01, 14 << 3 | 2, 0x03, 0x0A, 0x01, 0x72]

    @Test func `takes fields in any order, skips unknown ones, and the last of several counts`() throws {
        let wanted = ClientRequest(id: 1, operation: .exit(RoomNameRequest(room: try #require(RoomID("r")))))
        #expect(read(protobuf: message(exit)) == [.success(wanted)])
        #expect(read(protobuf: message(Array(exit[2...]) + [0x08, 0x01])) == [.success(wanted)])
        #expect(read(protobuf: message([0x08, 0x09] + exit)) == [.success(wanted)])
        // 100: a varint, 101: fixed64, 102: bytes, 103: fixed32.
        let unknown: [UInt8] = [
            0xA0, 0x06, 0x05, 0xA9, 0x06, 1, 2, 3, 4, 5, 6, 7, 8, 0xB2, 0x06, 0x02, 9, 9, 0xBD, 0x06, 1, 2, 3, 4,
        ]
        #expect(read(protobuf: message(unknown + exit)) == [.success(wanted)])
        #expect(read(protobuf: message(exit + unknown)) == [.success(wanted)])
    }

    @Test(
        arguments: [
            [0x00, 0x01], [0x0B], [0x0C], [0x0E, 0x01], [0x0F], [0x08], [0x08, 0xFF], [0x0A, 0x05, 0x01],
            [0x09, 1, 2, 3],
            [0x0D, 1], [0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
            [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x80, 0x80, 0x80, 0x80, 0x10, 0x00],
        ] as [[UInt8]])
    func `refuses broken fields with 400`(body: [UInt8]) { #expect(code(body) == .malformed) }

    @Test func `knows when no field is left, unless fields come in any order`() throws {
        /// Fields 1 and 3, as varints.
        func read(_ bytes: [UInt8]) throws -> [Bool] {
            try bytes.withUnsafeBytes { bytes in
                var reader = try ProtobufReader(bytes, rules: [])
                var (one, two, three): (UInt64?, UInt64?, UInt64?) = (nil, nil, nil)
                var isLeft = [reader.mayHaveMore]
                try reader.optional(1, "one", &one)
                isLeft.append(reader.mayHaveMore)
                try reader.optional(2, "two", &two)
                isLeft.append(reader.mayHaveMore)
                try reader.optional(3, "three", &three)
                #expect(one == 5 && two == nil && three == 6)
                return isLeft + [reader.mayHaveMore]
            }
        }
        #expect(try read([0x08, 5, 0x18, 6]) == [true, true, true, false])
        #expect(try read([0x18, 6, 0x08, 5]) == [true, true, true, true])
        // An unknown field behind them.
        #expect(try read([0x08, 5, 0x18, 6, 0x28, 7]) == [true, true, true, true])
    }

    @Test func `tells whether a field with a lesser number may come`() throws {
        try ([0x10, 5, 0x38, 6] as [UInt8]).withUnsafeBytes { bytes in
            var reader = try ProtobufReader(bytes, rules: [])
            #expect(!reader.mayHave(before: 2) && reader.mayHave(before: 3))
            var two: UInt64?
            try reader.optional(2, "two", &two)
            #expect(two == 5 && !reader.mayHave(before: 7) && reader.mayHave(before: 8))
            var seven: UInt64?
            try reader.optional(7, "seven", &seven)
            #expect(seven == 6 && !reader.mayHave(before: .max))
        }
        // Not in order: each may come.
        try ([0x38, 6, 0x10, 5] as [UInt8]).withUnsafeBytes { bytes in
            let reader = try ProtobufReader(bytes, rules: [])
            #expect(reader.mayHave(before: 2))
        }
    }

    /// Numbers of one, two and three bytes, values of all wire types, fields that nobody asks for and fields that come
    /// several times; in order or not.
    @Test func `finds of each number the last field, as a model of it does`() throws {
        var samples = Samples()
        let numbers = [1, 2, 3, 15, 16, 17, 2_047, 2_048, 3_000]
        for _ in 0..<3_000 {
            var fields: [(number: Int, value: UInt64?, bytes: [UInt8])] = (0..<samples.int(0...8)).map { _ in
                let number = numbers[samples.int(0...numbers.count - 1)]
                // Numbers of one field are of one type.
                if number % 2 == 0 {
                    return (number, UInt64(1) << UInt64(samples.int(0...63)) | UInt64(samples.int(0...200)), [])
                }
                let count = samples.int(0...9) == 0 ? samples.int(120...140) : samples.int(0...20)
                return (number, nil, (0..<count).map { _ in UInt8(samples.int(0...255)) })
            }
            if samples.int(0...3) > 0 { fields.sort { $0.number < $1.number } }
            var bytes: [UInt8] = []
            for field in fields {
                if let value = field.value {
                    Varint.append(UInt64(field.number) << 3, to: &bytes)
                    Varint.append(value, to: &bytes)
                } else {
                    Varint.append(UInt64(field.number) << 3 | 2, to: &bytes)
                    Varint.append(UInt64(field.bytes.count), to: &bytes)
                    bytes += field.bytes
                }
            }
            let asked = numbers.filter { _ in samples.int(0...3) > 0 }
            try bytes.withUnsafeBytes { bytes in
                var reader = try ProtobufReader(bytes, rules: [])
                for number in asked {
                    let expected = fields.last { $0.number == number }
                    if number % 2 == 0 {
                        var value: UInt64?
                        try reader.optional(number, "number", &value)
                        #expect(value == expected?.value, "\(number) of \(fields)")
                    } else if samples.int(0...1) == 0 {
                        var value: [UInt8]?
                        try reader.optional(number, "number", &value)
                        #expect(value == expected?.bytes, "\(number) of \(fields)")
                    } else {
                        var values: [[UInt8]] = []
                        try reader.repeated(number, "number", &values)
                        #expect(
                            values == fields.filter { $0.number == number }.map(\.bytes), "\(number) of \(fields)")
                    }
                }
            }
        }
    }

    @Test func `takes for UTF-8 what the standard library does, wherever it stands`() {
        let pieces: [[UInt8]] = [
            [0xC2, 0x80], [0xE4, 0xB8, 0xAD], [0xF0, 0x9F, 0x98, 0x80], [0xC3], [0x80], [0xFF], [0xE4, 0xB8],
            [0xED, 0xA0, 0x80], [0xC0, 0xAF],
        ]
        for length in 0...26 {
            let plain = [UInt8](repeating: 0x61, count: length)
            #expect(plain.withUnsafeBytes { UTF8Check.isValid($0) })
            for (piece, place) in pieces.flatMap({ piece in (0...length).map { (piece, $0) } }) {
                let text = Array(plain[..<place]) + piece + Array(plain[place...])
                let expected = String(validating: text, as: UTF8.self) != nil
                #expect(text.withUnsafeBytes { UTF8Check.isValid($0) } == expected, "\(text)")
            }
        }
    }

    @Test func `refuses strings that are not UTF-8 and values of another wire type`() {
        #expect(code([0x08, 0x01, 14 << 3 | 2, 0x03, 0x0A, 0x01, 0xFF]) == .malformed)
        #expect(code([0x08, 0x01, 14 << 3 | 2, 0x02, 0x08, 0x01]) == .badParameter)
        #expect(code([0x08, 0x01, 14 << 3, 0x02]) == .badParameter)
        #expect(code([0x0A, 0x01, 0x01] + exit[2...]) == .malformed)
    }

    @Test func `refuses lengths beyond the frame`() {
        for frame in [[0x05, 0x08], [0xFF], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x08]]
            as [[UInt8]]
        {
            let results = read(protobuf: frame)
            guard case .failure(let failure)? = results.first, results.count == 1 else {
                Issue.record("taken: \(frame)")
                continue
            }
            #expect(failure.id == nil && failure.error.code == .malformed)
        }
        #expect(read(protobuf: []).count == 1)
    }

    @Test func `refuses many fields out of order, since they would cost quadratic time`() {
        let pair: [UInt8] = [0x10, 0x01, 0x08, 0x01]
        #expect(code(Array(repeatElement(pair, count: 512).joined()) + exit) == .malformed)
        #expect(code(Array(repeatElement(pair, count: 500).joined()) + exit) == nil)
        #expect(code(Array(repeatElement([0x08, 0x01] as [UInt8], count: 5000).joined()) + exit[2...]) == nil)
    }

    @Test func `takes enumerations packed and unpacked`() throws {
        let room: [UInt8] = [0x0A, 0x01, 0x72]
        func types(_ fields: [UInt8]) -> [MessageType]? {
            let body = room + fields
            guard
                case .success(let request)? = read(
                    protobuf: message([0x08, 0x01, 0x9A, 0x01, UInt8(body.count)] + body)
                ).first,
                case .history(let history) = request.operation
            else { return nil }
            return history.query.types
        }
        #expect(types([0x2A, 0x02, 0x01, 0x03]) == [.text, .command])
        #expect(types([0x28, 0x01, 0x28, 0x03]) == [.text, .command])
        #expect(types([0x28, 0x00]) == nil)
        #expect(types([0x2A, 0x01, 0x80]) == nil)
        #expect(types([0x28, 0x63]) == nil)
        #expect(types([0x2A, 0x0C] + [UInt8](repeating: 1, count: 12)) == nil)
    }

    @Test func `holds the limits of the JSON encoding`() throws {
        let room = try #require(RoomID("r"))
        func field(_ operation: ClientOperation) -> String? {
            var bytes: [UInt8] = []
            ClientRequest(id: 3, operation: operation).appendProtobuf(to: &bytes)
            guard case .failure(let failure)? = read(protobuf: bytes).first else { return nil }
            return "\(failure.error.code.number) \(failure.error.field ?? "")"
        }
        let long = String(repeating: "x", count: 32769)
        #expect(
            field(.send(SendRequest(room: room, clientID: "c", draft: MessageDraft(body: .text(long))))) == "413 text")
        #expect(
            field(.send(SendRequest(room: room, clientID: "", draft: MessageDraft(body: .text(""))))) == "414 clientId")
        #expect(field(.enter(EnterRequest(room: room, nick: long))) == "413 nick")
        #expect(field(.updateMe(UpdateMeRequest(room: room, set: ProfileChanges(nick: long)))) == "413 set.nick")
        #expect(field(.history(RoomHistoryRequest(room: room, query: HistoryRequest()))) == nil)
        let pairs = (0..<101).map { QueuePair(key: "\($0)", value: "") }
        #expect(field(.queueSetMany(QueueSetManyRequest(room: room, values: pairs))) == "414 values")
        #expect(field(.queueSetMany(QueueSetManyRequest(room: room, values: [pairs[0], pairs[0]]))) == "414 values")
        #expect(
            field(.send(SendRequest(room: room, clientID: "c", draft: MessageDraft(body: .notification(.init(.exit))))))
                == "414 type")
    }

    @Test func `never traps on garbage`() {
        var samples = Samples()
        for _ in 0..<40 {
            for request in samples.requests() {
                var bytes: [UInt8] = []
                request.appendProtobuf(to: &bytes)
                for _ in 0..<samples.int(1...3) {
                    bytes[samples.int(0...bytes.count - 1)] = UInt8(samples.int(0...255))
                }
                #expect(read(protobuf: bytes).count >= 1)
                _ = try? LogCodec.decode(bytes)
                _ = try? HistoryCodec.decode(bytes)
                for kind in CatalogueKind.allCases { _ = try? CatalogueCodec.decode(kind: kind, bytes) }
                bytes.withUnsafeBytes { bytes in _ = try? ServerFrame.items(inProtobuf: bytes) { _ in } }
            }
        }
    }
}

@Suite struct `Stored values` {
    @Test func `that are not what was written are corrupt`() {
        for bytes in [[], [0xFF], [0x1A, 0x01, 0x72], [0x30, 0x63]] as [[UInt8]] {
            #expect(throws: WireError.self) { try LogCodec.decode(bytes) }
            #expect(LogCodec.room(of: bytes) == (bytes == [0x1A, 0x01, 0x72] ? RoomID("r") : nil))
            #expect(throws: WireError.self) { try HistoryCodec.decode(bytes) }
            #expect(throws: WireError.self) { try CatalogueCodec.decode(kind: .room, bytes) }
            #expect(throws: WireError.self) { try CatalogueCodec.decode(kind: .command, bytes) }
        }
    }

    @Test func `are not held to limits that may change`() throws {
        let long = String(repeating: "x", count: 100_000)
        let command = Command(
            id: nil, room: try #require(RoomID("r")), actor: .system, body: .post(MessageDraft(body: .text(long))))
        #expect(try LogCodec.decode(LogCodec.encode(command, time: Timestamp(1))).0 == command)
    }

    /// Bytes on disk must stay readable: this entry was written by the first version.
    @Test func `of the first version are read`() throws {
        let bytes: [UInt8] = [
            0x08, 0x05, 0x12, 0x06, 0x0A, 0x01, 0x61, 0x12, 0x01, 0x63, 0x1A, 0x01, 0x72, 0x22, 0x02, 0x0A, 0x00,
            0x2A, 0x0C, 0x08, 0x01, 0x10, 0x02, 0x18, 0x03, 0x20, 0x04, 0x28, 0x05, 0x30, 0x06, 0x30, 0x06, 0x3A, 0x07,
            0x40, 0x01, 0xA2, 0x01, 0x02, 0x68, 0x69,
        ]
        var facts = CommandFacts()
        (facts.fixedMembersMax, facts.blacklistedMax, facts.managersMax) = (1, 2, 3)
        (facts.queueElementsMax, facts.recallWindowSeconds, facts.highPerSecondMax) = (4, 5, 6)
        let command = Command(
            id: CommandID(scope: "a", text: "c"), room: try #require(RoomID("r")), actor: .system,
            body: .post(MessageDraft(body: .text("hi"))), facts: facts)
        let (read, time) = try LogCodec.decode(bytes)
        #expect(read == command && time == Timestamp(5))
        #expect(LogCodec.encode(command, time: time) == bytes)
    }
}

@Suite struct `The command key` {
    /// From `vectors_sip128` of the reference implementation: key 00...0F, input 00, 01, ... of that length.
    @Test(arguments: [
        (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
        (7, "a1f1ebbed8dbc153c0b84aa61ff08239"), (8, "3b62a9ba6258f5610f83e264f31497b4"),
        (9, "264499060ad9baabc47f8b02bb6d71ed"), (63, "5150d1772f50834a503e069a973fbd7c"),
    ])
    func `is SipHash-2-4-128`(count: Int, hex: String) {
        let (first, second) = (0..<count).map { UInt8($0) }.withUnsafeBytes {
            SipHash128.hash($0, key: (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908))
        }
        var text = ""
        for word in [first, second] {
            for shift in 0..<8 {
                let byte = word >> UInt64(shift * 8) & 0xFF
                text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        #expect(text == hex)
    }

    @Test func `tells scope from text, whatever they hold`() {
        let ids = [
            ("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("a", "b\u{0}c"), ("a", "12345678"), ("a", "123456789"),
        ]
        #expect(Set(ids.map { commandKey(CommandID(scope: $0.0, text: $0.1)) }).count == ids.count)
        #expect(commandKey(CommandID(scope: "a", text: "b")) == commandKey(CommandID(scope: "a", text: "b")))
    }
}
