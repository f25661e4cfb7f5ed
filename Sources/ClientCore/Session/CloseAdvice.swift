/// The reaction of a client after its connection was closed (PROTOCOL.md, "Closing").
package enum CloseAdvice: Hashable, Sendable {
    /// Wait and connect again.
    case reconnect
    /// Get a new token, then connect.
    case renewToken
    /// Do not come back: the app's server put the user offline.
    case forcedOffline
    /// Do not come back: the session goes on elsewhere.
    case takenOver
    /// Do not come back: something is wrong with what this client sends.
    case mistake

    /// - Parameter code: of the close frame; nil when there was none.
    package init(closeCode code: UInt16?) {
        self =
            switch code {
            case 4401: .renewToken
            case 4403: .forcedOffline
            case 4410: .takenOver
            case 1002, 1003, 1007, 1008, 1009: .mistake
            default: .reconnect
            }
    }
}
