import ChatModel
import Foundation
import TLS
import Testing
import Wire

extension IntegrationTests {
    /// TLS on the client port and on the API port.
    @Suite struct TLSTests {
        private func withTLS(_ body: (TestCertificate) async throws -> Void) async throws {
            let certificate = try TestCertificate()
            try await TestCertificate.$current.withValue(certificate) { try await body(certificate) }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `people chat over TLS as without`(_ encoding: ClientEncoding) async throws {
            try await withTLS { _ in
                try await TestNode.run(["loops": 2], encoding: encoding) { node in
                    let room = try await node.createRoom("secret", creator: "ann")
                    let ann = try await TestClient.connected(node, "ann")
                    let bob = try await TestClient.connected(node, "bob")
                    try await ann.enter(room)
                    try await bob.enter(room)
                    // Over several records, and more than the system takes at once.
                    let texts = (1...40).map { "\($0) " + String(repeating: "x", count: 32_000) }
                    for text in texts { _ = await ann.begin(.text(room, text)) }
                    try await bob.message(texts[39])
                    #expect(await bob.texts(of: room) == texts)
                    let page = try await bob.wholeHistory(room)
                    #expect(page.compactMap(\.text) == texts)
                    try await ann.drop()
                    let back = try await TestClient.connected(node, "ann", session: ann.session)
                    try await back.enter(room)
                }
            }
        }

        @Test func `a slow reader over TLS is told what it was not given`() async throws {
            try await withTLS { _ in
                try await SlowReaderTests().`a slow reader is told exactly what it was not given`(.json)
            }
        }

        @Test func `what is no TLS is cut, and nobody notices`() async throws {
            try await withTLS { certificate in
                try await TestNode.run { node in
                    let room = try await node.createRoom("steady")
                    let ann = try await TestClient.connected(node, "ann")
                    try await ann.enter(room)
                    let plain = "GET /v1/ws HTTP/1.1\r\n" + HostileInputTests.upgrade + "\r\n"
                    let noise = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 3) }
                    let hello: [UInt8] = [0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3] + noise.prefix(194)
                    // All at once: some are cut only when the time to connect is over.
                    var noisy: [TestSocket] = []
                    for bytes in [Array(plain.utf8), noise, hello, [0x80, 0x2E, 1], [0x16, 3, 1, 0xFF, 0xFF]] {
                        let socket = TestSocket()
                        try await socket.open(port: node.clientPort, tls: nil)
                        await socket.write(bytes)
                        noisy.append(socket)
                    }
                    // Silence, half a record, and a handshake whose request never comes.
                    var silent: [TestSocket] = []
                    for bytes in [[], [0x16, 3, 1]] as [[UInt8]] {
                        let socket = TestSocket()
                        try await socket.open(port: node.clientPort, tls: nil)
                        await socket.write(bytes)
                        silent.append(socket)
                    }
                    let half = TestSocket()
                    try await half.open(port: node.clientPort)
                    await half.write(Array("GET /v1/ws HTTP/1.1\r\n".utf8))
                    silent.append(half)
                    // Whatever comes is an alert at most.
                    for socket in noisy { #expect(try await socket.receivedUntilClosed().count < 100) }
                    for socket in silent { #expect(try await socket.receivedUntilClosed().isEmpty) }
                    try await ann.send(room, "steady")
                    try await ann.message("steady")
                    // Somebody else's certificate is not this node's.
                    let wrong = TestSocket()
                    try await wrong.open(port: node.clientPort, tls: TestCertificate().client())
                    await wrong.write(Array(plain.utf8))
                    #expect(try await wrong.receivedUntilClosed().isEmpty)
                }
            }
        }

        @Test func `TLS before 1_2 is refused`() async throws {
            try await withTLS { _ in
                try await TestNode.run { node in
                    for minor in [1, 2] as [UInt8] {
                        let socket = TestSocket()
                        try await socket.open(port: node.clientPort, tls: nil)
                        let body: [UInt8] =
                            [3, minor] + [UInt8](repeating: 7, count: 32) + [0, 0, 4, 0xC0, 0x13, 0, 0x2F, 1, 0]
                        let hello: [UInt8] = [1, 0, 0, UInt8(body.count)] + body
                        await socket.write([0x16, 3, 1, 0, UInt8(hello.count)] + hello)
                        // A fatal alert: protocol_version (RFC 8446 §6.2).
                        let answer = try await socket.receivedUntilClosed()
                        #expect(answer.first == 0x15 && answer.suffix(2) == [2, 70])
                    }
                }
            }
        }

        @Test func `SIGHUP takes another certificate without a break`() async throws {
            try await withTLS { certificate in
                try await TestNode.run { node in
                    let room = try await node.createRoom("renewed")
                    let ann = try await TestClient.connected(node, "ann")
                    try await ann.enter(room)
                    let next = try TestCertificate()
                    // A key of another certificate is no reason to stop.
                    try Data(next.keyPEM.utf8).write(to: URL(fileURLWithPath: node.directory + "/tls-key.pem"))
                    #expect(try await node.reload().contains("stay as they were"))
                    try await TestClient.connected(node, "bob").enter(room)
                    try next.write(to: node.directory)
                    #expect(try await node.reload().contains("read again"))
                    try await TestSocket.$standardTLS.withValue(next.client()) {
                        let carl = try await TestClient.connected(node, "carl")
                        try await carl.enter(room)
                        try await ann.send(room, "still here")
                        try await carl.message("still here")
                        #expect(try await node.api("GET", "/healthz").status == 200)
                    }
                    let old = TestSocket()
                    try await old.open(port: node.clientPort, tls: certificate.client())
                    await old.write([0])
                    #expect(try await old.receivedUntilClosed().isEmpty)
                }
            }
        }

        @Test func `the API port speaks TLS and nothing else`() async throws {
            try await withTLS { _ in
                try await TestNode.run { node in
                    #expect(try await node.api("GET", "/readyz").status == 200)
                    let plain = TestSocket()
                    try await plain.open(port: node.apiPort, tls: nil)
                    await plain.write(Array("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
                    let answer = try await plain.receivedUntilClosed()
                    #expect(!String(decoding: answer, as: UTF8.self).contains("HTTP/1.1 200"))
                }
                // Where it is told not to: for tools on the same machine.
                try await TestNode.run(["api": ["port": 0, "tls": false]]) { node in
                    let plain = TestSocket()
                    try await plain.open(port: node.apiPort, tls: nil)
                    await plain.write(Array("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
                    let answer = try await plain.receivedUntilClosed()
                    #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
                }
            }
        }

        @Test func `chatroomctl speaks TLS with whom it trusts, and tells the key to nobody else`() async throws {
            try await withTLS { certificate in
                try await TestNode.run { node in
                    func run(_ arguments: [String]) async throws -> (status: Int32, output: String, errors: String) {
                        try await Program(
                            "chatroomctl", ["rooms", "list"] + arguments,
                            environment: ["CHATROOM_ADMIN_KEY": TestNode.adminKey, "HOME": "/tmp"]
                        ).ended()
                    }
                    try await node.createRoom("secret")
                    let own = node.directory + "/tls.pem"
                    for host in ["127.0.0.1", "localhost"] {
                        let end = try await run(["--server", "https://\(host):\(node.apiPort)", "--ca-file", own])
                        #expect(end.status == 0 && end.output.contains("secret"), "\(end.errors)")
                    }
                    // Not one of the system's roots.
                    let untrusted = try await run(["--server", "https://127.0.0.1:\(node.apiPort)"])
                    #expect(untrusted.status == 3 && untrusted.errors.contains("not trusted"), "\(untrusted.errors)")
                    let plain = try await run(["--server", "127.0.0.1:\(node.apiPort)"])
                    #expect(plain.status == 3, "\(plain.errors)")
                    let noFile = try await run(["--server", "https://127.0.0.1:1", "--ca-file", "/nowhere"])
                    #expect(noFile.status == 2 && noFile.errors.contains("/nowhere"))
                    #expect(!(untrusted.errors + plain.errors).contains(TestNode.adminKey))
                }
            }
        }
    }
}
