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

    public static var blank: ConnectRequest { ConnectRequest() }

    public init(anonymous: Bool = false, token: String? = nil, session: SessionID? = nil, device: Device = .web) {
        self.anonymous = anonymous
        self.token = token
        self.session = session
        self.device = device
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.defaulted(1, "anonymous", &anonymous, default: false)
        if !W.isDecoding || !anonymous { try walker.optional(2, "token", &token, .bytes(Limits.tokenBytes)) }
        try walker.optional(3, "session", &session)
        try walker.defaulted(4, "device", &device, default: .web)
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
