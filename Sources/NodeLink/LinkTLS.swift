public import TLS

/// The TLS of a node's links: both sides show a certificate that names its node (a DNS name or the common name is the
/// node's ID) and that one authority has signed.
public struct LinkTLS: Sendable {
    let server: TLSContext
    let client: TLSContext

    /// Reads the files.
    /// - Parameters:
    ///   - certificateFile: PEM, the node's certificate first, then those that lead to the authority. If it has an
    ///     extended key usage, both client and server authentication must be in it.
    ///   - keyFile: PEM, without a passphrase.
    ///   - caFile: PEM of the authorities whose certificates make a node of this cluster, and no others.
    public init(certificateFile: String, keyFile: String, caFile: String) throws(TLSError) {
        server = try TLSContext(
            mutual: .server, certificateFile: certificateFile, keyFile: keyFile, trustFile: caFile)
        client = try TLSContext(
            mutual: .client, certificateFile: certificateFile, keyFile: keyFile, trustFile: caFile)
    }

    /// The names in the own certificate.
    public var names: [String] { server.ownNames }

    /// Why other nodes that trust the same would not trust the own certificate, whatever the time is; nil: they would.
    public var distrust: String? { server.distrust ?? client.distrust }

    /// From when until when the certificate is valid, in seconds since 1970.
    public var validity: (from: Int64, until: Int64)? { server.validity }

    /// The first byte of a connection with TLS: that of a handshake record (RFC 8446 §5.1).
    static let firstByte: UInt8 = 22
}
