import ClusterLink
import Crypto
import Foundation
import SwiftASN1
import TLS
import X509

/// Signs certificates of nodes, in a directory of its own that goes with it.
final class Authority: Sendable {
    private let directory: String
    private let key: Certificate.PrivateKey
    private let name: DistinguishedName
    private let caFile: String

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/authority-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        name = try DistinguishedName { CommonName("cluster authority") }
        caFile = directory + "/ca.pem"
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
            notValidBefore: Date() - 3600, notValidAfter: Date() + 86_400, issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            }, issuerPrivateKey: key)
        try Data(certificate.serializeAsPEM().pemString.utf8).write(to: URL(fileURLWithPath: caFile))
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// What a node with such names uses that trusts `trusted`; nil: this authority.
    func issue(commonName: String, dnsNames: [String], trusted: Authority? = nil) throws -> LinkTLS {
        let own = P256.Signing.PrivateKey()
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PrivateKey(own).publicKey, notValidBefore: Date() - 3600,
            notValidAfter: Date() + 86_400, issuer: name, subject: try DistinguishedName { CommonName(commonName) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                if !dnsNames.isEmpty { SubjectAlternativeNames(dnsNames.map { .dnsName($0) }) }
            }, issuerPrivateKey: key)
        let path = directory + "/\(UUID().uuidString)"
        try Data(certificate.serializeAsPEM().pemString.utf8).write(to: URL(fileURLWithPath: path + ".pem"))
        try Data(own.pemRepresentation.utf8).write(to: URL(fileURLWithPath: path + ".key"))
        return try LinkTLS(
            certificateFile: path + ".pem", keyFile: path + ".key", caFile: (trusted ?? self).caFile)
    }
}
