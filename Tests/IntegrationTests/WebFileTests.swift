import Foundation
import Testing

extension IntegrationTests {
    /// What the client port serves to browsers.
    @Suite struct WebFileTests {
        /// The files as they are edited, and where they are served.
        private static let files = [
            ("index.html", "/"), ("demo.js", "/demo.js"), ("chatroom.js", "/chatroom.js"),
        ]

        private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()

        private static func text(_ name: String) throws -> String {
            try String(contentsOf: package.appendingPathComponent("Sources/Gateway/Web/\(name)"), encoding: .utf8)
        }

        @Test func `they are served with their types, and nothing else is`() async throws {
            try await TestNode.run { node in
                for (name, path) in Self.files {
                    let answer = try await node.page("GET", path)
                    #expect(answer.status == 200)
                    #expect(try answer.body == Self.text(name))
                }
                #expect(try await node.page("GET", "/chatroom.js?v=1").status == 200)
                #expect(try await node.page("POST", "/chatroom.js").status == 405)
                for path in ["/index.html", "/chatroom.js/", "/../chatroom.js", "//", "/chatroom"] {
                    #expect(try await node.page("GET", path).status == 404)
                }
            }
        }

        @Test func `the browser SDK works with Node, also against a node that is killed and comes back`() async throws {
            guard let program = await Self.nodeProgram() else {
                print("skipped: `node` with WebSocket (20.10 or later) is not installed")
                return
            }
            try await TestNode.run { node in
                try await node.createRoom("browser")
                let portFile = node.directory + "/port"
                try "\(node.clientPort)".write(toFile: portFile, atomically: true, encoding: .utf8)
                let environment = [
                    "NODE_PORT_FILE": portFile, "ROOM": "browser", "TOKEN_ANN": try node.token("ann"),
                    "TOKEN_BOB": try node.token("bob"),
                ]
                let test = Self.package.appendingPathComponent("Tests/IntegrationTests/Web/chatroom.test.mjs").path
                let run = try Program(
                    executable: program, ["--experimental-websocket", test], environment: environment)
                if try await run.errorLine(where: { $0 == "RESTART" }) != nil {
                    await node.kill()
                    try await node.start()
                    try "\(node.clientPort)".write(toFile: portFile, atomically: true, encoding: .utf8)
                }
                let end = try await run.ended()
                #expect(end.status == 0 && end.output.hasSuffix("ok\n"), "\(end.errors)")
            }
        }

        /// Node of a version that has WebSocket, if it is installed.
        private static func nodeProgram() async -> URL? {
            for directory in ["/usr/bin", "/usr/local/bin", "/bin"] {
                let url = URL(fileURLWithPath: directory).appendingPathComponent("node")
                guard FileManager.default.isExecutableFile(atPath: url.path) else { continue }
                let probe = ["--experimental-websocket", "-e", "process.exit(globalThis.WebSocket ? 0 : 1)"]
                let end = try? await Program(executable: url, probe, environment: [:]).ended()
                if end?.status == 0 { return url }
            }
            return nil
        }
    }
}

extension TestNode {
    /// Asks the client port for a page.
    func page(_ method: String, _ target: String) async throws -> HTTPAnswer {
        let socket = TestSocket()
        try await socket.open(port: clientPort)
        await socket.write(Array("\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        let answer = try await socket.received("an HTTP answer") { HTTPAnswer.parse($0) }
        await socket.close()
        return answer
    }
}
