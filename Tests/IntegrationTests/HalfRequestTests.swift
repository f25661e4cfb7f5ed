import Foundation
import Testing
import WaitTestKit

extension IntegrationTests {
    /// The server API's port beside connections that never send a whole request.
    @Suite struct HalfRequestTests {
        @Test(arguments: [
            "GET /v1/rooms HTTP/1.1\r\nHost: h\r\n", "POST /v1/rooms HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
        ])
        func `1,050 half requests silence neither API nor probes nor metrics`(_ text: String) async throws {
            let probes = try FreePort.take(1)[0]
            try await TestNode.run(["probes": ["port": probes]]) { node in
                var sockets: [TestSocket] = []
                for _ in 0..<1_050 {
                    let socket = TestSocket()
                    try await socket.open(port: node.apiPort)
                    await socket.write(Array(text.utf8))
                    sockets.append(socket)
                }
                let begin = ContinuousClock.now
                try await node.createRoom("r")
                for path in ["/healthz", "/readyz", "/metrics"] {
                    #expect(try await node.api("GET", path, bearer: nil).status == 200)
                    #expect(try await get(path, port: probes) == 200)
                }
                #expect(try await get("/v1/rooms", port: probes) == 404)
                // Less than the ten seconds after which the half requests are cut: the calls did not wait for that. They
                // take milliseconds, so a slow machine has enough time.
                #expect(ContinuousClock.now - begin < .seconds(9))
                for socket in sockets { await socket.close() }
            }
        }

        private func get(_ path: String, port: Int) async throws -> Int {
            let socket = TestSocket()
            try await socket.open(port: port)
            await socket.write(Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
            let answer = try await socket.received("an answer of the probes") { HTTPAnswer.parse($0) }
            await socket.close()
            return answer.status
        }
    }
}
