import ChatModel

/// Errors in bytes that the cluster wrote itself, or with a WebSocket peer's handshake.
public struct WireError: Error, Sendable, Hashable {
    public enum Code: Sendable, Hashable {
        /// Stored bytes are not what was written, or were written by a later version.
        case corrupt
        /// Stored bytes are whole, and have a field that this version does not know.
        case unknown
        /// The peer's HTTP is not what RFC 9112 or RFC 6455 ask for.
        case handshake
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: ChatError, in what: StaticString) {
        self.init(
            error.code == .unknown ? .unknown : .corrupt,
            "\(what): \(error.message)\(error.field.map { " (\($0))" } ?? "")")
    }
}
