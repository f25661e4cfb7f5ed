import CertificateTestKit
import NodeLink
import Foundation

/// Signs certificates of nodes, in a directory of its own that goes with it.
final class Authority: Sendable {
    private let directory: String
    private let authority: CertificateAuthority
    private let caFile: String

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/authority-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        authority = try CertificateAuthority(name: "cluster authority")
        caFile = directory + "/ca.pem"
        try Data(authority.certificatePEM.utf8).write(to: URL(fileURLWithPath: caFile))
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// What a node with such names uses that trusts `trusted`; nil: this authority.
    func issue(commonName: String, dnsNames: [String], trusted: Authority? = nil) throws -> LinkTLS {
        let own = try authority.issue(commonName: commonName, names: dnsNames.map { .dns($0) })
        let path = directory + "/\(UUID().uuidString)"
        try Data(own.certificatePEM.utf8).write(to: URL(fileURLWithPath: path + ".pem"))
        try Data(own.keyPEM.utf8).write(to: URL(fileURLWithPath: path + ".key"))
        return try LinkTLS(
            certificateFile: path + ".pem", keyFile: path + ".key", caFile: (trusted ?? self).caFile)
    }
}
