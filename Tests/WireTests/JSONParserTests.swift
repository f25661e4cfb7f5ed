import ChatModel
import Testing

@testable import Wire

/// A message of all scalar kinds, to look at single values through.
private struct Probe: WireMessage, Equatable {
    var text: String?
    var integer: Int64?
    var natural: UInt64?
    var number: Double?
    var flag: Bool?
    var bytes: [UInt8]?

    static var blank: Probe { Probe() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "text", &text)
        try walker.optional(2, "integer", &integer)
        try walker.optional(3, "natural", &natural)
        try walker.optional(4, "number", &number)
        try walker.optional(5, "flag", &flag)
        try walker.optional(6, "bytes", &bytes)
    }
}

private func probe(_ json: String) throws(ChatError) -> Probe { try probe(Array(json.utf8)) }
private func probe(_ json: [UInt8]) throws(ChatError) -> Probe {
    try WireJSON.decode(Probe.self, from: json, limits: true)
}

private func code(_ json: String) -> ErrorCode? { code(Array(json.utf8)) }
private func code(_ json: [UInt8]) -> ErrorCode? {
    do throws(ChatError) {
        _ = try probe(json)
        return nil
    } catch { return error.code }
}

@Suite struct `The JSON parser` {
    @Test(arguments: [
        "{}", " { } ", "\t\r\n{}\n", #"{"x":[]}"#, #"{"x":[1,-0,0.5,1e5,1E-5,-1.25e+3,true,false,null,"",{}]}"#,
        #"{"x":{"text":{"text":1}}}"#, #"{"":0}"#, #"{"x":"\u0000\ud83d\ude00\/\b\f\n\r\t\"\\"}"#, #"{"x":[[],[[]]]}"#,
    ])
    func `takes what RFC 8259 allows`(text: String) { #expect(code(text) == nil) }

    @Test(arguments: [
        "", " ", "{", "}", "[]", "1", "null", "\"a\"", "{}{}", "{} x", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#,
        #"{"a" 1}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":01}"#, #"{"a":-}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":1e}"#,
        #"{"a":+1}"#, #"{"a":0x1}"#, #"{"a":NaN}"#, #"{"a":Infinity}"#, #"{"a":tru}"#, #"{"a":True}"#, #"{"a":nul}"#,
        #"{"a":[1,]}"#, #"{"a":[1 2]}"#, #"{"a":[}"#, #"{"a":"}"#, "{\"a\":\"\n\"}", "{\"a\":\"\u{0}\"}",
        #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\u12g4"}"#, #"{"a":"\ud800"}"#, #"{"a":"\ud800\u0041"}"#,
        #"{"a":"\udc00"}"#, #"{"a":"\ud800\ud800"}"#, #"{"a":1} // c"#, "{\"a\":1}\u{0}", "\u{FEFF}{}",
        #"{"a":1 "b":2}"#,
    ])
    func `refuses with 400 what it does not allow`(text: String) { #expect(code(text) == .malformed) }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xE2, 0x82], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFF],
        ] as [[UInt8]])
    func `refuses text that is not UTF-8`(bytes: [UInt8]) {
        #expect(code(Array(#"{"text":""#.utf8) + bytes + Array(#""}"#.utf8)) == .malformed)
        #expect(code(Array(#"{""#.utf8) + bytes + Array(#"":1}"#.utf8)) == .malformed)
    }

    @Test func `refuses nesting deeper than 32, however deep it is`() {
        func nested(_ depth: Int) -> String {
            #"{"x":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
        }
        #expect(code(nested(32)) == nil)
        #expect(code(nested(33)) == .malformed)
        #expect(code(String(repeating: "[", count: 1_000_000)) == .malformed)
        #expect(code(String(repeating: #"{"a":"#, count: 200_000)) == .malformed)
    }

    @Test func `refuses a key that stands twice, also when it is written otherwise`() {
        #expect(code(#"{"a":1,"a":1}"#) == .malformed)
        #expect(code(#"{"a":1,"\u0061":1}"#) == .malformed)
        #expect(code(#"{"x":{"b":1,"c":2,"b":null}}"#) == .malformed)
        #expect(code(#"{"a":{"a":1}}"#) == nil)
        let many = (0..<1000).map { "\"k\($0)\":0" }.joined(separator: ",")
        #expect(code("{\(many)}") == nil)
        #expect(code("{\(many),\"k500\":0}") == .malformed)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("1", 1), ("1.0", 1), ("1e3", 1000), ("1.5e1", 15), ("1200e-2", 12), ("0.1e1", 1),
            ("100.00", 100), ("-7", -7), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("0e999999999999", 0),
            ("9223372036854775807.0", .max), ("922337203685477580.7e1", .max), ("0.0000000000000000000000001e25", 1),
        ] as [(String, Int64)])
    func `reads integers exactly`(text: String, value: Int64) throws {
        #expect(try probe("{\"integer\":\(text)}").integer == value)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "1.5", "1e-1", "1e19", "1e999999999999999999",
        "18446744073709551616",
        "123456789012345678901234567890", "\"1\"", "true", "[]", "{}", "0.1",
    ])
    func `refuses with 414 what is not an integer of 64 bits`(text: String) {
        #expect(code("{\"integer\":\(text)}") == .badParameter)
    }

    @Test func `reads unsigned integers and numbers`() throws {
        #expect(try probe(#"{"natural":18446744073709551615}"#).natural == .max)
        #expect(code(#"{"natural":-1}"#) == .badParameter)
        #expect(try probe(#"{"natural":-0}"#).natural == 0)
        #expect(try probe(#"{"number":-0.125e2}"#).number == -12.5)
        #expect(try probe(#"{"number":5}"#).number == 5)
        #expect(code(#"{"number":1e999}"#) == .badParameter)
        #expect(code(#"{"number":"1"}"#) == .badParameter)
    }

    /// The reader looks at several bytes at once: each place counts, and each length.
    @Test(arguments: ["#", "!", "]", "é"])
    func `finds what is special at every place of strings of every length`(filler: String) throws {
        for special in [#"\n"#, #"\\"#, #"\""#, #"\u0001"#, "€", "😀", "\u{7F}", " ", "#"] {
            for before in 0...17 {
                for after in 0...17 {
                    let (head, tail) = (
                        String(repeating: filler, count: before), String(repeating: filler, count: after)
                    )
                    let said = [#"\n"#: "\n", #"\\"#: "\\", #"\""#: "\"", #"\u0001"#: "\u{1}"][special] ?? special
                    let json = #"{"text":"\#(head)\#(special)\#(tail)","integer":7}"#
                    #expect(try probe(json) == Probe(text: head + said + tail, integer: 7))
                    // As it is, each control character and each wrong escape is refused, wherever it stands.
                    for wrong in ["\u{0}", "\n", "\u{1F}", #"\x"#] {
                        #expect(code(#"{"text":"\#(head)\#(wrong)\#(tail)"}"#) == .malformed)
                    }
                }
            }
        }
    }

    @Test func `reads strings with all escapes, NUL and bidirectional marks`() throws {
        #expect(
            try probe(#"{"text":"\u0000\u202e\ud83d\ude00\u00e9\/\b\f\n\r\t\"\\"}"#).text
                == "\u{0}\u{202E}😀é/\u{8}\u{C}\n\r\t\"\\")
        #expect(try probe("{\"text\":\"\u{202E}é漢😀\u{7F}\"}").text == "\u{202E}é漢😀\u{7F}")
        #expect(try probe(#"{"\u0074ext":"a"}"#).text == "a")
    }

    @Test func `takes null for absent and ignores unknown fields`() throws {
        #expect(try probe(#"{"text":null,"integer":null,"unknown":{"text":"x"},"flag":true}"#) == Probe(flag: true))
    }

    @Test func `reads fields in any order`() throws {
        #expect(
            try probe(#"{"flag":false,"number":1,"u":0,"integer":2,"text":"t"}"#)
                == Probe(text: "t", integer: 2, number: 1, flag: false))
    }

    @Test(
        arguments: [("", []), ("AA==", [0]), ("AAE=", [0, 1]), ("AAEC", [0, 1, 2]), ("+/+/", [0xFB, 0xFF, 0xBF])]
            as [(String, [UInt8])])
    func `reads and writes base64`(text: String, bytes: [UInt8]) throws {
        #expect(try probe("{\"bytes\":\"\(text)\"}").bytes == bytes)
        #expect(Base64.encode(bytes) == text)
    }

    @Test(arguments: [
        "A", "AA", "AAA", "AA=", "A===", "====", "AB==", "AAF=", "AA==AA==", "AA-_", "AA A", "=AAA", "AA=A",
    ])
    func `refuses what is not base64`(text: String) { #expect(code("{\"bytes\":\"\(text)\"}") == .badParameter) }

    @Test func `never traps on garbage`() {
        var samples = Samples()
        let alphabet = Array(#"{}[]:,"\u0123456789eE+-.truefalsn dD8 "#.utf8) + [0x00, 0x80, 0xC3, 0xA9, 0xF0, 0xFF]
        let valid = Array(
            #"{"id":1,"send":{"room":"r","clientId":"c","type":"TEXT","text":"\ud83d\ude00","mentions":["a"]}}"#.utf8)
        for _ in 0..<5_000 {
            var bytes: [UInt8]
            if samples.bool() {
                bytes = (0..<samples.int(0...40)).map { _ in alphabet[samples.int(0...alphabet.count - 1)] }
            } else {
                bytes = valid
                for _ in 0..<samples.int(1...3) {
                    bytes[samples.int(0...bytes.count - 1)] = alphabet[samples.int(0...alphabet.count - 1)]
                }
            }
            #expect(read(json: bytes).count >= 1, "SEED=\(SeededGenerator.seed)")
        }
    }
}

@Suite struct `The JSON writer` {
    @Test func `escapes what must be escaped and keeps UTF-8`() {
        let text = String(
            decoding: WireJSON.encode(Probe(text: "\u{0}\u{1F}\u{8}\u{C}\n\r\t\"\\/é😀\u{2028}\u{7F}")), as: UTF8.self)
        #expect(text == #"{"text":"\u0000\u001f\b\f\n\r\t\"\\/é😀"# + "\u{2028}\u{7F}\"}")
    }

    /// The writer looks at several bytes at once, and copies short strings in pieces: each place counts, and each length.
    @Test(arguments: ["#", "!", "]", "é"])
    func `escapes at every place of strings of every length, and nothing else`(filler: String) {
        let bytes: [UInt8] = Array(0x00...0x23) + [0x5B, 0x5C, 0x5D, 0x7E, 0x7F]
        let short: [UInt8: String] = [
            0x22: #"\""#, 0x5C: #"\\"#, 0x08: #"\b"#, 0x09: #"\t"#, 0x0A: #"\n"#, 0x0C: #"\f"#, 0x0D: #"\r"#,
        ]
        for byte in bytes {
            let character = String(UnicodeScalar(byte))
            let escaped =
                short[byte] ?? (byte < 0x20 ? #"\u00"# + (byte < 16 ? "0" : "") + String(byte, radix: 16) : character)
            for before in 0...17 {
                for after in 0...17 {
                    let (head, tail) = (
                        String(repeating: filler, count: before), String(repeating: filler, count: after)
                    )
                    let written = WireJSON.encode(Probe(text: head + character + tail))
                    #expect(written == Array(#"{"text":"\#(head)\#(escaped)\#(tail)"}"#.utf8), "\(byte) at \(before)")
                }
            }
        }
    }

    @Test func `the fault of a text that is no frame is told with its line`() {
        func fault(_ text: String) -> String? { JSONText.fault(in: Array(text.utf8)) }
        for text in ["{}", " 7\n", "\u{FEFF}{\"a\":[1]}", #"{"a":{"b":1},"b":{"b":1}}"#] { #expect(fault(text) == nil) }
        for text in ["", "\u{FEFF}", "{", "{}{}", #"{"a":1,"\u0061":2}"#, #"["\uD800"]"#, "\u{FEFF}\u{FEFF}{}"] {
            #expect(fault(text)?.hasPrefix("not JSON: ") == true, "\(text)")
        }
        #expect(fault("{\n\n 7}")?.hasSuffix("in line 3") == true)
        #expect(JSONText.fault(in: [0x22, 0xFF, 0x22]) != nil)
    }

    /// A writer begins in memory of the stack, and moves when that is full.
    @Test func `writes texts of every length around the end of its first memory`() throws {
        for count in Array(980...1060) + [5000, 100_000] {
            let text = String(repeating: "x", count: count)
            #expect(WireJSON.encode(Probe(text: text)) == Array(#"{"text":"\#(text)"}"#.utf8))
            let bytes = WireProtobuf.encode(Probe(text: text, integer: 7))
            #expect(try WireProtobuf.decode(Probe.self, from: bytes, limits: true) == Probe(text: text, integer: 7))
        }
    }

    @Test func `writes numbers that read back the same`() throws {
        func json(_ probe: Probe) -> String { String(decoding: WireJSON.encode(probe), as: UTF8.self) }
        #expect(
            json(Probe(integer: .min, natural: .max))
                == #"{"integer":-9223372036854775808,"natural":18446744073709551615}"#)
        #expect(json(Probe(number: 12.5)) == #"{"number":12.5}"#)
        #expect(json(Probe(number: 3)) == #"{"number":3}"#)
        #expect(json(Probe(number: .infinity)) == #"{"number":null}"#)
        var samples = Samples()
        for _ in 0..<2000 {
            let number = Double(bitPattern: samples.uint64())
            guard number.isFinite else { continue }
            #expect(try probe(json(Probe(number: number))).number == number, "SEED=\(SeededGenerator.seed)")
        }
    }
}
