import ChatModel

/// Why a call of the SDK failed, or why a connection or a room ended: a code for programs, a sentence for people.
public struct ClientError: Error, Sendable, Hashable {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// The server refused; `refusal` says why.
        case refused
        /// The client was not connected with `connect()`, or has failed.
        case notConnected
        /// The app closed the client.
        case closed
        /// The user is not in the room, or left it meanwhile.
        case notInRoom
        /// The session was put out of the room.
        case kicked
        /// No connection came about.
        case connectionFailed
        /// The connection was lost and the request cannot be repeated: whether it was performed is unknown.
        case connectionLost
        /// No answer in time; nothing was changed, or nothing was asked to be changed.
        case timedOut
        /// No answer for 10 minutes: the change may have been made or not, and is not tried again.
        case outcomeUnknown
        /// More requests wait than `ClientSettings.pendingRequestsMax`.
        case tooManyPending
        /// The token provider gave none in time.
        case tokenUnavailable
        /// No address of a gateway is known, or one cannot be read.
        case noAddress
        /// The token was refused again and again (4401).
        case unauthorized
        /// The app's server has put the user offline (4403).
        case forcedOffline
        /// A newer connection has taken the session over (4410).
        case takenOver
        /// The server closed because of what this client sent, or said what cannot be read.
        case protocolViolation
        /// `willSend` stopped the send.
        case stoppedByHook
        /// `willSend` kept the message on this device.
        case keptLocal
        /// The task that waited was cancelled; what it asked for goes on.
        case cancelled
        /// A name that breaks the rule for user and room IDs.
        case invalidID
    }

    public var code: Code
    /// A sentence for people; it may change.
    public var message: String
    /// The server's answer, if there was one: with `retryAfterMs` and `field` where it has them.
    public var refusal: ChatError?

    public init(_ code: Code, _ message: String, refusal: ChatError? = nil) {
        self.code = code
        self.message = message
        self.refusal = refusal
    }

    /// The error of a request that the server refused.
    public init(_ refusal: ChatError) {
        // A code of a later version stands in the message already.
        let code = refusal.code == .unknown ? "" : "\(refusal.code.number) \(refusal.code.name): "
        self.init(.refused, code + refusal.message, refusal: refusal)
    }
}
