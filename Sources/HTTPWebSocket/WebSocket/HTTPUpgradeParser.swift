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

    /// The headers that the node reads, here and in the handshake, and those that must not be there.
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
        case .tooLong: return .failure(HTTPRefusal.headersTooLarge.response)
        case .head(let head, let rest):
            do throws(HTTPRefusal) {
                return .request(try Self.request(head), rest: rest)
            } catch {
                return .failure(error.response)
            }
        }
    }

    private static let rules = HTTPRequestHead.Rules(
        names: names,
        singles: ["host", "origin", "content-length", "sec-websocket-key", "sec-websocket-version"],
        limits: .handshake, takesVersion10: false,
        isTarget: {
            $0.first == UInt8(ascii: "/") && $0.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        })

    private static func request(_ bytes: [UInt8]) throws(HTTPRefusal) -> UpgradeRequest {
        let head = try HTTPRequestHead.read(bytes, by: rules)
        let target = head.target.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard head.header("host") != nil, head.header("transfer-encoding") == nil,
            head.header("content-length") ?? "0" == "0"
        else { throw .badRequest }
        return UpgradeRequest(
            method: head.method, path: String(target[0]) ?? "", query: target.count > 1 ? String(target[1]) ?? "" : "",
            headers: head.headers)
    }
}
