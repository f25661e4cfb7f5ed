internal import COpenSSL

/// The certificate, key and trust that all TLS connections of one kind share. TLS 1.2 and 1.3 only.
///
/// Immutable after `init`, and OpenSSL counts its references atomically: that is the invariant behind
/// `@unchecked Sendable`. To use a new certificate, make a new context; connections keep the one they began with.
public final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    let role: Role
    /// For clients: the name that the server's certificate must bear; nil where its names are the owner's to check.
    let serverName: String?

    /// Whether it is for the side that begins.
    public var isClient: Bool { role == .client }

    enum Role {
        case client
        case server
    }

    /// For a server.
    /// - Parameters:
    ///   - certificateFile: PEM, the server's certificate first, then those that lead to its root.
    ///   - keyFile: PEM, without a passphrase.
    public convenience init(certificateFile: String, keyFile: String) throws(TLSError) {
        try self.init(role: .server, serverName: nil)
        try use(certificateFile: certificateFile, keyFile: keyFile)
    }

    /// For either side of a connection between equals: both show a certificate, which `trustFile` must vouch for. No
    /// name is checked here: ``TLSSession/peerNames`` has those of the other's certificate.
    /// - Parameters:
    ///   - side: which side this context is for.
    ///   - certificateFile: PEM, this side's certificate first, then those that lead to its root. If it has an extended
    ///     key usage, both client and server authentication must be in it.
    ///   - keyFile: PEM, without a passphrase.
    ///   - trustFile: PEM of the certificates that are trusted.
    public convenience init(mutual side: Side, certificateFile: String, keyFile: String, trustFile: String)
        throws(TLSError)
    {
        try self.init(role: side == .client ? .client : .server, serverName: nil)
        try use(certificateFile: certificateFile, keyFile: keyFile)
        try trust(trustFile)
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }

    /// The two ends of a connection.
    public enum Side: Sendable, Hashable {
        /// It begins.
        case client
        case server
    }

    /// For a client.
    /// - Parameters:
    ///   - trustFile: PEM of the certificates that are trusted; nil: the system's roots.
    ///   - serverName: the DNS name or the numeric address that the server's certificate must bear.
    public convenience init(trustFile: String?, serverName: String) throws(TLSError) {
        try self.init(role: .client, serverName: serverName)
        if let trustFile {
            try trust(trustFile)
        } else if SSL_CTX_set_default_verify_paths(pointer) != 1 {
            throw .last(.material, doing: "the system's certificates can't be used")
        }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    }

    /// For a client that has what it trusts in memory.
    /// - Parameters:
    ///   - trusted: the certificates that are trusted, in DER; nil: the system's roots.
    ///   - serverName: the DNS name or the numeric address that the server's certificate must bear.
    ///   - verifies: whether the certificate is checked at all.
    public convenience init(trusted: [[UInt8]]?, serverName: String, verifies: Bool) throws(TLSError) {
        try self.init(role: .client, serverName: serverName)
        if let trusted {
            for certificate in trusted { try trust(certificate) }
        } else if SSL_CTX_set_default_verify_paths(pointer) != 1 {
            throw .last(.material, doing: "the system's certificates can't be used")
        }
        SSL_CTX_set_verify(pointer, verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
    }

    private func use(certificateFile: String, keyFile: String) throws(TLSError) {
        guard SSL_CTX_use_certificate_chain_file(pointer, certificateFile) == 1 else {
            throw .last(.material, doing: "the certificate \(certificateFile) can't be used, it must be PEM")
        }
        guard SSL_CTX_use_PrivateKey_file(pointer, keyFile, SSL_FILETYPE_PEM) == 1 else {
            if chatroom_ssl_is_mismatch(ERR_peek_error()) != 0 { throw Self.mismatch(certificateFile, keyFile) }
            throw .last(.material, doing: "the key \(keyFile) can't be used, it must be PEM without a passphrase")
        }
        guard SSL_CTX_check_private_key(pointer) == 1 else { throw Self.mismatch(certificateFile, keyFile) }
    }

    private static func mismatch(_ certificateFile: String, _ keyFile: String) -> TLSError {
        .last(
            .material,
            doing: """
                the key \(keyFile) is not that of the certificate \(certificateFile), where the own one must be the first
                """)
    }

    /// From when until when the own certificate is valid, in seconds since 1970; nil: there is none, or it does not say.
    public var validity: (from: Int64, until: Int64)? {
        var (from, until) = (Int64(0), Int64(0))
        return chatroom_ssl_ctx_validity(pointer, &from, &until) == 1 ? (from, until) : nil
    }

    /// The DNS names of the own certificate, then its common names.
    public var ownNames: [String] {
        var names: [String] = []
        withUnsafeMutablePointer(to: &names) { names in
            chatroom_ssl_ctx_own_names(pointer, TLSSession.appendName, names)
        }
        return names
    }

    /// Why another side that trusts the same would not trust the own certificate, whatever the time is; nil: it would.
    public var distrust: String? {
        var reason: UnsafePointer<CChar>?
        ERR_clear_error()
        let isTrusted = chatroom_ssl_ctx_trusts_itself(pointer, isClient ? 1 : 0, &reason) == 1
        ERR_clear_error()
        return isTrusted ? nil : reason.map { String(cString: $0) } ?? "it can't be checked"
    }

    private func trust(_ trustFile: String) throws(TLSError) {
        guard SSL_CTX_load_verify_locations(pointer, trustFile, nil) == 1 else {
            throw .last(.material, doing: "the certificates in \(trustFile) can't be used")
        }
    }

    private func trust(_ certificate: [UInt8]) throws(TLSError) {
        let parsed = certificate.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_X509(nil, &next, bytes.count)
        }
        guard let parsed else { throw .last(.material, doing: "a trusted certificate can't be read") }
        defer { X509_free(parsed) }
        guard X509_STORE_add_cert(SSL_CTX_get_cert_store(pointer), parsed) == 1 else {
            throw .last(.material, doing: "a trusted certificate can't be used")
        }
    }

    private init(role: Role, serverName: String?) throws(TLSError) {
        self.role = role
        self.serverName = serverName
        let method = role == .server ? TLS_server_method() : TLS_client_method()
        guard let context = SSL_CTX_new(method) else { throw .last(.memory, doing: "no TLS context") }
        pointer = context
        _ = chatroom_ssl_ctx_require_tls_1_2(context)
        // A peer could otherwise make the server compute for ever (CVE-2011-1473).
        chatroom_ssl_ctx_harden(context)
        // An idle connection holds no record buffers.
        chatroom_ssl_ctx_release_buffers(context)
        // Clients resume by ticket; the server remembers nothing.
        chatroom_ssl_ctx_disable_session_cache(context)
        // A key with a passphrase is an error; by default OpenSSL would ask on the terminal.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    }

    deinit {
        SSL_CTX_free(pointer)
    }
}
