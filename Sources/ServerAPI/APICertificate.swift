import NIOCore
import NIOSSL
import Synchronization

/// The certificate of the API port; it can be renewed while the server runs, for connections that come.
public final class APICertificate: Sendable {
    private struct Material: Sendable {
        var chain: [NIOSSLCertificateSource]
        var key: NIOSSLPrivateKeySource
    }

    private let material: Mutex<Material>

    /// - Parameters:
    ///   - certificateFile: PEM, the server's certificate first, then those that lead to its root.
    ///   - keyFile: PEM, without a passphrase.
    public init(certificateFile: String, keyFile: String) throws(ServerAPIError) {
        material = Mutex(try Self.load(certificateFile, keyFile))
    }

    /// Puts the certificate and key of `other` in the place of the present ones.
    public func renew(from other: APICertificate) {
        let new = other.material.withLock { $0 }
        material.withLock { $0 = new }
    }

    private static func load(_ certificateFile: String, _ keyFile: String) throws(ServerAPIError) -> Material {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
            let key = try NIOSSLPrivateKey(file: keyFile, format: .pem)
            return Material(chain: chain.map { .certificate($0) }, key: .privateKey(key))
        } catch {
            throw ServerAPIError(
                code: .certificate, message: "the certificate \(certificateFile) or its key can't be used: \(error)")
        }
    }

    /// TLS 1.2 and 1.3; each handshake takes the certificate that is in force then.
    var configuration: TLSConfiguration {
        let now = material.withLock { $0 }
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: now.chain, privateKey: now.key)
        configuration.minimumTLSVersion = .tlsv12
        configuration.sslContextCallback = { [self] _, promise in
            let now = material.withLock { $0 }
            var changes = NIOSSLContextConfigurationOverride()
            changes.certificateChain = now.chain
            changes.privateKey = now.key
            promise.succeed(changes)
        }
        return configuration
    }
}
