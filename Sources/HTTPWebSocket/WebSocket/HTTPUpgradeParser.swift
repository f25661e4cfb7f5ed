/// Reads the request that begins a connection on the client port: incremental, strict and bounded. A request line of
/// more than 8 KB is 414; more than 16 KB in all are 431; any other breach of RFC 9112 is 400.
///
/// Headers that the node reads must be visible ASCII; all others are skipped as bytes and given to nobody. So the cost is
/// linear in the bytes, whatever they are.
///
/// Requests that ask for something else than WebSocket are read too (see `UpgradeRequest.isUpgrade`); a POST may have a body
/// of at most 1 KB (413), a PUT below `/v1/media/` one that is not read here, no other request one.
public struct HTTPUpgradeParser: Sendable {
    public enum Outcome: Sendable {
        case needsMore
        /// `rest`: how many bytes of the last chunk come after the request.
        case request(UpgradeRequest, rest: Int)
        /// The answer, after which the connection is to be closed.
        case failure([UInt8])
    }

    private var buffer = HTTPHeadBuffer()
    /// A request whose body is not complete yet, and how much of it is missing.
    private var unfinished: (request: UpgradeRequest, missing: Int)?

    static let bodyBytesMax = 1024

    /// The headers that the node reads, here and in the handshake, and those that must not be there.
    static let names: [StaticString] = [
        "host", "upgrade", "connection", "origin", "content-length", "transfer-encoding", "sec-websocket-key",
        "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions", "x-forwarded-for",
        "x-forwarded-proto",
        "accept-encoding", "if-none-match", "authorization", "range", "if-range", "expect",
    ]

    public init() {}

    /// Takes the next bytes. After `request` or `failure` the parser has done its work.
    public mutating func parse(_ chunk: UnsafeRawBufferPointer) -> Outcome {
        if unfinished != nil { return takeBody(chunk) }
        switch buffer.take(chunk) {
        case .needsMore: return .needsMore
        case .firstLineTooLong: return .failure(HTTPResponse.plain(status: 414, reason: "URI Too Long"))
        case .tooLong: return .failure(HTTPRefusal.headersTooLarge.response)
        case .head(let head, let rest):
            do throws(HTTPRefusal) {
                let (request, length) = try Self.request(head)
                guard length > 0 else { return .request(request, rest: rest) }
                unfinished = (request, length)
                return takeBody(UnsafeRawBufferPointer(rebasing: chunk[(chunk.count - rest)...]))
            } catch {
                return .failure(error.response)
            }
        }
    }

    private mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard var (request, missing) = unfinished else { return .needsMore }
        let taken = min(missing, bytes.count)
        request.body += bytes[..<taken]
        missing -= taken
        guard missing == 0 else {
            unfinished = (request, missing)
            return .needsMore
        }
        unfinished = nil
        return .request(request, rest: bytes.count - taken)
    }

    private static let rules = HTTPRequestHead.Rules(
        names: names,
        singles: [
            "host", "origin", "content-length", "sec-websocket-key", "sec-websocket-version", "authorization", "range",
        ],
        limits: .handshake, takesVersion10: false,
        isTarget: {
            $0.first == UInt8(ascii: "/") && $0.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        })

    /// - Returns: the request without its body, and the body's length.
    private static func request(_ bytes: [UInt8]) throws(HTTPRefusal) -> (UpgradeRequest, bodyBytes: Int) {
        let head = try HTTPRequestHead.read(bytes, by: rules)
        let target = head.target.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard head.header("host") != nil else { throw .badRequest }
        guard head.header("transfer-encoding") == nil else {
            throw HTTPRefusal(status: 411, reason: "Length Required")
        }
        let digits = head.header("content-length") ?? "0"
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), !digits.isEmpty else { throw .badRequest }
        let length = Int(digits) ?? .max
        let isOfMedia = head.target.hasPrefix("/v1/media/")
        let isStreamed = head.method == "PUT" && isOfMedia
        if length > 0, !isStreamed {
            // Nobody reads its body.
            guard !isOfMedia else { throw HTTPRefusal(status: 405, reason: "Method Not Allowed") }
            guard head.method == "POST" else { throw .badRequest }
            guard length <= bodyBytesMax else { throw HTTPRefusal(status: 413, reason: "Content Too Large") }
        }
        var request = UpgradeRequest(
            method: head.method, path: String(target[0]) ?? "", query: target.count > 1 ? String(target[1]) ?? "" : "",
            headers: head.headers)
        request.isForwarded = head.isForwarded
        if isStreamed { request.streamedBytes = length }
        return (request, isStreamed ? 0 : length)
    }
}
