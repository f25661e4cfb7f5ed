import ChatModel

/// Errors in bytes that the cluster wrote itself, or with a WebSocket peer's handshake.
public struct WireError: Error, Sendable, Hashable {
    public enum Code: Sendable, Hashable {
        /// Stored bytes are not what was written, or were written by a later version.
        case corrupt
        /// The peer's HTTP is not what RFC 9112 or RFC 6455 ask for.
        case handshake
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(corrupt error: ChatError, in what: StaticString) {
        self.init(.corrupt, "\(what): \(error.message)\(error.field.map { " (\($0))" } ?? "")")
    }
}
