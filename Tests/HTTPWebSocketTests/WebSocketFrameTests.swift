import Foundation
import StorageTestKit
import Testing

@testable import HTTPWebSocket

/// What a decoder said, in a form that can be compared.
private enum Said: Equatable {
    case text(String)
    case binary([UInt8])
    case compressed(Bool, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    case failed(UInt16)
}

/// Feeds `chunks` and collects what is said.
private func decode(_ chunks: [[UInt8]], _ decoder: inout WebSocketFrameDecoder) -> [Said] {
    var said: [Said] = []
    for chunk in chunks {
        let failure = chunk.withUnsafeBytes { chunk in
            decoder.decode(chunk) { event in
                switch event {
                case .text(let payload): said.append(.text(String(decoding: payload, as: UTF8.self)))
                case .binary(let payload): said.append(.binary([UInt8](payload)))
                case .ping(let payload): said.append(.ping([UInt8](payload)))
                case .compressed(let isText, let payload): said.append(.compressed(isText, [UInt8](payload)))
                case .pong(let payload): said.append(.pong([UInt8](payload)))
                case .close(let code, let reason): said.append(.close(code, reason))
                }
            }
        }
        if let failure { said.append(.failed(failure.closeCode)) }
    }
    return said
}

private func decode(_ chunks: [[UInt8]], role: WebSocketRole = .client) -> [Said] {
    var decoder = WebSocketFrameDecoder(role: role)
    return decode(chunks, &decoder)
}

/// A frame as a server sends it, with any first byte.
private func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    var bytes = WebSocketFrameEncoder.frame(.text, payload)
    bytes[0] = first
    return bytes
}

private let hello = Array("Hello".utf8)

@Suite struct `The WebSocket frame decoder` {
    /// RFC 6455 §5.7.
    @Test func `reads the examples of RFC 6455`() {
        #expect(decode([[0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]]) == [.text("Hello")])
        #expect(
            decode([[0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]], role: .server) == [
                .text("Hello")
            ])
        #expect(decode([[0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]]) == [.text("Hello")])
        #expect(decode([[0x89, 0x05] + hello]) == [.ping(hello)])
        #expect(
            decode([[0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]], role: .server) == [
                .pong(hello)
            ])
        let bytes = (0..<256).map { UInt8($0) }
        #expect(decode([[0x82, 0x7E, 0x01, 0x00] + bytes]) == [.binary(bytes)])
        let large = [UInt8](repeating: 7, count: 65536)
        #expect(decode([[0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large]) == [.binary(large)])
    }

    @Test func `says the same however a stream is cut`() {
        let mask: [UInt8] = [1, 2, 3, 4]
        var stream: [UInt8] = []
        stream += WebSocketFrameEncoder.frame(.text, Array("é😀".utf8), mask: mask)
        stream += WebSocketFrameEncoder.frame(.ping, [9], mask: mask)
        var part = WebSocketFrameEncoder.frame(.text, Array("ab".utf8), mask: mask)
        part[0] = 0x01
        stream += part
        stream += WebSocketFrameEncoder.frame(.pong, [], mask: mask)
        part = WebSocketFrameEncoder.frame(.text, Array("cd".utf8), mask: mask)
        part[0] = 0x80
        stream += part
        stream += WebSocketFrameEncoder.frame(.binary, [UInt8](repeating: 5, count: 130), mask: mask)
        stream += WebSocketFrameEncoder.close(code: 1000, reason: "bye", mask: mask)
        let wanted: [Said] = [
            .text("é😀"), .ping([9]), .pong([]), .text("abcd"), .binary([UInt8](repeating: 5, count: 130)),
            .close(1000, "bye"),
        ]
        #expect(decode([stream], role: .server) == wanted)
        #expect(decode(stream.map { [$0] }, role: .server) == wanted)
        for first in 0...stream.count {
            #expect(decode([Array(stream[..<first]), Array(stream[first...])], role: .server) == wanted)
            let second = (first + stream.count) / 2
            #expect(
                decode(
                    [Array(stream[..<first]), Array(stream[first..<second]), Array(stream[second...])], role: .server)
                    == wanted)
        }
    }

    @Test(arguments: [1, 2, 3, 7])
    func `stops behind the last frame that is allowed, however the stream is cut`(_ size: Int) {
        let stream =
            frame(0x81, hello) + frame(0x89, [1]) + frame(0x01, hello) + frame(0x80, hello) + frame(0x82, [])
            + frame(0x88, []) + frame(0x81, hello)
        var decoder = WebSocketFrameDecoder(role: .client)
        var count = 0
        var rest = stream[...]
        var turns = 0
        while !rest.isEmpty, turns < 1000 {
            turns += 1
            var frames = 2
            let chunk = Array(rest.prefix(size * 5))
            let before = count
            let (taken, failure) = chunk.withUnsafeBytes { decoder.decode($0, framesMax: &frames) { _ in count += 1 } }
            #expect(failure == nil && frames >= 0 && count - before <= 2)
            #expect(taken == chunk.count || frames == 0, "it stops for no other reason")
            rest = rest.dropFirst(taken)
        }
        #expect(rest.isEmpty && count == 5, "nothing is read behind the close frame")
        var none = 0
        let (taken, _) = stream.withUnsafeBytes { decoder.decode($0, framesMax: &none) { _ in } }
        #expect(taken == stream.count, "what comes after the end is ignored")
    }

    @Test func `takes compressed messages where they were negotiated, whole and in fragments`() {
        func decoded(_ chunks: [[UInt8]], negotiated: Bool = true) -> [Said] {
            var decoder = WebSocketFrameDecoder(role: .client)
            decoder.mayBeCompressed = negotiated
            return decode(chunks, &decoder)
        }
        let whole = frame(0xC1, [1, 2])
        #expect(decoded([whole]) == [.compressed(true, [1, 2])])
        #expect(decoded(whole.map { [$0] }) == [.compressed(true, [1, 2])])
        #expect(decoded([frame(0xC2, [])]) == [.compressed(false, [])])
        #expect(decoded([frame(0x81, hello)]) == [.text("Hello")], "a message need not be compressed")
        // RSV1 is on the first fragment only (RFC 7692 section 6.1), and control frames come between.
        let fragments = frame(0x41, [1]) + frame(0x89, [9]) + frame(0x00, [2]) + frame(0x80, [3])
        #expect(decoded([fragments]) == [.ping([9]), .compressed(true, [1, 2, 3])])
        #expect(decoded([fragments + frame(0x01, hello) + frame(0x80, [])]).last == .text("Hello"))
        #expect(decoded([frame(0x41, [1]), frame(0xC0, [2])]) == [.failed(1002)])
        for first: UInt8 in [0xC9, 0xCA, 0xC8, 0xA1, 0x91, 0xE1] {
            #expect(decoded([frame(first, [])]) == [.failed(1002)])
        }
        for first: UInt8 in [0xC1, 0xC2, 0x41] {
            #expect(decoded([frame(first, [])], negotiated: false) == [.failed(1002)])
        }
    }

    @Test func `takes fragments without content, but not without end`() {
        func message(empty count: Int) -> [[UInt8]] {
            [frame(0x01, hello)] + Array(repeating: frame(0x00, []), count: count) + [frame(0x80, hello)]
        }
        let most = WebSocketFrameDecoder.emptyFragmentsMax
        #expect(decode(message(empty: most) + message(empty: most)) == [.text("HelloHello"), .text("HelloHello")])
        #expect(decode(message(empty: most + 1)) == [.failed(1008)])
        #expect(decode([Array(message(empty: most + 1).joined())]) == [.failed(1008)])
    }

    @Test func `holds nothing between frames`() {
        var decoder = WebSocketFrameDecoder(role: .client)
        #expect(decode([[0x81]], &decoder) == [] && decoder.bufferedCount == 1)
        #expect(decode([[0x02, 0x61]], &decoder) == [] && decoder.bufferedCount == 3)
        #expect(decode([[0x62, 0x89]], &decoder) == [.text("ab")] && decoder.bufferedCount == 1)
        #expect(decode([[0x00]], &decoder) == [.ping([])] && decoder.bufferedCount == 0)
        #expect(MemoryLayout<WebSocketFrameDecoder>.size <= 32)
    }

    @Test(
        arguments: [
            ([0xC1, 0x00], 1002), ([0xA1, 0x00], 1002), ([0x91, 0x00], 1002), ([0x83, 0x00], 1002),
            ([0x87, 0x00], 1002),
            ([0x8B, 0x00], 1002), ([0x8F, 0x00], 1002), ([0x81, 0x80, 0, 0, 0, 0], 1002), ([0x09, 0x00], 1002),
            ([0x08, 0x00], 1002), ([0x89, 0x7E], 1002), ([0x88, 0x7F], 1002), ([0x80, 0x00], 1002),
            ([0x00, 0x00], 1002),
            ([0x82, 0x7E, 0x00, 0x7D], 1002), ([0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 1002),
            ([0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002),
            ([0x82, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1002),
            ([0x82, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1009),
            ([0x81, 0x7F, 0, 0, 0, 0, 0, 0x10, 0, 1], 1009),
            ([0x01, 0x00, 0x81, 0x00], 1002), ([0x01, 0x00, 0x01, 0x00], 1002), ([0x88, 0x01, 0x03], 1002),
            ([0x81, 0x01, 0xFF], 1007), ([0x81, 0x03, 0xED, 0xA0, 0x80], 1007), ([0x88, 0x03, 0x03, 0xE8, 0xFF], 1007),
            ([0x01, 0x01, 0xC3, 0x80, 0x00], 1007),
        ] as [([UInt8], UInt16)])
    func `refuses what RFC 6455 forbids, whole or byte by byte`(bytes: [UInt8], code: UInt16) {
        #expect(decode([bytes]) == [.failed(code)])
        #expect(decode(bytes.map { [$0] }) == [.failed(code)])
        #expect(decode([bytes, frame(0x81, hello)]) == [.failed(code)])
    }

    @Test func `refuses unmasked frames from clients`() {
        #expect(decode([frame(0x81, hello)], role: .server) == [.failed(1002)])
    }

    @Test func `takes a character that is cut between fragments`() {
        #expect(decode([[0x01, 0x01, 0xC3, 0x80, 0x01, 0xA9]]) == [.text("é")])
    }

    @Test func `holds messages to the limit, also in fragments, before their bytes come`() {
        var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: 10)
        #expect(decode([frame(0x81, [UInt8](repeating: 97, count: 10))], &decoder) == [.text("aaaaaaaaaa")])
        #expect(decode([frame(0x01, [97, 97, 97, 97, 97, 97])], &decoder) == [])
        #expect(decode([frame(0x00, [97])], &decoder) == [])
        // A control frame may have more than what is left for the message.
        #expect(
            decode([frame(0x89, [UInt8](repeating: 1, count: 125))], &decoder) == [
                .ping([UInt8](repeating: 1, count: 125))
            ])
        #expect(decode([[0x80, 0x04]], &decoder) == [.failed(1009)])
        #expect(decoder.bufferedCount == 0)
    }

    @Test func `reads close frames, and nothing after them`() {
        #expect(decode([frame(0x88, []) + frame(0x81, hello)]) == [.close(nil, "")])
        #expect(decode([frame(0x88, []), [0xFF]]) == [.close(nil, "")])
        for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 4401, 4999]
            as [UInt16]
        {
            #expect(decode([WebSocketFrameEncoder.close(code: code, reason: "é")]) == [.close(code, "é")])
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535] as [UInt16] {
            #expect(decode([WebSocketFrameEncoder.close(code: code, reason: "")]) == [.failed(1002)])
        }
    }

    @Test func `never traps on garbage`() {
        let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? 1
        var random = SeededGenerator(seed: seed)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                Bool.random(using: &random)
                    ? UInt8.random(in: 0...255, using: &random) : UInt8.random(in: 0x80...0x8A, using: &random)
            }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            for role in [WebSocketRole.client, .server] {
                #expect(
                    decode([bytes], role: role) == decode([Array(bytes[..<cut]), Array(bytes[cut...])], role: role),
                    "SEED=\(seed)")
            }
        }
    }
}

@Suite struct `The WebSocket frame encoder` {
    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 100_000])
    func `writes frames of every length that the decoder reads`(count: Int) {
        let payload = (0..<count).map { UInt8($0 & 0x7F) }
        #expect(decode([WebSocketFrameEncoder.frame(.binary, payload)]) == [.binary(payload)])
        #expect(
            decode([WebSocketFrameEncoder.frame(.binary, payload, mask: [0xFF, 0, 0x55, 0xAA])], role: .server) == [
                .binary(payload)
            ])
    }

    @Test(arguments: [0, 1, 125, 126, 127, 480, 481, 65535, 65536, 100_000])
    func `makes the same frame in the place where its payload was written`(count: Int) {
        let payload = (0..<count).map { UInt8($0 & 0x7F) }
        var bytes = WebSocketFrameEncoder.begin(capacity: 480)
        for byte in payload { bytes.append(byte) }
        WebSocketFrameEncoder.finish(.text, &bytes)
        #expect(bytes == WebSocketFrameEncoder.frame(.text, payload))
    }

    @Test func `writes the examples of RFC 6455`() {
        #expect(WebSocketFrameEncoder.frame(.text, hello) == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        #expect(
            WebSocketFrameEncoder.frame(.text, hello, mask: [0x37, 0xFA, 0x21, 0x3D])
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
    }

    @Test func `cuts a reason that is too long between characters`() {
        let long = WebSocketFrameEncoder.close(code: 4401, reason: String(repeating: "é", count: 100))
        #expect(decode([long]) == [.close(4401, String(repeating: "é", count: 61))])
    }
}
