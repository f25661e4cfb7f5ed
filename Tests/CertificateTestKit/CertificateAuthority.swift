/// Signs certificates for tests: P-256 with SHA-256, valid from an hour ago for a day.
public final class CertificateAuthority: Sendable {
    /// The certificate of the authority itself, to be trusted.
    public let certificatePEM: String
    private let name: String
    private let key: SigningKey

    public init(name: String) throws {
        let key = try SigningKey()
        self.name = name
        self.key = key
        certificatePEM = try Certificate(
            subject: name, key: key, issuer: name,
            extensions: [.basicConstraints("critical,CA:TRUE"), .keyUsage("critical,keyCertSign")]
        ).signed(by: key)
    }

    /// A certificate that this authority vouches for, and its key.
    /// - Parameter validSeconds: until when it is valid, from now on; a negative number makes one that has ended.
    public func issue(commonName: String, names: [SubjectName], validSeconds: Int = 86_400) throws -> KeyPair {
        let own = try SigningKey()
        var extensions = [CertificateExtension.basicConstraints("critical,CA:FALSE")]
        if !names.isEmpty { extensions.append(.subjectNames(names)) }
        let certificate = Certificate(
            subject: commonName, key: own, issuer: name, extensions: extensions, validSeconds: validSeconds)
        return KeyPair(certificatePEM: try certificate.signed(by: key), keyPEM: try own.pkcs8())
    }
}

/// A certificate and the key that goes with it.
public struct KeyPair: Sendable {
    public let certificatePEM: String
    /// PKCS #8, without a passphrase.
    public let keyPEM: String

    /// One that vouches for itself, and is to be trusted as it is.
    public static func selfSigned(commonName: String, names: [SubjectName]) throws -> KeyPair {
        let key = try SigningKey()
        let certificate = Certificate(
            subject: commonName, key: key, issuer: commonName,
            extensions: [.basicConstraints("critical,CA:TRUE"), .subjectNames(names)])
        return KeyPair(certificatePEM: try certificate.signed(by: key), keyPEM: try key.pkcs8())
    }
}

/// For whom a certificate is (RFC 5280 §4.2.1.6).
public enum SubjectName: Sendable, Hashable {
    case dns(String)
    case address(String)
}

/// OpenSSL could not make what a test wanted.
public struct CertificateFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
