import FoundationEssentials
import Glibc

extension Error {
    /// The system's message about a file, in its words, as in "No such file or directory".
    public var fileSentence: String {
        guard let error = self as? CocoaError else { return "\(self)" }
        if let cause = error.userInfo["NSUnderlyingError"] as? POSIXError {
            return String(cString: strerror(cause.code.rawValue))
        }
        let number: Int32? =
            switch error.code {
            case .fileWriteOutOfSpace: ENOSPC
            case .fileReadNoPermission, .fileWriteNoPermission: EACCES
            case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
            case .fileWriteFileExists: EEXIST
            case .fileWriteVolumeReadOnly: EROFS
            default: nil
            }
        return number.map { String(cString: strerror($0)) } ?? "\(error)"
    }
}
