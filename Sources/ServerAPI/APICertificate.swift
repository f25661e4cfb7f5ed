import Synchronization
import TLS

/// The certificate of the API port; it can be renewed while the server runs, for connections that come. TLS 1.2 and 1.3.
public final class APICertificate: Sendable {
    private let current: Mutex<TLSContext>

    /// - Parameters:
    ///   - certificateFile: PEM, the server's certificate first, then those that lead to its root.
    ///   - keyFile: PEM, without a passphrase.
    public init(certificateFile: String, keyFile: String) throws(ServerAPIError) {
        do throws(TLSError) {
            current = Mutex(try TLSContext(certificateFile: certificateFile, keyFile: keyFile))
        } catch {
            throw ServerAPIError(code: .certificate, message: error.message)
        }
    }

    /// Puts the certificate and key of `other` in the place of the present ones.
    public func renew(from other: APICertificate) {
        let new = other.context
        current.withLock { $0 = new }
    }

    /// That of now.
    var context: TLSContext { current.withLock { $0 } }
}
