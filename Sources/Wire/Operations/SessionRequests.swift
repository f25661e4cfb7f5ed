import ChatModel

/// An operation or a result without fields.
public struct Empty: WireMessage, Hashable {
    public static var blank: Empty { Empty() }

    public init() {}

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {}
}

/// `connect`: who the session is.
public struct ConnectRequest: WireMessage, Hashable {
    /// Asks for an anonymous session; a token is then ignored.
    public var anonymous = false
    /// At most `Limits.tokenBytes`; nil without `anonymous` is for the session to refuse (401).
    public var token: String?
    /// The session that the client held before and wants to take over.
    public var session: SessionID?
    public var device = Device.web
    /// The client drops any `seq` that it has, so its connection may be shown lines of a room once more (PROTOCOL.md,
    /// "Compression").
    public var prime = false

    public static var blank: ConnectRequest { ConnectRequest() }

    public init(
        anonymous: Bool = false, token: String? = nil, session: SessionID? = nil, device: Device = .web,
        prime: Bool = false
    ) {
        self.anonymous = anonymous
        self.token = token
        self.session = session
        self.device = device
        self.prime = prime
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.defaulted(1, "anonymous", &anonymous, default: false)
        if !W.isDecoding || !anonymous { try walker.optional(2, "token", &token, .bytes(Limits.tokenBytes)) }
        try walker.optional(3, "session", &session)
        try walker.defaulted(4, "device", &device, default: .web)
        try walker.defaulted(5, "prime", &prime, default: false)
    }
}

/// `refresh`: a new token for the same user.
public struct RefreshRequest: WireMessage, Hashable {
    public var token: String

    public static var blank: RefreshRequest { RefreshRequest(token: "") }

    public init(token: String) { self.token = token }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(2, "token", &token, .bytes(Limits.tokenBytes))
    }
}
