/// Reads the request that begins a connection on the client port: incremental, strict and bounded. A request line of
/// more than 8 KB is 414; more than 64 headers or 16 KB in all are 431; any other breach of RFC 9112 is 400.
///
/// Headers that the node reads must be visible ASCII; all others are skipped as bytes and given to nobody. So the cost is
/// linear in the bytes, whatever they are.
///
/// Requests that ask for something else than WebSocket are read too (see `UpgradeRequest.isUpgrade`), but none with a
/// body.
public struct HTTPUpgradeParser: Sendable {
    public enum Outcome: Sendable {
        case needsMore
        /// `rest`: how many bytes of the last chunk come after the request.
        case request(UpgradeRequest, rest: Int)
        /// The answer, after which the connection is to be closed.
        case failure([UInt8])
    }

    private var buffer = HTTPHeadBuffer()

    /// What the node reads of a request, here and in the handshake, and what must not be there.
    static let names: [StaticString] = [
        "host", "upgrade", "connection", "origin", "content-length", "transfer-encoding", "sec-websocket-key",
        "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions", "x-forwarded-for",
    ]

    public init() {}

    /// Takes the next bytes. After `request` or `failure` the parser has done its work.
    public mutating func parse(_ chunk: UnsafeRawBufferPointer) -> Outcome {
        switch buffer.take(chunk) {
        case .needsMore: return .needsMore
        case .firstLineTooLong: return .failure(HTTPResponse.plain(status: 414, reason: "URI Too Long"))
        case .tooLong: return .failure(HTTPResponse.plain(status: 431, reason: "Request Header Fields Too Large"))
        case .head(let head, let rest):
            switch Self.request(head) {
            case .success(let request): return .request(request, rest: rest)
            case .failure(let refusal): return .failure(refusal.response)
            }
        }
    }

    private static func request(_ head: [UInt8]) -> Result<UpgradeRequest, HTTPRefusal> {
        guard let lines = HTTPSyntax.lines(head), let first = lines.first else { return .failure(.badRequest) }
        guard lines.count - 1 <= HTTPHeadBuffer.headersMax else {
            return .failure(HTTPRefusal(status: 431, reason: "Request Header Fields Too Large"))
        }
        let parts = first.split(separator: 0x20, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(HTTPSyntax.isToken),
            parts[1].first == UInt8(ascii: "/"),
            parts[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        else { return .failure(.badRequest) }
        guard parts[2].elementsEqual("HTTP/1.1".utf8) else {
            let isHTTP = parts[2].starts(with: "HTTP/".utf8)
            return .failure(
                isHTTP ? HTTPRefusal(status: 505, reason: "HTTP Version Not Supported") : .badRequest)
        }
        var headers: [HTTPHeader] = []
        for line in lines.dropFirst() {
            switch HTTPSyntax.header(line, of: names) {
            case .header(let header): headers.append(header)
            case .skipped: break
            case .broken: return .failure(.badRequest)
            }
        }
        // Two values of these could be read differently by a proxy and by this server.
        for name in ["host", "origin", "content-length", "sec-websocket-key", "sec-websocket-version"] {
            guard headers.count(where: { $0.name == name }) <= 1 else { return .failure(.badRequest) }
        }
        let target = parts[1].split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let request = UpgradeRequest(
            method: String(decoding: parts[0], as: UTF8.self),
            path: String(decoding: target[0], as: UTF8.self),
            query: target.count > 1 ? String(decoding: target[1], as: UTF8.self) : "", headers: headers)
        guard request.header("host") != nil, request.header("transfer-encoding") == nil,
            request.header("content-length") ?? "0" == "0"
        else { return .failure(.badRequest) }
        return .success(request)
    }
}
