/// Builds HTTP/1.1 responses.
public enum HTTPResponse {
    /// A response with a body, after which the connection is closed. No browser takes it for another type than it has.
    public static func build(
        status: Int, reason: String, headers: [HTTPHeader] = [], contentType: String = "text/plain; charset=utf-8",
        body: [UInt8]
    ) -> [UInt8] {
        let all =
            headers + [
                HTTPHeader(name: "X-Content-Type-Options", value: "nosniff"),
                HTTPHeader(name: "Content-Type", value: contentType),
                HTTPHeader(name: "Content-Length", value: String(body.count)),
                HTTPHeader(name: "Connection", value: "close"),
            ]
        return head(status: status, reason: reason, headers: all) + body
    }

    /// A response that says in its body what its status line says.
    public static func plain(status: Int, reason: String, headers: [HTTPHeader] = []) -> [UInt8] {
        build(status: status, reason: reason, headers: headers, body: Array("\(status) \(reason)\n".utf8))
    }

    /// The same, for what another part of the program sends the body of.
    public static func head(_ status: Int, _ reason: String, _ headers: [HTTPHeader]) -> [UInt8] {
        head(status: status, reason: reason, headers: headers)
    }

    /// A status line and headers, without a body. The caller's values must not hold line breaks.
    static func head(status: Int, reason: String, headers: [HTTPHeader]) -> [UInt8] {
        let lines = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return Array("HTTP/1.1 \(status) \(reason)\r\n\(lines)\r\n".utf8)
    }
}

/// A request that is not accepted, and the response that says so; the connection is to be closed after it.
public struct HTTPRefusal: Error, Sendable, Hashable {
    public var status: Int
    public var reason: String
    public var headers: [HTTPHeader]

    public init(status: Int, reason: String, headers: [HTTPHeader] = []) {
        self.status = status
        self.reason = reason
        self.headers = headers
    }

    static let badRequest = HTTPRefusal(status: 400, reason: "Bad Request")
    static let headersTooLarge = HTTPRefusal(status: 431, reason: "Request Header Fields Too Large")

    /// The whole response.
    public var response: [UInt8] { HTTPResponse.plain(status: status, reason: reason, headers: headers) }
}
