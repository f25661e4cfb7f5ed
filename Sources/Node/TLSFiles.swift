import SystemCalls
import ServerAPI
import TLS

/// Where a node's certificate and its key are.
public struct TLSFiles: Sendable, Hashable {
    /// PEM, the node's certificate first, then those that lead to its root.
    public var certificateFile: String
    /// PEM without a passphrase, readable by its owner only.
    public var keyFile: String

    /// Reads both for the client port.
    func clientContext() throws(NodeError) -> TLSContext {
        try Self.requirePrivate(keyFile, "the TLS key")
        do throws(TLSError) {
            return try TLSContext(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            throw NodeError(.configuration, error.message)
        }
    }

    /// Reads both for the API port.
    func apiCertificate() throws(NodeError) -> APICertificate {
        do throws(ServerAPIError) {
            return try APICertificate(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            throw NodeError(.configuration, error.message)
        }
    }

    /// Throws unless nobody but its owner can read or write the file.
    static func requirePrivate(_ path: String, _ what: String) throws(NodeError) {
        guard let status = FileStatus(path: path) else {
            throw NodeError(.configuration, "\(what) \(path) can't be read")
        }
        guard status.isOwnersOnly else {
            throw NodeError(.configuration, "\(what) \(path) must be readable by its owner only (chmod 600)")
        }
    }
}
