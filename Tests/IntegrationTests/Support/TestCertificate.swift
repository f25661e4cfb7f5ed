import Crypto
import Foundation
import SwiftASN1
import TLS
import X509

/// A certificate of one's own for `localhost` and 127.0.0.1, and what its clients trust.
struct TestCertificate {
    /// With one, the nodes that a test starts speak TLS, and its sockets too.
    @TaskLocal static var current: TestCertificate?

    /// For tests that need just any.
    static let shared = Result { try TestCertificate() }

    let certificatePEM: String
    let keyPEM: String

    init() throws {
        let key = P256.Signing.PrivateKey()
        let signer = Certificate.PrivateKey(key)
        let name = try DistinguishedName { CommonName("localhost") }
        let now = Date()
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: signer.publicKey,
            notValidBefore: now - 3600, notValidAfter: now + 86_400, issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames([
                    .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                ])
            }, issuerPrivateKey: signer)
        certificatePEM = try certificate.serializeAsPEM().pemString
        keyPEM = key.pemRepresentation
    }

    /// Writes both files, the key for its owner only, and names them as the configuration does.
    @discardableResult
    func write(to directory: String, keyMode: Int = 0o600) throws -> [String: Any] {
        let (certificateFile, keyFile) = (directory + "/tls.pem", directory + "/tls-key.pem")
        for (path, text, mode) in [(certificateFile, certificatePEM, 0o644), (keyFile, keyPEM, keyMode)] {
            guard
                FileManager.default.createFile(
                    atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
            else { throw TestFailure("\(path) can't be written") }
        }
        return ["certificateFile": certificateFile, "keyFile": keyFile]
    }

    /// Trusts this certificate and no other.
    func client() throws -> TLSContext {
        let path = FileManager.default.temporaryDirectory.path + "/trust-\(UUID().uuidString).pem"
        guard FileManager.default.createFile(atPath: path, contents: Data(certificatePEM.utf8)) else {
            throw TestFailure("\(path) can't be written")
        }
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try TLSContext(trustFile: path, serverName: "localhost")
    }
}
