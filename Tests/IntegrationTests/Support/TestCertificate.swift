import CertificateTestKit
import Foundation
import TLS

/// A certificate of one's own for `localhost` and 127.0.0.1, and what its clients trust.
struct TestCertificate {
    /// With one, the nodes that a test starts speak TLS, and its sockets too.
    @TaskLocal static var current: TestCertificate?

    /// For tests that need just any.
    static let shared = Result { try TestCertificate() }

    let certificatePEM: String
    let keyPEM: String

    init() throws {
        let own = try KeyPair.selfSigned(
            commonName: "localhost", names: [.dns("localhost"), .address("127.0.0.1")])
        (certificatePEM, keyPEM) = (own.certificatePEM, own.keyPEM)
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

    /// What a server needs of it.
    func server() throws -> TLSContext {
        let directory = FileManager.default.temporaryDirectory.path + "/server-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try write(to: directory)
        return try TLSContext(certificateFile: directory + "/tls.pem", keyFile: directory + "/tls-key.pem")
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
