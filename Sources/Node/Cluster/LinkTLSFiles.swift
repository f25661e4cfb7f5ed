import ChatModel
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

    /// Reads them, and checks what the other nodes will check: else the links that there are stay, and none can be made any
    /// more. A certificate that has expired is taken, and warned of.
    func read(for node: NodeID) throws(NodeError) -> LinkTLS {
        try TLSFiles.requirePrivate(keyFile, "the link's TLS key")
        let tls: LinkTLS
        do throws(TLSError) {
            tls = try LinkTLS(certificateFile: certificateFile, keyFile: keyFile, caFile: caFile)
        } catch {
            throw NodeError(.configuration, error.message)
        }
        guard tls.names.contains(node.text) else {
            let names = tls.names.isEmpty ? "nobody" : tls.names.prefix(3).joined(separator: ", ")
            throw NodeError(
                .configuration,
                "the link's certificate \(certificateFile) is for \(names): a DNS name or the common name must be this "
                    + "node's ID, \(node)")
        }
        if let reason = tls.distrust {
            throw NodeError(
                .configuration,
                "the link's certificate \(certificateFile) is not one that \(caFile) vouches for (\(reason)): no other node "
                    + "would take it")
        }
        return tls
    }
}
