/// Why a key can't be used, or why something sealed or signed is refused. It names no secret and quotes no content.
public struct CryptographyError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// A key of another kind, too short, or unreadable.
        case key
        /// A text that does not have the form of a compact JWS.
        case form
        /// The header asks for an algorithm that is not the key's, or for something that is not understood.
        case algorithm
        /// The signature, or the tag of something sealed, is not that of the key.
        case signature
    }

    public var code: Code
    /// A sentence for the log.
    public var description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
