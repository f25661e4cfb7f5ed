import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// Every field of every operation, with everything that should not be in it: the documented code, and nobody else
    /// notices. The fields come from the schema's own walk, so a new one is tested as soon as a sample has it.
    @Suite struct FieldMatrixTests {
        /// What an answer must be.
        enum Expectation {
            case refused(ErrorCode, field: String?)
            /// Understood: performed, or refused for another reason than its form.
            case understood
        }

        /// A wrong or just acceptable value, in both encodings. nil: not to be expressed there.
        struct Variant {
            var name: String
            /// JSON text in the place of the value; nil removes the key.
            var json: String??
            var protobuf: [RawProtobuf.Value]?
            var expected: Expectation
        }

        /// Requests that are right. Together they have every field of the schema.
        static let samples: [(operation: String, fields: String)] = [
            ("connect", #"{"token":"x","session":"s","device":"web","anonymous":false,"prime":true}"#),
            ("refresh", #"{"token":"x"}"#), ("ping", "{}"),
            (
                "enter",
                #"{"room":"matrix","nick":"n","avatar":"a","ext":"e","notifyExt":"x","since":0,"epoch":"e","withQueue":true,"history":5,"withTallies":true}"#
            ),
            ("exit", #"{"room":"matrix"}"#),
            (
                "send",
                #"{"room":"matrix","clientId":"UNIQUE","type":"TEXT","text":"t","priority":"LOW","mentions":["u"],"mentionAll":true,"ext":"e","replyTo":"m","history":true,"webhook":true}"#
            ),
            ("send", #"{"room":"matrix","clientId":"UNIQUE","type":"TIP","text":"t","to":["u"]}"#),
            ("send", #"{"room":"matrix","clientId":"UNIQUE","type":"COMMAND","payload":"AAAA"}"#),
            (
                "send",
                #"{"room":"matrix","clientId":"UNIQUE","type":"AUDIO","media":{"url":"u","name":"n","size":1,"contentType":"c","width":1,"height":1,"durationSeconds":1,"thumbnail":"t","id":"m","thumbnailId":"m"}}"#
            ),
            (
                "send",
                #"{"room":"matrix","clientId":"UNIQUE","type":"LOCATION","latitude":1,"longitude":1,"title":"t"}"#
            ),
            (
                "send",
                #"{"room":"matrix","clientId":"UNIQUE","type":"CUSTOM","content":"c","subtype":1,"searchable":"s"}"#
            ),
            (
                "send",
                #"{"room":"matrix","clientId":"UNIQUE","type":"COMBINE","title":"t","summary":"s","messageIds":["m"]}"#
            ),
            ("barrage", #"{"room":"matrix","text":"t","priority":"LOW","ext":"e","style":"s"}"#),
            ("recall", #"{"room":"matrix","messageId":"m","clientId":"UNIQUE"}"#),
            ("pin", #"{"room":"matrix","messageId":"m","enable":true,"clientId":"UNIQUE"}"#),
            (
                "amend",
                #"{"room":"matrix","messageId":"m","set":{"text":"t","content":"c","ext":"e"},"clientId":"UNIQUE"}"#
            ),
            ("report", #"{"room":"matrix","messageId":"m","reason":"r","clientId":"UNIQUE"}"#),
            ("message", #"{"room":"matrix","messageId":"m"}"#),
            (
                "poll",
                #"{"room":"matrix","poll":"p","title":"t","options":["a","b"],"seconds":1,"mayChange":true,"close":true,"clientId":"UNIQUE"}"#
            ),
            ("vote", #"{"room":"matrix","poll":"p","option":1,"clientId":"UNIQUE"}"#),
            ("tally", #"{"room":"matrix","key":"like","delta":1,"clientId":"UNIQUE"}"#),
            ("held", #"{"room":"matrix","after":"a","limit":1}"#),
            ("held", #"{"room":"matrix","heldId":"m","allow":true,"clientId":"UNIQUE"}"#),
            ("held", #"{"room":"matrix","heldId":"m","deny":true,"reason":"r","clientId":"UNIQUE"}"#),
            (
                "upload",
                #"{"room":"matrix","kind":"IMAGE","name":"n","contentType":"image/png","size":1,"sha256":"\#(String(repeating: "a", count: 64))","clientId":"UNIQUE"}"#
            ),
            ("mediaToken", #"{"room":"matrix"}"#),
            (
                "search",
                #"{"room":"matrix","text":"t","user":"u","types":["TEXT"],"startTime":1,"endTime":2,"limit":1,"after":"9"}"#
            ),
            ("combined", #"{"room":"matrix","messageId":"m"}"#),
            (
                "history",
                #"{"room":"matrix","startTime":1,"limit":1,"order":"ASC","types":["TEXT"],"beforeSeq":9,"afterSeq":1}"#
            ),
            ("room", #"{"room":"matrix"}"#),
            (
                "updateRoom",
                #"{"room":"matrix","set":{"name":"n","announcement":"a","ext":"e","broadcastUrl":"u","queueLevel":"ANY","slowModeSeconds":0,"enterExitNotify":"ALL"},"notify":false,"notifyExt":"x","clientId":"UNIQUE"}"#
            ),
            ("members", #"{"room":"matrix","kind":"FIXED","after":"a","limit":1}"#),
            ("membersById", #"{"room":"matrix","users":["u"]}"#),
            (
                "updateMe",
                #"{"room":"matrix","set":{"nick":"n","avatar":"a","ext":"e"},"save":true,"notify":false,"notifyExt":"x","clientId":"UNIQUE"}"#
            ),
            ("setManager", #"{"room":"matrix","user":"target","enable":false,"notifyExt":"x","clientId":"UNIQUE"}"#),
            ("setMember", #"{"room":"matrix","user":"target","enable":false,"notifyExt":"x","clientId":"UNIQUE"}"#),
            (
                "setBlacklist",
                #"{"room":"matrix","user":"target","enable":false,"recall":true,"notifyExt":"x","clientId":"UNIQUE"}"#
            ),
            ("setMute", #"{"room":"matrix","user":"target","enable":false,"notifyExt":"x","clientId":"UNIQUE"}"#),
            (
                "tempMute",
                #"{"room":"matrix","user":"target","seconds":1,"notify":false,"notifyExt":"x","clientId":"UNIQUE"}"#
            ),
            ("kick", #"{"room":"matrix","user":"target","banSeconds":1,"notifyExt":"x","clientId":"UNIQUE"}"#),
            ("muteRoom", #"{"room":"matrix","enable":false,"notifyExt":"x","clientId":"UNIQUE"}"#),
            ("queue", #"{"room":"matrix","after":"a","limit":1}"#),
            (
                "queueSet",
                #"{"room":"matrix","key":"k","value":"v","transient":true,"ifVersion":0,"owner":"u","keepOwner":false,"locked":false,"notify":false,"notifyExt":"x","clientId":"UNIQUE"}"#
            ),
            (
                "queueSetMany",
                #"{"room":"matrix","values":{"k":"v"},"notify":false,"notifyExt":"x","clientId":"UNIQUE"}"#
            ),
            ("queueTake", #"{"room":"matrix","key":"k","notify":false,"notifyExt":"x","clientId":"UNIQUE"}"#),
            ("queueClear", #"{"room":"matrix","notify":false,"notifyExt":"x","clientId":"UNIQUE"}"#),
        ]

        @Test func `the samples have every operation and every field`() throws {
            let operations = try FieldList.ofOperations()
            #expect(Set(Self.samples.map(\.operation)) == Set(operations.keys))
            for (name, operation) in operations {
                let texts = Self.samples.filter { $0.operation == name }.map(\.fields)
                func isForClients(_ field: FieldSpec) -> Bool {
                    !Self.forTheRoomOnly.contains(field.name) || name != "send"
                }
                let own = operation.fields.filter(isForClients)
                for field in own + own.flatMap(\.fields).filter(isForClients) {
                    let isThere = texts.contains { $0.contains("\"\(field.name)\":") }
                    #expect(isThere, "\(name).\(field.name) has no sample")
                }
            }
        }

        /// Fields of NOTIFICATION, which no client may send.
        private static let forTheRoomOnly: Set<String> = [
            "event", "operator", "targets", "notifyExt", "data", "reviewUrl", "thumbnailReviewUrl",
        ]
        /// Fields that have a form of their own, so that most texts of a right length are refused.
        private static let formed: Set<String> = [
            "tally.key", "upload.contentType", "upload.sha256", "poll.poll", "vote.poll", "search.text",
        ]

        @Test(arguments: ClientEncoding.allCases)
        func `every field of every operation refuses what it must and nothing else`(
            _ encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(["allowedOrigins": [String]()], encoding: encoding) { node in
                let room = try await node.createRoom("matrix", creator: "boss")
                let watcher = try await TestClient.connected(node, "watcher")
                try await watcher.enter(room)
                let client = try await TestClient.connected(node, "boss")
                let operations = try FieldList.ofOperations()
                var count = 0
                for (name, text) in Self.samples {
                    try await client.enter(room)
                    let operation = try #require(operations[name])
                    for (path, field) in try Self.present(operation.fields, in: text) {
                        count += try await check(client, room, operation, text, path, field)
                    }
                    _ = try await client.ask(.ping).get()
                }
                #expect(count > 1000, "there were \(count) cases")
                try await client.enter(room)
                try await client.send(room, "unharmed")
                try await watcher.message("unharmed")
                let seqs = await watcher.messages(of: room).compactMap(\.seq)
                #expect(seqs == Array(1..<UInt64(seqs.count + 1)))
                #expect(try await node.api("GET", "/healthz").status == 200)
            }
        }

        /// The fields that a sample has, with the messages around them.
        private static func present(_ fields: [FieldSpec], in text: String) throws -> [([FieldSpec], FieldSpec)] {
            let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
            return fields.filter { object[$0.name] != nil }.flatMap { field -> [([FieldSpec], FieldSpec)] in
                let inner = object[field.name] as? [String: Any] ?? [:]
                return [([], field)] + field.fields.filter { inner[$0.name] != nil }.map { ([field], $0) }
            }
        }

        /// Tries all variants of one field. Returns how many.
        private func check(
            _ client: TestClient, _ room: RoomID, _ operation: FieldSpec, _ text: String, _ path: [FieldSpec],
            _ field: FieldSpec
        ) async throws -> Int {
            let place = (path + [field]).map(\.name).joined(separator: ".")
            var count = 0
            for variant in Self.variants(of: field, at: place) {
                let id = UInt32.random(in: 1_000_000 ... .max)
                let bytes: [UInt8]
                switch client.encoding {
                case .json:
                    guard let json = variant.json else { continue }
                    bytes = try Self.json(id, operation, text, path, field, json)
                case .protobuf:
                    guard let values = variant.protobuf else { continue }
                    bytes = try Self.protobuf(id, operation, text, path, field, values)
                }
                count += 1
                await client.write(client.encoding.opcode, bytes)
                let result = try await client.reply(to: id)
                let what = Comment(rawValue: "\(operation.name).\(place) \(variant.name): \(result)")
                switch (variant.expected, result) {
                case (.refused(let code, let wanted), .failure(let error)):
                    #expect(error.code == code && (wanted == nil || error.field == wanted), what)
                case (.refused, .success): Issue.record(what)
                case (.understood, .failure(let error)):
                    // A cursor that no page has given is refused like a wrong value.
                    let hasRulesOfItsOwn = Self.formed.contains("\(operation.name).\(place)")
                    let isForm =
                        [.malformed, .internal].contains(error.code)
                        || error.code == .tooLarge && !hasRulesOfItsOwn
                        || error.code == .badParameter && error.field == place && field.name != "after"
                            && !hasRulesOfItsOwn
                    #expect(!isForm, what)
                case (.understood, .success): break
                }
                // What was understood may have been performed.
                if operation.name == "exit" { try await client.enter(room) }
            }
            return count
        }

        // MARK: - Requests

        private static func sample(_ id: UInt32, _ operation: FieldSpec, _ text: String) -> String {
            let unique = text.replacingOccurrences(of: "UNIQUE", with: "m\(id)")
            return #"{"id":\#(id),"\#(operation.name)":\#(unique)}"#
        }

        private static func json(
            _ id: UInt32, _ operation: FieldSpec, _ text: String, _ path: [FieldSpec], _ field: FieldSpec,
            _ value: String?
        ) throws -> [UInt8] {
            let data = Data(sample(id, operation, text).utf8)
            guard var request = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
                throw TestFailure("the sample is no object")
            }
            let marker = "MARKER"
            func put(_ path: ArraySlice<String>, in object: [String: Any]) -> [String: Any] {
                var object = object
                if let first = path.first {
                    object[first] = put(path.dropFirst(), in: object[first] as? [String: Any] ?? [:])
                } else {
                    object[field.name] = value == nil ? nil : marker
                }
                return object
            }
            request = put([operation.name] + path.map(\.name), in: request)
            let whole = try JSONSerialization.data(withJSONObject: request)
            let replaced = String(decoding: whole, as: UTF8.self).replacingOccurrences(
                of: "\"\(marker)\"", with: value ?? "")
            return Array(replaced.utf8)
        }

        private static func protobuf(
            _ id: UInt32, _ operation: FieldSpec, _ text: String, _ path: [FieldSpec], _ field: FieldSpec,
            _ values: [RawProtobuf.Value]
        ) throws -> [UInt8] {
            let request = try WireJSON.decode(
                ClientRequest.self, from: Array(sample(id, operation, text).utf8), limits: false)
            var raw = try RawProtobuf(WireProtobuf.encode(request))
            try raw.replace(([operation] + path).map(\.number)[...], field.number, with: values)
            let bytes = raw.bytes
            return RawProtobuf.varint(UInt64(bytes.count)) + bytes
        }

        // MARK: - Variants

        private static func variants(of field: FieldSpec, at place: String) -> [Variant] {
            func bad(_ code: ErrorCode) -> Expectation { .refused(code, field: place) }
            var all: [Variant] = []
            func add(_ name: String, json: String??, _ protobuf: [RawProtobuf.Value]?, _ expected: Expectation) {
                all.append(Variant(name: name, json: json, protobuf: protobuf, expected: expected))
            }
            let absent: Expectation
            if case .required = field.presence { absent = bad(.badParameter) } else { absent = .understood }
            // Of a list that must not be empty, and of a pair of fields, the missing half is named.
            let isPaired = [
                "since", "epoch", "messageIds", "types", "to", "mentions", "token", "values", "users", "heldId",
            ]
            .contains(field.name)
            if !isPaired {
                add("missing", json: .some(nil), [], absent)
                add("null", json: "null", nil, absent)
            }
            switch field.presence {
            case .list(let itemsMax): list(field, itemsMax, add, bad)
            case .map(let itemsMax, let keyBytes, let valueBytes): map(itemsMax, keyBytes, valueBytes, add, bad)
            case .required, .optional: single(field, add, bad)
            }
            return all
        }

        private typealias Add = (String, String??, [RawProtobuf.Value]?, Expectation) -> Void
        private typealias Bad = (ErrorCode) -> Expectation

        private static func single(_ field: FieldSpec, _ add: Add, _ bad: Bad) {
            switch field.type {
            case "message":
                for text in ["5", "true", #""x""#, "[]"] { add("wrong type \(text)", text, nil, bad(.badParameter)) }
                add("wrong wire type", nil, [.varint(5)], bad(.badParameter))
                add("broken message", nil, [.bytes([0xFF])], .refused(.malformed, field: nil))
            case "bool":
                for text in ["0", #""true""#, "[]", "{}"] { add("wrong type \(text)", text, nil, bad(.badParameter)) }
                add("wrong wire type", nil, [.bytes([1])], bad(.badParameter))
                add("twice", nil, [.varint(1), .varint(0)], .understood)
            case "double": double(field, add, bad)
            case "int64", "uint64", "uint32", "int32": integer(field, add, bad)
            case "bytes": bytes(field, add, bad)
            default: if field.isEnum { enumeration(add, bad) } else { string(field, add, bad) }
            }
            add("deep", String(repeating: "[", count: 20) + String(repeating: "]", count: 20), nil, bad(.badParameter))
        }

        private static func string(_ field: FieldSpec, _ add: Add, _ bad: Bad) {
            for text in ["5", "true", "[]", "{}"] { add("wrong type \(text)", text, nil, bad(.badParameter)) }
            add("wrong wire type", nil, [.varint(5)], bad(.badParameter))
            add("not UTF-8", nil, [.bytes([0xC3, 0x28])], .refused(.malformed, field: nil))
            add("twice", nil, [.bytes([0x78]), .bytes([0x78])], .understood)
            func text(_ name: String, _ value: String, _ expected: Expectation) {
                let json = (try? JSONSerialization.data(withJSONObject: [value])).map {
                    String(String(decoding: $0, as: UTF8.self).dropFirst().dropLast())
                }
                add(name, json, [.bytes(Array(value.utf8))], expected)
            }
            // A session is any text of 1 to 64 bytes; other names have an alphabet.
            let hasAlphabet = field.isName && field.name != "session"
            let odd = hasAlphabet ? bad(.badParameter) : .understood
            text("NUL", "a\u{0}b", odd)
            text("bidi", "\u{202E}\u{2066}gnp.exe\u{200F}", odd)
            var max = 0
            switch field.limit {
            case .bytes(let bytes):
                max = bytes
                // An anonymous one shows a name, and an empty token is none.
                text("empty", "", .understood)
            case .nonEmptyBytes(let bytes):
                max = bytes
                text("empty", "", bad(.badParameter))
            default:
                guard field.isName else { return }
                max = 64
                text("empty", "", bad(.badParameter))
                for value in [".", "..", "a b", "é"] where hasAlphabet { text("not a name", value, bad(.badParameter)) }
            }
            text("at its limit", String(repeating: "x", count: max), .understood)
            text("one over", String(repeating: "x", count: max + 1), bad(.tooLarge))
            text("one over in bytes", String(repeating: "é", count: max / 2) + "é", bad(.tooLarge))
        }

        private static func bytes(_ field: FieldSpec, _ add: Add, _ bad: Bad) {
            for text in ["5", "[]", #""***""#, #""AAA""#] { add("wrong \(text)", text, nil, bad(.badParameter)) }
            guard case .bytes(let max) = field.limit else { return }
            for (name, count, expected) in [("at its limit", max, .understood), ("one over", max + 1, bad(.tooLarge))] {
                let value = [UInt8](repeating: 7, count: count)
                add(name, "\"\(Data(value).base64EncodedString())\"", [.bytes(value)], expected)
            }
        }

        private static func enumeration(_ add: Add, _ bad: Bad) {
            for text in ["1", "[]", #""""#, #""NONSENSE""#, #""NORMAL\u0000""#] {
                add("wrong \(text)", text, nil, bad(.badParameter))
            }
            add("unknown", nil, [.varint(999)], bad(.badParameter))
            add("unspecified", nil, [.varint(0)], bad(.badParameter))
            add("wrong wire type", nil, [.bytes([1])], bad(.badParameter))
        }

        private static func integer(_ field: FieldSpec, _ add: Add, _ bad: Bad) {
            for text in [#""5""#, "1.5", "true", "[]", "1e400"] {
                add("wrong type \(text)", text, nil, bad(.badParameter))
            }
            add("too long", "99999999999999999999", nil, bad(.badParameter))
            add("wrong wire type", nil, [.bytes([5])], bad(.badParameter))
            guard case .integers(let low, let high) = field.limit else { return }
            func number(_ name: String, _ value: Int64, _ expected: Expectation) {
                add(name, "\(value)", [.varint(UInt64(bitPattern: value))], expected)
            }
            number("at its lower bound", low, .understood)
            number("one below", low - 1, bad(.badParameter))
            // Sizes have another limit for each type of message, which is a length: 413.
            if field.name != "size" { number("at its upper bound", high, .understood) }
            if high < .max { number("one above", high + 1, bad(.badParameter)) }
        }

        private static func double(_ field: FieldSpec, _ add: Add, _ bad: Bad) {
            for text in [#""1""#, "true", "[]", "1e400"] { add("wrong \(text)", text, nil, bad(.badParameter)) }
            add("NaN", nil, [.fixed64(Double.nan.bitPattern)], bad(.badParameter))
            add("infinite", nil, [.fixed64(Double.infinity.bitPattern)], bad(.badParameter))
            add("wrong wire type", nil, [.varint(1)], bad(.badParameter))
            guard case .numbers(let low, let high) = field.limit else { return }
            func number(_ name: String, _ value: Double, _ expected: Expectation) {
                add(name, "\(value)", [.fixed64(value.bitPattern)], expected)
            }
            number("at its lower bound", low, .understood)
            number("below", low == 0 ? -0.001 : low.nextDown, bad(.badParameter))
            guard high < 1000 else { return }
            number("at its upper bound", high, .understood)
            number("above", high.nextUp, bad(.badParameter))
        }

        private static func list(_ field: FieldSpec, _ itemsMax: Int, _ add: Add, _ bad: Bad) {
            for text in ["5", #""x""#, "{}", "[5]", "[null]", "[[]]"] {
                add("wrong type \(text)", text, nil, bad(.badParameter))
            }
            let item = field.isEnum ? RawProtobuf.Value.varint(1) : .bytes([0x75])
            let text = field.isEnum ? #""TEXT""# : #""u""#
            if !field.isEnum { add("wrong wire type", nil, [.varint(5)], bad(.badParameter)) }
            func items(_ count: Int) -> (String, [RawProtobuf.Value]) {
                let one = [String](repeating: text, count: count).joined(separator: ",")
                return ("[\(one)]", .init(repeating: item, count: count))
            }
            guard itemsMax < 10_000 else { return }
            let (full, over) = (items(itemsMax), items(itemsMax + 1))
            add("at its limit", full.0, full.1, .understood)
            add("one over", over.0, over.1, bad(.badParameter))
            if field.isName {
                add("a long name", "[\"\(String(repeating: "u", count: 65))\"]", nil, bad(.tooLarge))
                add("not a name", #"["a b"]"#, [.bytes(Array("a b".utf8))], bad(.badParameter))
            }
        }

        private static func map(_ itemsMax: Int, _ keyBytes: Int, _ valueBytes: Int, _ add: Add, _ bad: Bad) {
            for text in ["5", #""x""#, "[]", #"{"k":5}"#, #"{"k":null}"#] {
                add("wrong type \(text)", text, nil, bad(.badParameter))
            }
            func pairs(_ pairs: [(String, String)]) -> (String, [RawProtobuf.Value]) {
                let text = pairs.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",")
                let raw = pairs.map { key, value in
                    var entry = RawProtobuf()
                    entry.fields = [(1, .bytes(Array(key.utf8))), (2, .bytes(Array(value.utf8)))]
                    return RawProtobuf.Value.bytes(entry.bytes)
                }
                return ("{\(text)}", raw)
            }
            func entries(_ name: String, _ values: [(String, String)], _ expected: Expectation) {
                let both = pairs(values)
                add(name, both.0, both.1, expected)
            }
            func x(_ count: Int) -> String { String(repeating: "x", count: count) }
            entries("a key at its limit", [(x(keyBytes), "v")], .understood)
            entries("a key one over", [(x(keyBytes + 1), "v")], bad(.tooLarge))
            entries("an empty key", [("", "v")], bad(.badParameter))
            entries("a value at its limit", [("k", x(valueBytes))], .understood)
            entries("a value one over", [("k", x(valueBytes + 1))], bad(.tooLarge))
            entries("full", (0..<itemsMax).map { ("k\($0)", "v") }, .understood)
            entries("one over", (0...itemsMax).map { ("k\($0)", "v") }, bad(.badParameter))
        }

        // MARK: - Not a field

        @Test func `sizes of media have a limit for each type`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("media")
                let client = try await TestClient.connected(node, "ann", encoding: .json)
                try await client.enter(room)
                let megabyte = 1 << 20
                let cases = [
                    ("IMAGE", "size", 10 * megabyte), ("AUDIO", "size", 6 * megabyte),
                    ("VIDEO", "size", 100 * megabyte),
                    ("FILE", "size", 100 * megabyte), ("AUDIO", "durationSeconds", 300),
                ]
                var id: UInt32 = 1000
                for (type, field, max) in cases {
                    for value in [max, max + 1] {
                        id += 1
                        let size = field == "size" ? "" : #","size":1"#
                        await client.write(
                            text:
                                #"{"id":\#(id),"send":{"room":"media","clientId":"c\#(id)","type":"\#(type)","media":{"url":"u","name":"n","contentType":"c","\#(field)":\#(value)\#(size)}}}"#
                        )
                        switch try await client.reply(to: id) {
                        case .success: #expect(value == max, "\(type).\(field) \(value)")
                        case .failure(let error):
                            #expect(value > max && error.code == .tooLarge && error.field == "media.\(field)")
                        }
                    }
                }
            }
        }

        @Test func `deep nesting and keys that stand twice are malformed in every operation`() async throws {
            try await TestNode.run { node in
                let client = try await TestClient.connected(node, "ann", encoding: .json)
                for operation in try FieldList.ofOperations().keys.sorted() {
                    for inner in [
                        String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000),
                        String(repeating: #"{"a":"#, count: 1000) + "1" + String(repeating: "}", count: 1000),
                    ] {
                        let mark = await client.items.count
                        await client.write(text: #"{"id":1,"\#(operation)":{"x":\#(inner)}}"#)
                        try await malformed(client, from: mark)
                    }
                    for text in [
                        #"{"id":1,"\#(operation)":{"room":"a","room":"b"}}"#,
                        #"{"id":1,"\#(operation)":{},"\#(operation)":{}}"#, #"{"id":1,"id":2,"\#(operation)":{}}"#,
                        #"{"id":1,"\#(operation)":{"x":"\ud800"}}"#,
                    ] {
                        let mark = await client.items.count
                        await client.write(text: text)
                        try await malformed(client, from: mark)
                    }
                    _ = try await client.ask(.ping).get()
                }
            }
        }

        private func malformed(_ client: TestClient, from mark: Int) async throws {
            let code = try await client.item("an error without id", from: mark) { item -> ErrorCode? in
                if case .reply(nil, .failure(let error)) = item { error.code } else { nil }
            }
            #expect(code == .malformed)
        }
    }
}
