@testable import HTTPWebSocket
@testable import Wire

/// The HTTP request that begins a connection, and the SDK's reading of the answer.
extension FuzzTarget {
    /// Two bytes steer: the side, and in what pieces the bytes come.
    static let handshake = FuzzTarget(name: "handshake", bytesMax: 48 << 10) { bytes in
        var input = FuzzInput(bytes)
        let (side, piece) = (input.byte() & 1, Int(input.byte()) + 1)
        let outcomes = [input.rest.count, piece].map { piece in
            side == 0 ? serve(input.rest, piece) : call(input.rest, piece)
        }
        require(outcomes[0] == outcomes[1], "in pieces of \(piece): \(outcomes[1]) instead of \(outcomes[0])")
    } seeds: { _ in
        let handshake = WebSocketClientHandshake(nonce: nonce, subprotocols: subprotocols)
        var seeds: [[UInt8]] = []
        let headers: [[HTTPHeader]] = [
            [], [HTTPHeader(name: "Origin", value: "https://example.org")],
            [HTTPHeader(name: "X-Forwarded-For", value: "192.0.2.1, 198.51.100.7")],
            [
                HTTPHeader(name: "Sec-WebSocket-Extensions", value: extensionOffer),
                HTTPHeader(name: "X", value: "\t é "),
            ],
        ]
        for more in headers {
            let request = handshake.request(host: "localhost:8080", target: "/v1/ws?token=a.b.c", headers: more)
            seeds.append([0, 255] + request)
            seeds.append([0, 2] + request + [0x82, 0x80, 0, 0, 0, 0])
        }
        seeds.append([0, 0] + Array("GET /index.html HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        seeds.append([0, 0] + Array("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc".utf8))
        let accept = WebSocketHandshake.acceptKey(Base64.encode(nonce))
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\n"
        seeds.append([1, 255] + Array("\(answer)\r\n".utf8))
        seeds.append([1, 7] + Array("\(answer)Sec-WebSocket-Protocol: \(subprotocols[0])\r\n\r\n".utf8))
        seeds.append([1, 3] + Array("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\n\r\n".utf8))
        return seeds
    }

    private static let nonce = [UInt8](0..<16)
    private static let subprotocols = ["chatroom.v1.json", "chatroom.v1.protobuf"]
    private static let extensionOffer =
        "permessage-deflate; client_max_window_bits=\"12\"; server_max_window_bits=15, x"

    /// The outcome, and how many bytes were taken.
    private enum Outcome: Equatable {
        case needsMore
        case request(UpgradeRequest, taken: Int)
        case refused([UInt8])
        case open(String?, taken: Int)
        case failed(Int, String)
    }

    private static func serve(_ bytes: UnsafeRawBufferPointer, _ piece: Int) -> Outcome {
        var parser = HTTPUpgradeParser()
        var outcome = Outcome.needsMore
        var given = 0
        forEachPiece(bytes, of: piece) { bytes in
            given += bytes.count
            switch parser.parse(bytes) {
            case .needsMore: return true
            case .request(let request, let rest):
                require((0...bytes.count).contains(rest), "\(rest) of \(bytes.count) bytes are left")
                outcome = .request(request, taken: given - rest)
            case .failure(let response): outcome = .refused(response)
            }
            return false
        }
        if case .request(let request, _) = outcome { answer(request) }
        return outcome
    }

    /// All that the gateway asks a request, and the answer, which must be one that a client can read.
    private static func answer(_ request: UpgradeRequest) {
        for header in request.headers {
            require(header.name == header.name.lowercased(), "a header's name is not in lower case")
            // The lines of an answer are made of these, so no line may hide in one.
            require(!header.value.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }, "a header's value has a line")
        }
        // Once for each name, as the gateway does.
        for name in Set(request.headers.map(\.name)) { _ = request.tokens(name) }
        guard case .success(let subprotocol) = WebSocketHandshake.negotiate(request, subprotocols: subprotocols) else {
            return
        }
        let extensions = PermessageDeflate.agree(with: request)?.answer
        let response = WebSocketHandshake.response(to: request, subprotocol: subprotocol, extensions: extensions)
        guard let key = request.header("sec-websocket-key").flatMap({ Base64.decode($0) }), extensions == nil,
            Base64.encode(key) == request.header("sec-websocket-key")
        else { return }
        var client = WebSocketClientHandshake(nonce: key, subprotocols: subprotocols)
        guard case .open(let heard, 0) = response.withUnsafeBytes({ client.parse($0) }), heard == subprotocol else {
            fail("the SDK does not understand the node's answer")
        }
    }

    private static func call(_ bytes: UnsafeRawBufferPointer, _ piece: Int) -> Outcome {
        var handshake = WebSocketClientHandshake(nonce: nonce, subprotocols: subprotocols)
        var outcome = Outcome.needsMore
        var given = 0
        forEachPiece(bytes, of: piece) { bytes in
            given += bytes.count
            switch handshake.parse(bytes) {
            case .needsMore: return true
            case .open(let subprotocol, let rest):
                require((0...bytes.count).contains(rest), "\(rest) of \(bytes.count) bytes are left")
                outcome = .open(subprotocol, taken: given - rest)
            case .failure(let status, let error): outcome = .failed(status, error.message)
            }
            return false
        }
        return outcome
    }
}
