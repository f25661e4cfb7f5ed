import Glibc

/// A refusal of the system.
public struct SystemCallError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// A program could not be started.
        case spawn
    }

    public let code: Code
    /// The system's number (`errno`).
    public let number: Int32

    public init(_ code: Code, number: Int32) {
        self.code = code
        self.number = number
    }

    public var description: String { String(cString: strerror(number)) }
}
