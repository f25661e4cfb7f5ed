/// Why a run could not be made.
package struct SwarmFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The request can't be done.
        case usage
        /// Nobody answers there, or it refuses all.
        case unreachable
    }

    package let code: Code
    /// A sentence for people. Never holds a secret.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
