/// Why a call of the app got no answer. It names neither address nor secret.
public struct CallbackError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// The address is none, or its host is not among the allowed ones, or has an address that is refused.
        case address
        /// Nothing whole came in time.
        case timeout
        /// The answer was longer than it may be.
        case tooLarge
        /// No connection, no TLS, or no HTTP.
        case transport
    }

    public var code: Code
    /// A sentence for the log.
    public var description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
