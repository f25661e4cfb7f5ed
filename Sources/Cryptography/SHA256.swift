internal import COpenSSL

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
    public static let digestBytes = 32

    /// The digest of all parts, one after the other.
    public static func digest(of parts: [UInt8]...) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { fatalError("OpenSSL can't be used") }
        defer { EVP_MD_CTX_free(context) }
        OpenSSL.require(EVP_DigestInit_ex2(context, OpenSSL.shared.sha256, nil))
        for part in parts { OpenSSL.require(part.withBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }) }
        return [UInt8](unsafeUninitializedCapacity: digestBytes) { bytes, count in
            OpenSSL.require(EVP_DigestFinal_ex(context, bytes.baseAddress, nil))
            count = digestBytes
        }
    }
}
