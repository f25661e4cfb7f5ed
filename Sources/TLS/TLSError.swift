internal import COpenSSL
import Glibc

/// Why TLS cannot be used, or why a connection's TLS ended.
public struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// A certificate or key cannot be read, or they do not belong together.
        case material
        /// The peer broke the protocol, has nothing in common with this side, or is not whom this side trusts.
        case `protocol`
        /// OpenSSL has no memory left.
        case memory
    }

    public var code: Code
    public var message: String

    public var description: String { message }

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// With what this thread's error queue of OpenSSL says, which is emptied. It names files and functions, never
    /// their content.
    static func last(_ code: Code, doing action: String) -> TLSError {
        let number = ERR_get_error()
        ERR_clear_error()
        let system = chatroom_ssl_system_error(number)
        if system != 0 { return TLSError(code, "\(action): \(String(cString: strerror(system)))") }
        guard number != 0, let reason = ERR_reason_error_string(number) else { return TLSError(code, action) }
        return TLSError(code, "\(action): \(String(cString: reason))")
    }
}
