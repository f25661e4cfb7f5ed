internal import COpenSSL

/// The sealed bytes that one loop's sessions have produced and not yet sent. One for each loop: a session's bytes are
/// sent before another session writes.
public final class TLSOutput {
    fileprivate var bytes: [UInt8] = []
    /// One record's content.
    fileprivate let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSSession.recordBytesMax, alignment: 16)

    public init() { bytes.reserveCapacity(2 * TLSSession.recordBytesMax) }

    deinit { plain.deallocate() }

    public var isEmpty: Bool { bytes.isEmpty }

    /// Gives what waits to `body`, and forgets it.
    public func take(_ body: (UnsafeRawBufferPointer) -> Void) {
        guard !bytes.isEmpty else { return }
        bytes.withUnsafeBytes(body)
        bytes.removeAll(keepingCapacity: true)
    }
}

/// TLS of one connection, without its socket: sealed bytes go in and out through memory. Belongs to one thread.
///
/// OpenSSL's own memory BIO keeps a buffer for each connection; this one reads from the bytes that just came, all of
/// which OpenSSL takes, and writes to the loop's ``TLSOutput``, so an idle connection has no buffer at all.
public final class TLSSession {
    /// The most plaintext in one record (RFC 8446 §5.1).
    public static let recordBytesMax = 16_384

    public enum Outcome: Sendable {
        /// All bytes have been taken; more are needed for more.
        case open
        /// The peer has said that nothing more comes.
        case ended
        /// The connection is of no use any more; an alert for the peer may be in the output.
        case failed(TLSError)
    }

    private let ssl: OpaquePointer
    private let context: TLSContext
    /// Where sealed bytes go; to be taken after each call.
    public let output: TLSOutput
    /// The rest of the bytes that came.
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var hasFailed = false

    public init(_ context: TLSContext, output: TLSOutput) throws(TLSError) {
        guard let ssl = SSL_new(context.pointer) else { throw .last(.memory, doing: "no TLS session") }
        guard let bio = BIO_new(Self.method) else {
            SSL_free(ssl)
            throw .last(.memory, doing: "no TLS session")
        }
        self.ssl = ssl
        self.context = context
        self.output = output
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        // Takes over the one reference for both directions.
        SSL_set_bio(ssl, bio, bio)
        switch context.role {
        case .server: SSL_set_accept_state(ssl)
        case .client:
            SSL_set_connect_state(ssl)
            if let name = context.serverName {
                // A numeric address is no server name (RFC 6066 §3).
                let isNumeric = name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E } || name.contains(":")
                if !isNumeric { _ = chatroom_ssl_set_server_name(ssl, name) }
                // Without it no name would be checked: that fails for want of memory only.
                precondition(SSL_set1_host(ssl, name) == 1, "the name of the server is checked")
            }
        }
    }

    deinit {
        SSL_free(ssl)
    }

    /// Whether bytes of the application can be sealed.
    public var isReady: Bool { SSL_is_init_finished(ssl) == 1 }

    /// The DNS names of the certificate that the peer has shown, and its common names; empty before the handshake is
    /// done, and without such a certificate. Whether it is trusted is the context's matter: an untrusted one fails the
    /// handshake.
    public var peerNames: [String] {
        guard isReady else { return [] }
        var names: [String] = []
        withUnsafeMutablePointer(to: &names) { names in chatroom_ssl_peer_names(ssl, Self.appendName, names) }
        return names
    }

    /// Appends to an array of strings.
    static let appendName: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, Int32) -> Void = {
        names, bytes, count in
        guard let names, let bytes, count > 0 else { return }
        // The string has its full length, so that a name with a NUL inside is no other than itself.
        let name = String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
        names.assumingMemoryBound(to: [String].self).pointee.append(name)
    }

    /// The SHA-256 of the certificate that the peer has shown; nil before the handshake is done, and without one.
    public var peerFingerprint: [UInt8]? {
        guard isReady, let certificate = SSL_get0_peer_certificate(ssl) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        ERR_clear_error()
        let result = X509_digest(certificate, EVP_sha256(), &bytes, &count)
        ERR_clear_error()
        return result == 1 && count == 32 ? bytes : nil
    }

    /// A value that this connection alone has, the same at both ends (`tls-exporter`, RFC 9266); nil before the
    /// handshake is done.
    public var channelBinding: [UInt8]? {
        guard isReady else { return nil }
        let label = "EXPORTER-Channel-Binding"
        var bytes = [UInt8](repeating: 0, count: 32)
        ERR_clear_error()
        let result = SSL_export_keying_material(ssl, &bytes, bytes.count, label, label.utf8.count, nil, 0, 0)
        ERR_clear_error()
        return result == 1 ? bytes : nil
    }

    /// Takes sealed bytes and gives what they hold to `body`, record by record.
    /// - Parameter flush: called when there is output that must go before `body` is called, which may seal itself.
    public func receive(
        _ bytes: UnsafeRawBufferPointer, flush: () -> Void, _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Outcome {
        guard !hasFailed else { return .failed(TLSError(.protocol, "TLS has failed before")) }
        input = bytes
        defer { input = UnsafeRawBufferPointer(start: nil, count: 0) }
        while true {
            ERR_clear_error()
            let count = SSL_read(ssl, output.plain.baseAddress, Int32(output.plain.count))
            if !output.isEmpty { flush() }
            guard count > 0 else { return outcome(of: count) }
            body(UnsafeRawBufferPointer(rebasing: output.plain[..<Int(count)]))
        }
    }

    /// Begins the handshake, where this side does.
    public func begin() -> Outcome {
        ERR_clear_error()
        return outcome(of: SSL_do_handshake(ssl))
    }

    private func outcome(of result: Int32) -> Outcome {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_NONE, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .open
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            hasFailed = true
            return .failed(.last(.protocol, doing: "TLS"))
        }
    }

    /// Seals the beginning of `bytes`, as much as some records hold. Returns how many bytes were taken: 0 while the
    /// handshake is not done, or after a failure.
    public func seal(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !hasFailed, isReady else { return 0 }
        var taken = 0
        while taken < min(bytes.count, Self.sealedAtOnceMax) {
            let part = UnsafeRawBufferPointer(rebasing: bytes[taken...].prefix(Self.recordBytesMax))
            ERR_clear_error()
            let count = SSL_write(ssl, part.baseAddress, Int32(part.count))
            guard count > 0 else {
                _ = outcome(of: count)
                return taken
            }
            taken += Int(count)
        }
        return taken
    }

    /// Tells the peer that nothing more comes (close_notify).
    public func end() {
        guard !hasFailed, isReady else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// The most bytes that one call of ``seal(_:)`` takes; bounds the copy of the bytes that the system does not take.
    private static let sealedAtOnceMax = 4 * recordBytesMax

    // MARK: - Memory

    fileprivate func read(into memory: UnsafeMutableRawPointer, _ count: Int) -> Int {
        guard let base = input.baseAddress else { return 0 }
        let taken = min(count, input.count)
        memory.copyMemory(from: base, byteCount: taken)
        input = UnsafeRawBufferPointer(start: base + taken, count: input.count - taken)
        return taken
    }

    /// Made once, used read-only by all threads.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "loop memory") else { return nil }
        BIO_meth_set_read(method) { bio, memory, count in
            guard let bio, let memory, count > 0, let data = BIO_get_data(bio) else { return -1 }
            chatroom_bio_clear_retry(bio)
            let session = Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
            let taken = session.read(into: memory, Int(count))
            guard taken > 0 else {
                chatroom_bio_must_retry_read(bio)
                return -1
            }
            return Int32(taken)
        }
        BIO_meth_set_write(method) { bio, memory, count in
            guard let bio, let memory, count > 0, let data = BIO_get_data(bio) else { return -1 }
            chatroom_bio_clear_retry(bio)
            let session = Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
            session.output.bytes.append(
                contentsOf: UnsafeRawBufferPointer(start: UnsafeRawPointer(memory), count: Int(count)))
            return count
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return method
    }()
}
