import Deflate

@testable import HTTPWebSocket
@testable import Wire

/// The frames of a WebSocket connection, as the server and as the SDK read them.
extension FuzzTarget {
    /// Two bytes steer: the side, whether messages may be compressed, the bound, and in what pieces the bytes come.
    static let websocket = FuzzTarget(name: "websocket", bytesMax: 1 << 20) { bytes in
        var input = FuzzInput(bytes)
        let (flags, piece) = (input.byte(), Int(input.byte()) + 1)
        let side: WebSocketRole = flags & 1 == 0 ? .server : .client
        let bound = flags & 4 == 0 ? WebSocketFrameDecoder.messageBytesMaxDefault : 300
        func decoder() -> WebSocketFrameDecoder {
            var decoder = WebSocketFrameDecoder(role: side, messageBytesMax: bound)
            decoder.mayBeCompressed = flags & 2 != 0
            return decoder
        }
        var whole = Heard()
        var one = decoder()
        whole.failure = one.decode(input.rest) { whole.note($0) }
        require(one.bufferedCount <= min(bound, input.rest.count) + 14, "\(one.bufferedCount) bytes are held back")

        var pieces = Heard()
        var other = decoder()
        forEachPiece(input.rest, of: piece) { bytes in
            var frames = 1
            var rest = bytes
            // As the gateway does it: a few frames, then the rest again.
            while !rest.isEmpty {
                frames = 1
                let (taken, failure) = other.decode(rest, framesMax: &frames) { pieces.note($0) }
                if let failure { pieces.failure = failure }
                require(taken > 0 && taken <= rest.count, "\(taken) of \(rest.count) bytes were taken")
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
            }
            return true
        }
        require(whole == pieces, "in pieces of \(piece): \(pieces) instead of \(whole)")
        for event in whole.events { check(event, side, bound) }
    } seeds: { _ in
        let mask: [UInt8] = [1, 2, 3, 4]
        let texts: [[UInt8]] = [[], Array("hello 漢".utf8), [UInt8](repeating: 0x61, count: 126)]
        var streams: [[UInt8]] = []
        for text in texts {
            for opcode in [WebSocketOpcode.text, .binary, .ping, .pong] where !opcode.isControl || text.count < 126 {
                streams.append([0, 255] + WebSocketFrameEncoder.frame(opcode, text, mask: mask))
                streams.append([1, 3] + WebSocketFrameEncoder.frame(opcode, text))
            }
        }
        let fragments: [UInt8] = [0x01, 0x02, 0x61, 0x62, 0x00, 0x01, 0x63, 0x89, 0x00, 0x80, 0x01, 0x64]
        streams.append([1, 1] + fragments)
        streams.append([5, 200] + fragments + WebSocketFrameEncoder.close(code: 1000, reason: "bye"))
        streams.append([0, 0] + WebSocketFrameEncoder.close(code: 4429, reason: "täglich", mask: mask))
        if let deflated = [UInt8](repeating: 0x61, count: 200).withUnsafeBytes({ Deflater()?.deflate($0) }) {
            // Final, compressed, text.
            streams.append([3, 9, 0xC1, UInt8(deflated.count)] + deflated)
        }
        return streams
    }

    private struct Heard: Equatable, CustomStringConvertible {
        enum Event: Equatable {
            case text([UInt8])
            case binary([UInt8])
            case compressed(isText: Bool, [UInt8])
            case ping([UInt8])
            case pong([UInt8])
            case close(UInt16?, String)
        }

        var events: [Event] = []
        var failure: WebSocketFailure?

        mutating func note(_ event: WebSocketEvent) {
            switch event {
            case .text(let bytes): events.append(.text(Array(bytes)))
            case .binary(let bytes): events.append(.binary(Array(bytes)))
            case .compressed(let isText, let bytes): events.append(.compressed(isText: isText, Array(bytes)))
            case .ping(let bytes): events.append(.ping(Array(bytes)))
            case .pong(let bytes): events.append(.pong(Array(bytes)))
            case .close(let code, let reason): events.append(.close(code, reason))
            }
        }

        var description: String { "\(events.count) events, \(failure?.message ?? "no failure")" }
    }

    /// An event that came can be sent the other way, and is the same there.
    private static func check(_ event: Heard.Event, _ side: WebSocketRole, _ bound: Int) {
        let (opcode, payload): (WebSocketOpcode, [UInt8])
        switch event {
        case .text(let bytes): (opcode, payload) = (.text, bytes)
        case .binary(let bytes): (opcode, payload) = (.binary, bytes)
        case .ping(let bytes): (opcode, payload) = (.ping, bytes)
        case .pong(let bytes): (opcode, payload) = (.pong, bytes)
        case .close: return
        case .compressed(_, let bytes): return inflate(bytes)
        }
        require(payload.count <= bound, "a message of \(payload.count) bytes is over the bound")
        let isClient = side == .client
        let frame = WebSocketFrameEncoder.frame(opcode, payload, mask: isClient ? [9, 8, 7, 6] : nil)
        var decoder = WebSocketFrameDecoder(role: isClient ? .server : .client, messageBytesMax: bound)
        var heard = Heard()
        heard.failure = frame.withUnsafeBytes { decoder.decode($0) { heard.note($0) } }
        require(heard.failure == nil && heard.events == [event], "a frame that was written is read as \(heard)")
    }

    private static let inflatedBytesMax = 64 << 10

    /// However little comes, it becomes no more than allowed; and what was compressed becomes itself.
    private static func inflate(_ payload: [UInt8]) {
        guard let inflater = Inflater(), let deflater = Deflater() else { fail("there is no memory") }
        let whole = try? payload.withUnsafeBytes({ try inflater.inflate($0, bytesMax: inflatedBytesMax) })
        compareIfWanted(payload, whole, inflater)
        guard let message = whole else { return }
        require(message.count <= inflatedBytesMax, "\(payload.count) bytes became \(message.count)")
        guard let again = message.withUnsafeBytes({ deflater.deflate($0) }) else { return }
        let same = try? again.withUnsafeBytes { try inflater.inflate($0, bytesMax: inflatedBytesMax) }
        require(same == message, "what was compressed has become something else")
    }

    /// A stranger's bytes have the same outcome, or none; and the first bytes are asked about once at most.
    private static func compareIfWanted(_ payload: [UInt8], _ whole: [UInt8]?, _ inflater: Inflater) {
        var asked = 0
        for isWanted in [true, false] {
            asked = 0
            let message = try? payload.withUnsafeBytes {
                try inflater.inflate(
                    $0, bytesMax: inflatedBytesMax,
                    ifWanted: {
                        asked += 1
                        require($0.count <= Inflater.firstBytes, "asked about \($0.count) bytes")
                        return isWanted
                    })
            }
            require(asked <= 1, "asked \(asked) times")
            require(message == nil || isWanted && message == whole, "something else has become of it")
        }
    }
}
