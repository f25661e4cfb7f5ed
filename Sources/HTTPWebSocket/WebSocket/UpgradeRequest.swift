/// The head of an HTTP/1.1 request (RFC 9112 §3) without a body.
public struct UpgradeRequest: Sendable, Hashable {
    public var method: String
    /// The target before `?`, as it came: not decoded.
    public var path: String
    /// The target after `?`, as it came; empty if there is none.
    public var query: String
    /// Those that the node reads (`HTTPUpgradeParser`), in the order in which they came.
    public var headers: [HTTPHeader]
    /// The body of a POST; empty for all others.
    public var body: [UInt8] = []
    /// The length of a body that is not read here, but by whoever takes the request: that of a PUT of content.
    public var streamedBytes = 0
    /// Whether a proxy says that it stands between: a header `Forwarded` (RFC 7239), `X-Forwarded-…`, `Via` or `X-Real-IP`,
    /// whatever it holds.
    public var isForwarded = false

    /// The first value of the header, whose name is given in lower case.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The values of a list header, all its lines together (RFC 9110 §5.3), in lower case.
    public func tokens(_ name: String) -> [String] { headers.tokens(name) }

    /// Whether the client asks for WebSocket. Other requests are for files.
    public var isUpgrade: Bool { tokens("upgrade").contains("websocket") }
}

/// One header line.
public struct HTTPHeader: Sendable, Hashable {
    /// In lower case.
    public var name: String
    /// Without white space around it.
    public var value: String

    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension [HTTPHeader] {
    func tokens(_ name: String) -> [String] {
        list(name).map { $0.lowercased() }
    }

    /// The values of a list header, as they came.
    func list(_ name: String) -> [String] {
        filter { $0.name == name }.flatMap { HTTPSyntax.list($0.value) }
    }
}
