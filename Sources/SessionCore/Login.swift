import ChatModel
import Wire

/// The fate of the `connect` of one connection: its token is checked, the session that it names is looked for on the
/// lanes of the node and at other nodes, and then a session begins or goes on. A state machine without I/O, like
/// ``Session``.
public struct Login: Sendable {
    /// A `connect` that is being decided.
    public struct Request: Sendable {
        public var connect: ConnectRequest
        /// The client's request ID.
        public var id: UInt32?
    }

    enum State: Sendable {
        /// No `connect` has come. Can become `checking`, `fetching`, `connected`, `over`.
        case expected
        /// The token is being checked. Can become `fetching`, `connected`, `over`.
        case checking(Request)
        /// The session that the client names is on its way. Can become `connected`, `over`.
        case fetching(Request, TokenClaims?)
        /// A session has this connection. Can become `over`.
        case connected
        /// Refused, or the connection is closing. Final.
        case over
    }

    /// The next act of the connection's holder.
    public enum Step: Sendable {
        /// Has the token checked, and calls ``onChecked(_:)``.
        case check(token: String)
        /// Looks for the session that the client held, if any, and calls ``onFound(_:isRevoked:takePlace:)`` with it, or
        /// with nil when there is none.
        case fetch(SessionID?, of: UserID?)
        /// Gives the connection to the session, or to a new one.
        case begin(Session?, Request, TokenClaims?)
        /// Answers the request with the error, which leaves the connection as it is.
        case reply(UInt32?, ChatError)
        /// Refuses who the client says it is: an error and 4401, or 403 and 4403 for whoever is banned.
        case refuse(UInt32?, ChatError)
        /// Has the client come again, here or elsewhere.
        case turnAway(String, Cause)
        /// Keeps a session that its client did not wait for: its grace runs.
        case keep(Session)
        /// Ends a session whose token is revoked.
        case end(Session)
    }

    public enum Cause: Sendable, Hashable {
        /// The node takes no more for now. The client is told when to come.
        case tooMany
        case other
    }

    var state = State.expected

    public init() {}

    /// Whether the session that the client names is looked for.
    public var isFetching: Bool { if case .fetching = state { true } else { false } }

    /// The connection has gone.
    public static var over: Login {
        var login = Login()
        login.state = .over
        return login
    }

    /// The client asks to connect.
    /// - Parameters:
    ///   - admit: takes a place among those who connect in this second; false when there is none.
    ///   - refusal: why the node takes nobody new; nil: it does.
    public mutating func onConnect(
        _ connect: ConnectRequest, id: UInt32?, refusal: String?, admit: () -> Bool
    ) -> [Step] {
        let request = Request(connect: connect, id: id)
        guard case .expected = state else {
            return [.reply(id, ChatError(.conflict, "this connection is connected already"))]
        }
        guard admit() else {
            state = .over
            return [.turnAway("too many clients connect at once", .tooMany)]
        }
        if let refusal {
            state = .over
            return [.turnAway(refusal, .other)]
        }
        if connect.anonymous { return look(for: request, nil) }
        guard let token = connect.token else {
            state = .over
            return [.refuse(id, ChatError(.unauthorized, "a token is needed", field: "token"))]
        }
        state = .checking(request)
        return [.check(token: token)]
    }

    /// The token has been checked.
    public mutating func onChecked(_ result: Result<TokenClaims, ChatError>) -> [Step] {
        guard case .checking(let request) = state else { return [] }
        switch result {
        case .success(let claims):
            return look(for: request, claims)
        case .failure(let error) where error.code == .unavailable:
            // Not the token's fault: the client is to come again with it, here or at another node.
            state = .over
            return [
                .reply(request.id, error), .turnAway("tokens can't be checked at the moment", .other),
            ]
        case .failure(let error):
            state = .over
            return [.refuse(request.id, error)]
        }
    }

    private mutating func look(for request: Request, _ claims: TokenClaims?) -> [Step] {
        state = .fetching(request, claims)
        return [.fetch(request.connect.session, of: claims?.user)]
    }

    /// The session that the client holds has come, or nobody has it (nil), or the client has waited long enough.
    /// - Parameters:
    ///   - isRevoked: whether a token has been revoked, maybe since it was checked.
    ///   - ban: why the user may not be here at all, maybe since the token was checked.
    ///   - takePlace: takes a place among the user's connections; false when there is none.
    public mutating func onFound(
        _ session: Session?, isRevoked: (TokenClaims) -> Bool, ban: (UserID) -> ChatError? = { _ in nil },
        takePlace: (UserID) -> Bool
    ) -> [Step] {
        guard case .fetching(let request, let claims) = state else {
            // The client went while its session was on the way, or has begun another one after waiting too long. Nobody
            // else has it any more: it has its grace here.
            return session.map { [.keep($0)] } ?? []
        }
        if let claims {
            guard !isRevoked(claims) else {
                state = .over
                let refusal = Step.refuse(request.id, ChatError(.unauthorized, "the token has been revoked"))
                return session.map { [.end($0), refusal] } ?? [refusal]
            }
            if let error = ban(claims.user) {
                state = .over
                let refusal = Step.refuse(request.id, error)
                return session.map { [.end($0), refusal] } ?? [refusal]
            }
            guard takePlace(claims.user) else {
                state = .over
                let refusal = Step.turnAway("\(claims.user) has too many connections", .other)
                // A session that was to be resumed keeps its grace.
                return session.map { [.keep($0), refusal] } ?? [refusal]
            }
        }
        state = .connected
        return [.begin(session, request, claims)]
    }

    /// The connection closes, or has been taken over.
    public mutating func onClose() { state = .over }
}
