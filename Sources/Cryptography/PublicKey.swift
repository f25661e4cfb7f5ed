internal import COpenSSL

/// A public key of one algorithm, checked when it is made.
///
/// OpenSSL's key is not changed after `init`, and checking signatures with it from several threads only reads it: that
/// is the invariant behind `@unchecked Sendable`.
final class PublicKey: @unchecked Sendable {
    static let rsaBitsMin = 2_048
    /// Checking takes longer with the square of the length.
    static let rsaBitsMax = 8_192
    private static let pemBytesMax = 16_384

    let algorithm: JWSAlgorithm
    private let pointer: OpaquePointer

    /// Takes the key over, also where it throws.
    private init(_ pointer: OpaquePointer?, _ algorithm: JWSAlgorithm) throws(CryptographyError) {
        defer { OpenSSL.forgetErrors() }
        guard let pointer else {
            throw CryptographyError(.key, "it is not a public key for \(algorithm)")
        }
        self.pointer = pointer
        self.algorithm = algorithm
        switch algorithm {
        case .HS256: throw CryptographyError(.key, "HS256 has no public keys")
        case .ES256: try requireP256()
        case .RS256: try requireRSA()
        case .EdDSA: try require(EVP_PKEY_ED25519)
        }
    }

    deinit { EVP_PKEY_free(pointer) }

    // MARK: - Reading

    convenience init(pem: String, algorithm: JWSAlgorithm) throws(CryptographyError) {
        try self.init(Self.read(pem), algorithm)
    }

    private static func read(_ pem: String) -> OpaquePointer? {
        let text = Array(pem.utf8)
        guard text.count <= pemBytesMax else { return nil }
        // The BIO keeps the pointer, so all of the reading is done while it is valid.
        return text.withUnsafeBytes { read($0) }
    }

    private static func read(_ text: UnsafeRawBufferPointer) -> OpaquePointer? {
        guard let bio = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
        defer { BIO_free(bio) }
        var (name, header) = (nil, nil) as (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
        var (bytes, count) = (nil, 0) as (UnsafeMutablePointer<UInt8>?, Int)
        guard PEM_read_bio(bio, &name, &header, &bytes, &count) == 1 else { return nil }
        defer {
            CRYPTO_free(name, #file, #line)
            CRYPTO_free(header, #file, #line)
            CRYPTO_free(bytes, #file, #line)
        }
        guard let name, String(cString: name) == "PUBLIC KEY" else { return nil }
        // d2i moves the pointer to behind what it has read.
        var end = UnsafePointer(bytes)
        guard let key = d2i_PUBKEY(nil, &end, count) else { return nil }
        guard let bytes, end == UnsafePointer(bytes) + count else {
            EVP_PKEY_free(key)
            return nil
        }
        return key
    }

    convenience init(_ key: JSONWebKey) throws(CryptographyError) {
        let algorithm = try key.algorithm()
        try self.init(Self.make(key, algorithm), algorithm)
    }

    private static func make(_ key: JSONWebKey, _ algorithm: JWSAlgorithm) -> OpaquePointer? {
        func number(_ text: String?) -> [UInt8]? { text.flatMap { Base64URL.decode($0.utf8) } }
        switch algorithm {
        case .HS256: return nil
        case .ES256:
            // RFC 7518 §6.2.1.2: the coordinates have the full length of the curve's.
            guard let x = number(key.x), x.count == 32, let y = number(key.y), y.count == 32 else { return nil }
            // Uncompressed (SEC 1 §2.3.3).
            let point = [0x04] + x + y
            return chatroom_p256_key(point, point.count)
        case .RS256:
            guard let n = number(key.n), n.count <= rsaBitsMax / 8, let e = number(key.e), e.count <= 8
            else { return nil }
            return chatroom_rsa_key(n, Int32(n.count), e, Int32(e.count))
        case .EdDSA:
            guard let x = number(key.x), x.count == 32 else { return nil }
            return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, x, x.count)
        }
    }

    // MARK: - Checking the key

    private func require(_ type: Int32) throws(CryptographyError) {
        guard EVP_PKEY_get_base_id(pointer) == type else {
            throw CryptographyError(.key, "it is not a public key for \(algorithm)")
        }
    }

    private func requireP256() throws(CryptographyError) {
        try require(EVP_PKEY_EC)
        var name = [CChar](repeating: 0, count: 32)
        guard EVP_PKEY_get_utf8_string_param(pointer, OSSL_PKEY_PARAM_GROUP_NAME, &name, name.count, nil) == 1,
            name.prefix(while: { $0 != 0 }).elementsEqual("prime256v1".utf8.map(CChar.init))
        else { throw CryptographyError(.key, "it is not a key of the curve P-256") }
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else {
            throw CryptographyError(.key, "it can't be checked")
        }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_public_check(context) == 1 else {
            throw CryptographyError(.key, "it is not a point of the curve P-256")
        }
    }

    /// With an exponent of 1 everything would sign itself.
    private func requireRSA() throws(CryptographyError) {
        try require(EVP_PKEY_RSA)
        let bits = Int(EVP_PKEY_get_bits(pointer))
        guard (Self.rsaBitsMin...Self.rsaBitsMax).contains(bits) else {
            throw CryptographyError(
                .key, "an RSA key has \(Self.rsaBitsMin) to \(Self.rsaBitsMax) bits, this one \(bits)")
        }
        var (modulus, exponent) = (nil, nil) as (OpaquePointer?, OpaquePointer?)
        defer {
            BN_free(modulus)
            BN_free(exponent)
        }
        guard EVP_PKEY_get_bn_param(pointer, OSSL_PKEY_PARAM_RSA_N, &modulus) == 1,
            EVP_PKEY_get_bn_param(pointer, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1, BN_is_odd(modulus) == 1,
            BN_is_odd(exponent) == 1, (2...64).contains(BN_num_bits(exponent))
        else { throw CryptographyError(.key, "the modulus or the exponent of the RSA key is none") }
    }

    // MARK: - Checking signatures

    /// Whether it is the signature of the bytes, in the form of RFC 7518 §3 and RFC 8037 §3.1.
    func isSignature(_ signature: [UInt8], of signed: [UInt8]) -> Bool {
        let isRight = verify(signature, signed)
        // Also behind a success: OpenSSL may have tried something else first.
        OpenSSL.forgetErrors()
        return isRight
    }

    private func verify(_ signature: [UInt8], _ signed: [UInt8]) -> Bool {
        var signature = signature
        switch algorithm {
        case .HS256: return false
        case .ES256:
            guard let form = Self.sequence(signature) else { return false }
            signature = form
        case .RS256: guard signature.count == Int(EVP_PKEY_get_size(pointer)) else { return false }
        case .EdDSA: guard signature.count == 64 else { return false }
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        // Ed25519 hashes by itself. RSA's padding is that of PKCS #1 v1.5 unless another is asked for.
        let digest = algorithm == .EdDSA ? nil : "SHA2-256"
        return EVP_DigestVerifyInit_ex(context, nil, digest, nil, nil, pointer, nil) == 1
            && EVP_DigestVerify(context, signature, signature.count, signed, signed.count) == 1
    }

    /// The two numbers of 32 bytes as OpenSSL wants them (RFC 3279 §2.2.3); nil for any other length.
    private static func sequence(_ signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64, let form = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(form) }
        guard let r = BN_bin2bn(Array(signature[..<32]), 32, nil) else { return nil }
        guard let s = BN_bin2bn(Array(signature[32...]), 32, nil) else {
            BN_free(r)
            return nil
        }
        // Takes over both.
        guard ECDSA_SIG_set0(form, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(form, &bytes)
        defer { CRYPTO_free(bytes, #file, #line) }
        guard count > 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
