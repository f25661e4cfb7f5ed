import CertificateTestKit
import EventLoop
import Foundation
import TLS
import Testing
import Transport

/// The end of a connection with TLS, which may have to wait for the handshake.
@Suite struct SealedClosingTests {
    private func serverContext() throws -> TLSContext {
        let path = FileManager.default.temporaryDirectory.path + "/sealed-\(UUID().uuidString)"
        let (certificate, key) = (path + ".pem", path + ".key")
        defer { for file in [certificate, key] { try? FileManager.default.removeItem(atPath: file) } }
        let issued = try CertificateAuthority(name: "authority").issue(commonName: "server", names: [.dns("server")])
        try Data(issued.certificatePEM.utf8).write(to: URL(fileURLWithPath: certificate))
        try Data(issued.keyPEM.utf8).write(to: URL(fileURLWithPath: key))
        return try TLSContext(certificateFile: certificate, keyFile: key)
    }

    private func secure(_ endpoint: Endpoint, with context: TLSContext) async throws {
        let result = await endpoint.run { peer in
            Result { try peer.connection.secure(with: context, output: TLSOutput()) }
        }
        try result.get()
    }

    @Test func `what was written before the end arrives, though the handshake comes later, and nothing after it`()
        async throws
    {
        let (server, client) = (
            try serverContext(), try TLSContext(trusted: nil, serverName: "server", verifies: false)
        )
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            try await secure(pair.server, with: server)
            let block = SharedBytes(copying: pattern(1_000_003))
            let taken = await pair.server.run { peer in
                peer.connection.startReading()
                peer.connection.write(block)
                peer.connection.shutdownThenClose(withinMilliseconds: 600_000)
                // It has ended for its owner, so this changes nothing.
                peer.connection.shutdownThenClose(withinMilliseconds: 0)
                return peer.connection.tryWrite(block)
            }
            #expect(taken == 0)
            try await secure(pair.client, with: client)
            let word = SharedBytes(copying: [1])
            await pair.client.run { peer in
                peer.connection.write(word)
                peer.connection.startReading()
            }
            #expect(await pair.client.closed()?.code == .endOfStream)
            #expect(await pair.client.run { $0.received } == pattern(1_000_003))
            #expect(await pair.server.closed() == nil)
            #expect(await pair.server.run { [$0.drainCount, $0.closeCount, $0.received.count] } == [0, 1, 0])
        }
    }

    @Test func `an end does not wait for ever for a handshake that does not come`() async throws {
        let server = try serverContext()
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            try await secure(pair.server, with: server)
            let bytes = SharedBytes(copying: [1])
            await pair.server.run { peer in
                peer.connection.write(bytes)
                peer.connection.shutdownThenClose(withinMilliseconds: 5)
            }
            #expect(await pair.server.closed() == nil)
            #expect(await pair.client.run { $0.received } == [])
        }
    }
}
