public import Transport

/// Why a node's membership cannot begin.
public struct MembershipError: Error, Hashable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The host told to others does not make an address.
        case invalidAddress
        /// A socket cannot be bound.
        case socket(TransportError.Code)
    }

    /// The kind of error.
    public let code: Code
    /// For people.
    public let message: String

    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: TransportError) { self.init(.socket(error.code), error.message) }
}
