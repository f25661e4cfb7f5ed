internal import CUV

/// Why a socket operation failed or a connection ended.
public struct TransportError: Error, Hashable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// Another socket is bound to the address.
        case addressInUse
        /// No interface of this machine has the address.
        case addressNotAvailable
        /// The text is not a numeric address, or the port is not in 0...65,535.
        case invalidAddress
        /// A host name has no address.
        case nameNotFound
        /// The system does not allow it, as with ports below 1,024.
        case permissionDenied
        /// Nobody listens there.
        case connectionRefused
        /// The peer, or something on the way, broke the connection off.
        case connectionReset
        /// The peer has sent all it wanted to send.
        case endOfStream
        /// The peer cannot be reached from here.
        case unreachable
        /// It took longer than the limit.
        case timedOut
        /// It was closed from this side before it was done.
        case cancelled
        /// The process or the system has no more file descriptors.
        case tooManyOpenFiles
        /// A datagram larger than the network or the protocol carries.
        case messageTooLong
        /// The input is not TLS as it should be: another protocol, or a certificate that is not trusted here or there.
        case notTrusted
        /// Another libuv error, by its number (a negative `errno` value).
        case other(Int32)
    }

    /// The kind of error.
    public let code: Code

    /// For people: what was tried and what libuv says.
    public let message: String

    public var description: String { message }

    init(uvCode: Int32, doing action: String) {
        code = Code(uvCode: uvCode)
        message = "\(action): \(String(cString: uv_strerror(uvCode)))"
    }
}

extension TransportError.Code {
    init(uvCode: Int32) {
        self =
            switch uvCode {
            case UV_EADDRINUSE.rawValue: .addressInUse
            case UV_EADDRNOTAVAIL.rawValue: .addressNotAvailable
            case UV_EINVAL.rawValue: .invalidAddress
            case UV_EAI_NONAME.rawValue, UV_EAI_NODATA.rawValue, UV_EAI_FAIL.rawValue, UV_EAI_AGAIN.rawValue:
                .nameNotFound
            case UV_EACCES.rawValue, UV_EPERM.rawValue: .permissionDenied
            case UV_ECONNREFUSED.rawValue: .connectionRefused
            case UV_ECONNRESET.rawValue, UV_EPIPE.rawValue, UV_ECONNABORTED.rawValue: .connectionReset
            case UV_EOF.rawValue: .endOfStream
            case UV_ENETUNREACH.rawValue, UV_EHOSTUNREACH.rawValue: .unreachable
            case UV_ETIMEDOUT.rawValue: .timedOut
            case UV_ECANCELED.rawValue: .cancelled
            case UV_EMFILE.rawValue, UV_ENFILE.rawValue: .tooManyOpenFiles
            case UV_EMSGSIZE.rawValue: .messageTooLong
            case UV_EPROTO.rawValue: .notTrusted
            default: .other(uvCode)
            }
    }
}
