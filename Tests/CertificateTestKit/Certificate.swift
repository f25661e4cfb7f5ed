internal import COpenSSL

/// A certificate that is to be signed (RFC 5280, version 3).
struct Certificate {
    var subject: String
    var key: SigningKey
    var issuer: String
    var extensions: [CertificateExtension]
    var validSeconds = 86_400

    /// The certificate in PEM, signed with the issuer's key.
    func signed(by issuerKey: SigningKey) throws -> String {
        guard let certificate = X509_new() else { throw CertificateFailure("no memory for a certificate") }
        defer { X509_free(certificate) }
        X509_set_version(certificate, Int(X509_VERSION_3))
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1...UInt64(Int64.max)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), min(0, validSeconds) - 3600)
        X509_gmtime_adj(X509_getm_notAfter(certificate), validSeconds)
        try set(subject, on: X509_get_subject_name(certificate))
        try set(issuer, on: X509_get_issuer_name(certificate))
        guard X509_set_pubkey(certificate, key.pointer) == 1 else { throw CertificateFailure("the key does not fit") }
        for wanted in extensions {
            guard let made = X509V3_EXT_conf_nid(nil, nil, wanted.number, wanted.text) else {
                throw CertificateFailure("no extension can be made of \(wanted.text)")
            }
            defer { X509_EXTENSION_free(made) }
            X509_add_ext(certificate, made, -1)
        }
        guard X509_sign(certificate, issuerKey.pointer, EVP_sha256()) > 0 else {
            throw CertificateFailure("the certificate of \(subject) can't be signed")
        }
        return try pem { PEM_write_bio_X509($0, certificate) }
    }

    private func set(_ commonName: String, on name: OpaquePointer?) throws {
        let text = Array(commonName.utf8)
        guard X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, Int32(text.count), -1, 0) == 1 else {
            throw CertificateFailure("\(commonName) can't be a common name")
        }
    }
}

/// An extension, in the words of OpenSSL's configuration files (x509v3_config(5)).
struct CertificateExtension {
    var number: Int32
    var text: String

    static func basicConstraints(_ text: String) -> CertificateExtension {
        CertificateExtension(number: NID_basic_constraints, text: text)
    }

    static func keyUsage(_ text: String) -> CertificateExtension {
        CertificateExtension(number: NID_key_usage, text: text)
    }

    static func subjectNames(_ names: [SubjectName]) -> CertificateExtension {
        let texts = names.map { name in
            switch name {
            case .dns(let name): "DNS:\(name)"
            case .address(let address): "IP:\(address)"
            }
        }
        return CertificateExtension(number: NID_subject_alt_name, text: texts.joined(separator: ","))
    }
}

/// A private key on P-256.
///
/// Invariant behind `@unchecked Sendable`: the key is not changed after `init`, and OpenSSL may read it on all threads.
final class SigningKey: @unchecked Sendable {
    let pointer: OpaquePointer

    init() throws {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            EVP_PKEY_keygen(context, &key) == 1, let key
        else { throw CertificateFailure("no key can be made") }
        pointer = key
    }

    deinit { EVP_PKEY_free(pointer) }

    func pkcs8() throws -> String {
        try pem { PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil) }
    }
}

/// The text that `write` writes; 1 is its success.
private func pem(_ write: (OpaquePointer) -> Int32) throws -> String {
    guard let memory = BIO_new(BIO_s_mem()) else { throw CertificateFailure("no memory for a text") }
    defer { BIO_free(memory) }
    guard write(memory) == 1 else { throw CertificateFailure("no PEM can be written") }
    var text = [UInt8](repeating: 0, count: 16_384)
    let count = BIO_read(memory, &text, Int32(text.count))
    guard count > 0, count < text.count else { throw CertificateFailure("no PEM can be read") }
    return String(decoding: text.prefix(Int(count)), as: UTF8.self)
}
