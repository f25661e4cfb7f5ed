internal import COpenSSL

/// SHA-256 of bytes that come in pieces. One owner at a time: its user sees to that, which is the invariant behind
/// `@unchecked Sendable`.
public final class SHA256Stream: @unchecked Sendable {
    private let context: OpaquePointer

    public init() {
        context = OpenSSL.require(EVP_MD_CTX_new())
        OpenSSL.require(EVP_DigestInit_ex2(context, OpenSSL.shared.sha256, nil))
    }

    deinit { EVP_MD_CTX_free(context) }

    public func add(_ bytes: [UInt8]) {
        OpenSSL.require(bytes.withBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) })
    }

    /// The digest of all that was added; nothing can be added after it.
    public func digest() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256.digestBytes) { bytes, count in
            OpenSSL.require(EVP_DigestFinal_ex(context, bytes.baseAddress, nil))
            count = SHA256.digestBytes
        }
    }
}
