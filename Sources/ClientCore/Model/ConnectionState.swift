/// How a room stands with this client. NIM's four states with the connection before them.
public enum ConnectionState: Sendable, Hashable {
    /// There is no connection yet. Next: entering, failed, exited.
    case connecting
    /// `enter` was asked and is not answered. Next: entered, lost, failed, exited.
    case entering
    /// In the room. Next: lost, failed, exited.
    case entered
    /// The connection or the room's owner is away; the client comes back by itself, without a hole. Next: entering,
    /// entered, failed, exited.
    case lost
    /// Out, and not coming back by itself: refused, kicked, or the client has failed. Final for this stay.
    case failed(ClientError)
    /// The app left the room. Final for this stay.
    case exited

    /// Whether nothing comes of this stay any more.
    public var isFinal: Bool {
        switch self {
        case .failed, .exited: true
        case .connecting, .entering, .entered, .lost: false
        }
    }
}

/// How the client stands with the cluster.
public enum ClientState: Sendable, Hashable {
    /// `connect()` was not called yet.
    case idle
    /// The first connection is being made, with retries.
    case connecting
    case connected
    /// The connection was lost and is being made again.
    case lost
    /// The client does not try any more; `connect()` starts anew.
    case failed(ClientError)
    /// The app called `close()`.
    case closed
}
