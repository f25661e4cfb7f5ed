import HTTPWebSocket
import Wire

/// The states of a connection. They are apart from each other: any of its phases meets any state of its output.
extension ClientConnection {
    /// The life of a connection.
    enum Phase {
        /// The HTTP request is being read. Can become: `open`, `answering`, `draining`, `closing`,
        /// `gone`.
        case handshake(HTTPUpgradeParser)
        /// A request that is no WebSocket one has been read, and its answer is being made; nothing is read. Can become:
        /// `draining`, `closing`, `gone`.
        case answering
        /// Its socket is that of a transfer of content (`MediaConnection`), which ends it. Can become: `draining`, `closing`,
        /// `gone`.
        case transferring
        /// WebSocket, before or after `connect`. Can become: `draining`, `closing`, `gone`.
        case open
        /// The last frame waits for the socket, and nothing is read. A client that has not taken it by then, in loop
        /// time, is cut off. Can become: `closing`, `gone`.
        case draining(untilMilliseconds: UInt64)
        /// Nothing waits to be written, or nobody waits for it to be; nothing is read. Can become: `gone`.
        case closing
        /// The socket has closed, and nothing is counted for this connection any more. Final.
        case gone

        /// Whether the end has begun.
        var isEnding: Bool {
            switch self {
            case .handshake, .answering, .transferring, .open: false
            case .draining, .closing, .gone: true
            }
        }
    }

    /// Whether the socket is read, and requests are taken.
    enum Intake: Hashable {
        /// The socket is read. Can become: `paused`, `held`.
        case reading
        /// Too much waits, in either direction. Can become: `reading`, `held`.
        case paused
        /// A `connect` or `refresh` is being decided: no request is taken meanwhile. Can become: `paused`.
        case held

        /// - Returns: whether the socket has to be stopped.
        mutating func pause() -> Bool {
            guard case .reading = self else { return false }
            self = .paused
            return true
        }

        /// - Returns: whether the socket has to be read again.
        mutating func resume() -> Bool {
            guard case .paused = self else { return false }
            self = .reading
            return true
        }

        /// - Returns: whether the socket has to be stopped.
        mutating func hold() -> Bool {
            defer { self = .held }
            return self == .reading
        }

        /// - Returns: whether what was held can go on.
        mutating func endHold() -> Bool {
            guard case .held = self else { return false }
            self = .paused
            return true
        }
    }

    /// The part of the connection in the lane's list of those that the end of the turn flushes. Nobody writes ahead of
    /// that.
    enum Flush {
        /// It is not in the list. Can become: `single`, `queue`.
        case none
        /// It is, with the one frame that waits in the common case, while the queue is empty. Can become: `queue`,
        /// `none`.
        case single(LaneFrame)
        /// It is, and the frames that wait are in the queue. Can become: `none`.
        case queue

        var isDue: Bool { if case .none = self { false } else { true } }
    }
}
