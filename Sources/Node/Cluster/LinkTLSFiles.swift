import NodeLink
import TLS

/// Where the certificates of the link are.
public struct LinkTLSFiles: Sendable, Hashable {
    /// PEM, the node's certificate first, then those that lead to the authority. A DNS name or the common name in it is
    /// the node's ID.
    public var certificateFile: String
    /// PEM without a passphrase, readable by its owner only.
    public var keyFile: String
    /// PEM of the authorities whose certificates make a node of this cluster.
    public var caFile: String

    /// Reads them.
    func read() throws(NodeError) -> LinkTLS {
        try TLSFiles.requirePrivate(keyFile, "the link's TLS key")
        do throws(TLSError) {
            return try LinkTLS(certificateFile: certificateFile, keyFile: keyFile, caFile: caFile)
        } catch {
            throw NodeError(.configuration, error.message)
        }
    }
}
