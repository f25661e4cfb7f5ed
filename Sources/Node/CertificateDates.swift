import ChatModel
import Logging
import Synchronization

/// Until when the node's certificates are valid: a program that only loads them notices nothing, and no client comes any more.
final class CertificateDates: Sendable {
    /// The ports with certificates of their own.
    enum Port: String, CaseIterable, Sendable {
        case client, link
    }

    private let ends = Mutex<[Port: Int64]>([:])

    /// Before the end there is a warning for so long.
    private static let warningSeconds: Int64 = 14 * 86_400

    /// The end of the certificate in force, in seconds since 1970; nil: there is none.
    func end(_ port: Port) -> Int64? { ends.withLock { $0[port] } }

    /// A certificate is in force from now on.
    func note(_ validity: (from: Int64, until: Int64)?, _ port: Port, at now: Timestamp, _ logger: Logger) {
        guard let validity else { return }
        ends.withLock { $0[port] = validity.until }
        guard let complaint = Self.complaint(validity, at: now) else { return }
        logger.warning("\(complaint)", metadata: ["port": "\(port.rawValue)", "validUntil": "\(validity.until)"])
    }

    static func complaint(_ validity: (from: Int64, until: Int64), at now: Timestamp) -> String? {
        let seconds = now.milliseconds / 1_000
        if seconds > validity.until { return "the TLS certificate has expired: who verifies it can't connect" }
        if seconds < validity.from { return "the TLS certificate is not valid yet: who verifies it can't connect" }
        let left = validity.until - seconds
        return left < warningSeconds ? "the TLS certificate ends in \(left / 86_400) days" : nil
    }
}
