/// Why the server API cannot run. Callers get a `ChatError`.
public struct ServerAPIError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// The address cannot be bound, or the listening socket failed.
        case listening
        /// The certificate or its key cannot be used.
        case certificate
    }

    public var code: Code
    public var message: String

    public var description: String { message }
}
