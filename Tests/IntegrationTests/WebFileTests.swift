import Foundation
import Testing
import WebFiles

extension IntegrationTests {
    /// What the client port serves to browsers.
    @Suite struct WebFileTests {
        private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()

        @Test func `the pages are served with their types and policies, and nothing else is`() async throws {
            try await TestNode.run { node in
                for file in EmbeddedFile.pages {
                    let answer = try await node.page("GET", file.name == "index.html" ? "/" : "/\(file.name)")
                    #expect(answer.status == 200, "\(file.name)")
                    #expect(answer.headers["content-security-policy"]?.contains("default-src 'none'") == true)
                    #expect(answer.headers["content-security-policy"]?.contains("unsafe") == false)
                    let etag = try #require(answer.headers["etag"])
                    #expect(
                        try await node.page(
                            "GET", "/\(file.name == "index.html" ? "" : file.name)", ["If-None-Match": etag]
                        ).status == 304)
                }
                // Content is sent to another node, and shown from there, when this one ends.
                let policy = try await node.page("GET", "/").headers["content-security-policy"]
                for kind in ["img-src", "media-src", "connect-src"] {
                    #expect(policy?.contains("\(kind) 'self' http: https: ") == true, "\(kind)")
                }
                #expect(try await node.page("GET", "/chatroom.js?v=1").status == 200)
                #expect(try await node.page("POST", "/chatroom.js").status == 405)
                for path in ["/index.html", "/chatroom.js/", "/../chatroom.js", "//", "/chatroom", "/console"] {
                    #expect(try await node.page("GET", path).status == 404)
                }
            }
        }

        @Test func `the console is served on the API port, to everybody, and every call of it needs a key`()
            async throws
        {
            try await TestNode.run { node in
                for file in EmbeddedFile.console {
                    let path = file.name == "console.html" ? "/console" : "/console/\(file.name)"
                    let answer = try await node.api("GET", path, bearer: nil)
                    #expect(answer.status == 200, "\(path)")
                    #expect(answer.headers["x-content-type-options"] == "nosniff")
                }
                for path in ["/console/", "/console/none.js", "/console/../v1/stats", "/consoles"] {
                    #expect(try await node.api("GET", path, bearer: nil).status == 404, "\(path)")
                }
                #expect(try await node.api("POST", "/console", "{}", bearer: nil).status == 404)
                #expect(try await node.api("GET", "/v1/figures", bearer: nil).status == 401)
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

        @Test func `the page's ledger counts what came, what was missed and for how long`() async throws {
            guard let program = await Self.nodeProgram() else {
                print("skipped: `node` with WebSocket (20.10 or later) is not installed")
                return
            }
            let test = Self.package.appendingPathComponent("Tests/IntegrationTests/Web/ledger.test.mjs").path
            let end = try await Program(executable: program, [test], environment: [:]).ended()
            #expect(end.status == 0 && end.output.hasSuffix("ok\n"), "\(end.errors)")
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
    /// - Parameter host: nil: the port's own name.
    func page(
        _ method: String, _ target: String, _ headers: [String: String] = [:], host: String? = nil, body: String = ""
    ) async throws -> HTTPAnswer {
        let socket = TestSocket()
        try await socket.open(port: clientPort)
        var text = "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "localhost:\(clientPort)")\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
        await socket.write(Array((text + "\r\n" + body).utf8))
        let answer = try await socket.received("an HTTP answer") { HTTPAnswer.parse($0) }
        await socket.close()
        return answer
    }
}
