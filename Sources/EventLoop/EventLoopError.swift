internal import CUV

/// Why an event loop could not be made.
public struct EventLoopError: Error, Hashable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The process or the system has no more file descriptors; a loop needs about five.
        case tooManyOpenFiles
        /// The system has no memory for it.
        case outOfMemory
        /// Another libuv error, by its number (a negative `errno` value).
        case other(Int32)
    }

    /// The kind of error.
    public let code: Code

    /// For people: what was tried and what libuv says.
    public let message: String

    public var description: String { message }

    init(uvCode: Int32, doing action: String) {
        switch uvCode {
        case UV_EMFILE.rawValue, UV_ENFILE.rawValue: code = .tooManyOpenFiles
        case UV_ENOMEM.rawValue: code = .outOfMemory
        default: code = .other(uvCode)
        }
        message = "\(action): \(String(cString: uv_strerror(uvCode)))"
    }
}
