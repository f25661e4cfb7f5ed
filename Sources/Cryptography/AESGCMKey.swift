internal import COpenSSL

/// A key for AES-256-GCM (NIST SP 800-38D), with nonces of 12 bytes and tags of 16. From any thread.
public struct AESGCMKey: Sendable {
    public static let keyBytes = 32
    public static let nonceBytes = 12
    public static let tagBytes = 16

    /// Overwritten before it is freed.
    private final class Secret: Sendable {
        // Written by nobody after `init`, before `deinit`.
        nonisolated(unsafe) let bytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: AESGCMKey.keyBytes, alignment: 16)

        init(_ secret: [UInt8]) { bytes.copyBytes(from: secret) }

        deinit {
            OPENSSL_cleanse(bytes.baseAddress, bytes.count)
            bytes.deallocate()
        }
    }

    private let secret: Secret

    /// - Parameter secret: ``keyBytes`` bytes.
    public init(_ secret: [UInt8]) {
        precondition(secret.count == Self.keyBytes, "a key of AES-256 has 32 bytes")
        self.secret = Secret(secret)
    }

    /// Returns the sealed bytes, and behind them the tag.
    /// - Parameters:
    ///   - nonce: ``nonceBytes`` bytes, never the same twice with one key.
    ///   - known: is not sealed, and has to be the same when it is opened.
    public func seal(_ bytes: [UInt8], nonce: [UInt8], authenticating known: some Collection<UInt8>) -> [UInt8] {
        let context = begin(nonce, seals: true)
        defer { EVP_CIPHER_CTX_free(context) }
        var done: Int32 = 0
        return [UInt8](unsafeUninitializedCapacity: bytes.count + Self.tagBytes) { sealed, count in
            OpenSSL.require(Self.authenticate(known, context))
            if !bytes.isEmpty {
                let isDone = bytes.withBytes {
                    EVP_EncryptUpdate(context, sealed.baseAddress, &done, $0.octets, Int32($0.count))
                }
                OpenSSL.require(isDone)
            }
            let tag = sealed.baseAddress.map { $0 + bytes.count }
            OpenSSL.require(EVP_EncryptFinal_ex(context, tag, &done))
            OpenSSL.require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagBytes), tag))
            count = bytes.count + Self.tagBytes
        }
    }

    /// The contents of what ``seal(_:nonce:authenticating:)`` made with the same key and nonce.
    /// - Throws: `signature` for anything else, without telling how it differs.
    public func open(
        _ sealed: some Collection<UInt8>, nonce: [UInt8], authenticating known: some Collection<UInt8>
    ) throws(CryptographyError) -> [UInt8] {
        guard let bytes = opened(sealed, nonce, known) else {
            OpenSSL.forgetErrors()
            throw CryptographyError(.signature, "it was not sealed with this key, or was changed")
        }
        return bytes
    }

    private func opened(_ sealed: some Collection<UInt8>, _ nonce: [UInt8], _ known: some Collection<UInt8>) -> [UInt8]?
    {
        let length = sealed.count - Self.tagBytes
        guard length >= 0 else { return nil }
        let context = begin(nonce, seals: false)
        defer { EVP_CIPHER_CTX_free(context) }
        return sealed.withBytes { sealed -> [UInt8]? in
            var isWhole = false
            let bytes = [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
                var tag = Array(sealed[length...])
                var done: Int32 = 0
                guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagBytes), &tag) == 1,
                    Self.authenticate(known, context) == 1,
                    length == 0
                        || EVP_DecryptUpdate(context, bytes.baseAddress, &done, sealed.octets, Int32(length)) == 1
                else { return }
                // A stream cipher has nothing left to write.
                var rest: UInt8 = 0
                guard EVP_DecryptFinal_ex(context, &rest, &done) == 1 else { return }
                count = length
                isWhole = true
            }
            return isWhole ? bytes : nil
        }
    }

    private func begin(_ nonce: [UInt8], seals: Bool) -> OpaquePointer {
        precondition(nonce.count == Self.nonceBytes, "a nonce of AES-GCM has 12 bytes")
        let context = OpenSSL.require(EVP_CIPHER_CTX_new())
        let key = UnsafeRawBufferPointer(secret.bytes)
        OpenSSL.require(
            EVP_CipherInit_ex2(context, OpenSSL.shared.aes256GCM, key.octets, nonce, seals ? 1 : 0, nil))
        return context
    }

    private static func authenticate(_ known: some Collection<UInt8>, _ context: OpaquePointer) -> Int32 {
        guard !known.isEmpty else { return 1 }
        var done: Int32 = 0
        return known.withBytes { EVP_CipherUpdate(context, nil, &done, $0.octets, Int32($0.count)) }
    }
}
