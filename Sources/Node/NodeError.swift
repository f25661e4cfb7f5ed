/// Why a node does not start or stops: a code for programs, a sentence for the operator.
public struct NodeError: Error, Sendable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// A setting is missing, unknown, of the wrong type or out of range.
        case configuration
        /// The data directory is missing, exists already, or belongs to something else.
        case data
        /// A port is taken or an address can't be bound.
        case address
        /// The log or the history can't be read or written.
        case storage
        /// A newer program has written the data, or the cluster is past what this one can do.
        case version
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The exit code of the program. A supervisor must not start it again after `version`: only another program helps.
    public var exitCode: Int32 { code == .version ? 65 : 1 }

    public var description: String { message }
}
