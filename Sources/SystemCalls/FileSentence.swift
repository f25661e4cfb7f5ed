import FoundationEssentials
import Glibc

extension Error {
    /// The system's message about a file, in its words, as in "No such file or directory".
    public var fileSentence: String {
        guard let error = self as? CocoaError else { return "\(self)" }
        if let cause = error.userInfo["NSUnderlyingError"] as? POSIXError {
            return String(cString: strerror(cause.code.rawValue))
        }
        return "\(error)"
    }
}
