import Wire

/// The opening handshake of a client (RFC 6455 §4.1): writes the request, then reads the response.
public struct WebSocketClientHandshake: Sendable {
    public enum Outcome: Sendable {
        case needsMore
        /// The connection is open with that subprotocol, and ``agreement`` on compression; `rest` bytes of the last chunk
        /// come after the response.
        case open(subprotocol: String?, rest: Int)
        /// The server refused, with that status, or 0 if it does not speak WebSocket.
        case failure(status: Int, WireError)
    }

    private static let names: [StaticString] = [
        "upgrade", "connection", "sec-websocket-accept", "sec-websocket-extensions", "sec-websocket-protocol",
    ]

    private let key: String
    private let subprotocols: [String]
    private let offersCompression: Bool
    private var buffer = HTTPHeadBuffer()
    /// The server's answer to the offer of ``PermessageDeflate``; nil when nothing comes compressed.
    public private(set) var agreement: PermessageDeflate.Agreement?

    /// - Parameters:
    ///   - nonce: 16 random bytes, new for each connection.
    ///   - offersCompression: the client reads compressed messages.
    public init(nonce: [UInt8], subprotocols: [String], offersCompression: Bool = false) {
        key = Base64.encode(nonce)
        self.subprotocols = subprotocols
        self.offersCompression = offersCompression
    }

    /// The request to send. The arguments must not hold line breaks.
    /// - Parameter target: path and query.
    public func request(host: String, target: String, headers: [HTTPHeader] = []) -> [UInt8] {
        var all = [
            HTTPHeader(name: "Host", value: host),
            HTTPHeader(name: "Upgrade", value: "websocket"),
            HTTPHeader(name: "Connection", value: "Upgrade"),
            HTTPHeader(name: "Sec-WebSocket-Key", value: key),
            HTTPHeader(name: "Sec-WebSocket-Version", value: "13"),
        ]
        if !subprotocols.isEmpty {
            all.append(HTTPHeader(name: "Sec-WebSocket-Protocol", value: subprotocols.joined(separator: ", ")))
        }
        if offersCompression {
            all.append(HTTPHeader(name: "Sec-WebSocket-Extensions", value: PermessageDeflate.offer))
        }
        let lines = (all + headers).map { "\($0.name): \($0.value)\r\n" }.joined()
        return Array("GET \(target) HTTP/1.1\r\n\(lines)\r\n".utf8)
    }

    /// Takes the next bytes of the response. After `open` or `failure` the handshake has done its work.
    public mutating func parse(_ chunk: UnsafeRawBufferPointer) -> Outcome {
        switch buffer.take(chunk) {
        case .needsMore: return .needsMore
        case .firstLineTooLong, .tooLong: return failure(0, "the response is too long")
        case .head(let head, let rest): return check(head, rest)
        }
    }

    private mutating func check(_ head: [UInt8], _ rest: Int) -> Outcome {
        guard let lines = HTTPSyntax.lines(head), let first = lines.first,
            lines.count - 1 <= HTTPHeadLimits.handshake.headers, let status = Self.status(first)
        else { return failure(0, "the response is not HTTP/1.1") }
        var headers: [HTTPHeader] = []
        for line in lines.dropFirst() {
            switch HTTPSyntax.header(line, of: Self.names) {
            case .header(let header): headers.append(header)
            case .skipped: break
            case .broken: return failure(0, "a header of the response is broken")
            }
        }
        guard status == 101 else { return failure(status, "the server answered \(status)") }
        func only(_ name: String) -> String? {
            let values = headers.filter { $0.name == name }
            return values.count == 1 ? values.first?.value : nil
        }
        guard headers.tokens("upgrade") == ["websocket"], headers.tokens("connection").contains("upgrade"),
            only("sec-websocket-accept") == WebSocketHandshake.acceptKey(key)
        else { return failure(0, "the response does not accept this handshake") }
        let extensions = headers.list("sec-websocket-extensions")
        agreement = offersCompression ? PermessageDeflate.agree(withAnswer: extensions) : nil
        guard extensions.isEmpty || agreement != nil else {
            return failure(0, "the server uses an extension that was not offered")
        }
        guard headers.contains(where: { $0.name == "sec-websocket-protocol" }) else {
            return .open(subprotocol: nil, rest: rest)
        }
        guard let chosen = only("sec-websocket-protocol"), subprotocols.contains(chosen) else {
            return failure(0, "the server chose a subprotocol that was not offered")
        }
        return .open(subprotocol: chosen, rest: rest)
    }

    /// The status of `HTTP/1.1 101 …`.
    private static func status(_ line: ArraySlice<UInt8>) -> Int? {
        let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].elementsEqual("HTTP/1.1".utf8), parts[1].count == 3 else { return nil }
        return Int(String(decoding: parts[1], as: UTF8.self)).flatMap { (100...599).contains($0) ? $0 : nil }
    }

    private func failure(_ status: Int, _ message: String) -> Outcome {
        .failure(status: status, WireError(.handshake, message))
    }
}
