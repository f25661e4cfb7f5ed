/// The reaction of a client after its connection was closed (PROTOCOL.md, "Closing").
package enum CloseAdvice: Hashable, Sendable {
    /// Wait and connect again.
    case reconnect
    /// Get a new token, then connect.
    case renewToken
    /// Do not come back.
    case stop

    /// - Parameter code: of the close frame; nil when there was none.
    package init(closeCode code: UInt16?) {
        self =
            switch code {
            case 4401: .renewToken
            case 4403, 4410, 1002, 1003, 1007, 1008, 1009: .stop
            default: .reconnect
            }
    }
}
