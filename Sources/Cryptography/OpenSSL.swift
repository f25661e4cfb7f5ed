internal import COpenSSL

/// The state that all calls of OpenSSL share: its algorithms, looked up once, and its queue of errors.
///
/// The algorithms are immutable and OpenSSL counts their references atomically: that is the invariant behind
/// `@unchecked Sendable`.
final class OpenSSL: @unchecked Sendable {
    static let shared = OpenSSL()

    let sha256: OpaquePointer
    let hmac: OpaquePointer
    let aes256GCM: OpaquePointer

    private init() {
        sha256 = Self.require(EVP_MD_fetch(nil, "SHA2-256", nil))
        hmac = Self.require(EVP_MAC_fetch(nil, "HMAC", nil))
        aes256GCM = Self.require(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))
    }

    /// For what fails only where OpenSSL has no memory, no provider or no source of randomness: a process without them
    /// can't go on, as one without memory for an array can't.
    static func require(_ isDone: Int32) {
        guard isDone != 1 else { return }
        fatalError("OpenSSL can't be used")
    }

    static func require(_ pointer: OpaquePointer?) -> OpaquePointer {
        guard let pointer else { fatalError("OpenSSL can't be used") }
        return pointer
    }

    /// Empties this thread's queue of errors, so that nobody takes a failure of ours for one of theirs: `SSL_get_error`
    /// looks there. To be called after each failure.
    static func forgetErrors() { ERR_clear_error() }

    /// Whether this thread's queue of errors is empty.
    static var hasNoErrors: Bool { ERR_peek_error() == 0 }
}

extension Collection<UInt8> {
    /// Without a copy where the collection lies in one piece.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) } ?? Array(self).withUnsafeBytes(body)
    }
}

extension UnsafeRawBufferPointer {
    /// As most of OpenSSL's functions want it; nil when there are no bytes.
    var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
