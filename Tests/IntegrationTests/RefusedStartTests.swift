import Foundation
import Testing

extension IntegrationTests {
    /// A node that cannot run says why, in a sentence, and exits with a status that is not 0.
    @Suite struct RefusedStartTests {
        /// Runs the program to its end, which must be a refusal that says `words`.
        private func expectRefusal(_ node: TestNode, create: Bool = false, _ words: String...) async throws {
            let program = try Program("chatroomd", ["--config", node.configPath] + (create ? ["--create"] : []))
            defer { program.signal(SIGKILL) }
            // A node that starts after all would never end.
            let line = try await program.errorLine { $0.hasPrefix("chatroomd: ") || $0.contains("node is serving") }
            let message = try #require(line, "no sentence in: \(program.errors)")
            try #require(message.hasPrefix("chatroomd: "), "it started")
            let end = try await program.ended()
            #expect(end.status > 0 && end.status < 128, "\(end.errors)")
            for word in words { #expect(message.contains(word), "\(message)") }
            #expect(!end.errors.contains(TestNode.tokenSecret) && !end.errors.contains(TestNode.adminKey))
        }

        @Test func `without data it says how to create a cluster`() async throws {
            try await expectRefusal(try TestNode(), "does not exist", "--create")
        }

        @Test func `a cluster is created once`() async throws {
            let node = try TestNode()
            try await node.create()
            try await expectRefusal(node, create: true, "exists already")
            try await node.start()
            await node.kill()
        }

        @Test func `files of a shard that are gone are not taken for an empty shard`() async throws {
            let node = try TestNode(["log": ["checkpointSeconds": 1]])
            try await node.create()
            try await node.start()
            let room = try await node.createRoom("r")
            let ann = try await TestClient.entered(node, "ann", room)
            for number in 1...20 { try await ann.send(room, "\(number)") }
            _ = try await node.stop()
            try FileManager.default.removeItem(atPath: node.dataPath + "/shards")
            try await expectRefusal(node, "files of shard", "missing or older than the log")
        }

        @Test func `a directory with something else in it is not taken`() async throws {
            let node = try TestNode()
            try FileManager.default.createDirectory(atPath: node.dataPath, withIntermediateDirectories: true)
            try await expectRefusal(node, create: true, "exists already")
            try await expectRefusal(node, "did not finish")
        }

        @Test(arguments: ["client", "api"]) func `a taken port is named`(_ listener: String) async throws {
            try await TestNode.run { other in
                // The API port of the other node: taken by a socket that does not share it.
                let node = try TestNode([listener: ["port": other.apiPort]])
                try await node.create()
                try await expectRefusal(node, "\(listener == "api" ? "API" : listener) port", "\(other.apiPort)")
            }
        }

        @Test func `a node whose port is taken does not join`() async throws {
            try await TestNode.run { other in
                let node = try TestNode(["api": ["port": other.apiPort], "link": ["seeds": ["127.0.0.1:1"]]])
                try await expectRefusal(node, "api.port can't be used", "\(other.apiPort)")
                #expect(!FileManager.default.fileExists(atPath: node.dataPath))
            }
        }

        @Test(arguments: [SIGTERM, SIGINT]) func `a node that no seed answers ends when it is told to`(signal: Int32)
            async throws
        {
            let node = try TestNode(["link": ["seeds": ["127.0.0.1:1"]]])
            var keys = TestNode.keys
            keys["cluster"] = [["secret": "a secret that only these tests know, and nobody else"]]
            try node.write(keys, to: node.keysPath, mode: 0o600)
            let program = try Program("chatroomd", ["--config", node.configPath])
            defer { program.signal(SIGKILL) }
            _ = try await program.errorLine(containing: "no seed answers yet", after: 0)
            program.signal(signal)
            let end = try await program.ended()
            #expect(end.status == 0, "\(end.errors)")
            #expect(end.errors.contains("while it joined"))
        }

        @Test func `two nodes do not share one client port`() async throws {
            try await TestNode.run { other in
                let node = try TestNode(["client": ["port": other.clientPort]])
                try await node.create()
                try await expectRefusal(node, "client port", "\(other.clientPort)")
            }
        }

        @Test func `two nodes do not share one data directory`() async throws {
            try await TestNode.run { node in
                try await expectRefusal(node, "log")
                #expect(try await node.api("GET", "/readyz").status == 200)
            }
        }

        @Test func `keys that others can read are refused`() async throws {
            let node = try TestNode()
            try await node.create()
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: node.keysPath)
            try await expectRefusal(node, "keys file", "owner only")
        }

        @Test(arguments: [
            (#"{"unheard": 1}"#, "unheard"), (#"{"session": {"graceSecond": 1}}"#, "session.graceSecond"),
            (#"{"loops": 0}"#, "loops"), (#"{"loops": "many"}"#, "loops"),
            (#"{"client": {"port": 70000}}"#, "client.port"),
            (#"{"client": {"host": "0.0.0.0", "port": 0}}"#, "TLS"),
            (#"{"api": {"host": "0.0.0.0", "port": 0}}"#, "TLS"),
            (#"{"probes": {"host": "0.0.0.0", "port": 0}}"#, "probes.host 0.0.0.0"),
            (#"{"limits": {"bufferBytes": 1000}}"#, "limits.bufferBytes"),
            (#"{"log": {"format": "xml"}}"#, "log.format"),
            (#"{"tls": {"certificateFile": "a"}}"#, "tls.keyFile"),
            (#"{"tls": {"keyFile": "a"}}"#, "tls.certificateFile"),
            (#"{"tls": {"certificateFile": "/none", "keyFile": "/none"}}"#, "/none"),
            (#"{"advertiseUrl": "http://a"}"#, "advertiseUrl"), (#"{"trustedProxies": ["a"]}"#, "trustedProxies"),
            (#"{"demo": true, "proxyTerminatesTls": true}"#, "proxyTerminatesTls must be false"),
            (#"{"demo": true, "trustedProxies": ["127.0.0.1"]}"#, "trustedProxies must be empty"),
            (#"{"demo": true, "advertiseUrl": "wss://chat.example/v1/ws"}"#, "advertiseUrl must name 127.0.0.1"),
            (#"{"demo": true, "advertiseUrl": "ws://127.0.0.1.chat.example"}"#, "advertiseUrl must name 127.0.0.1"),
            (#"{"limits": {"connectionsPerUser": 0}}"#, "limits.connectionsPerUser"),
            (#"{"link": {"host": "0.0.0.0"}}"#, "link.host"),
            (#"{"link": {"tls": {"caFile": "a"}}}"#, "link.tls.keyFile"),
            (#"{"nodeId": "a b"}"#, "nodeId"),
            (#"{"client": {"port": 7999}, "api": {"port": 7999}}"#, "client.port and api.port are both 7999"),
        ])
        func `a wrong setting is named`(_ settings: String, _ word: String) async throws {
            let object = try JSONSerialization.jsonObject(with: Data(settings.utf8)) as? [String: Any]
            try await expectRefusal(try TestNode(try #require(object)), word)
        }

        @Test func `a certificate that can't be used is named`() async throws {
            let (one, two) = (try TestCertificate(), try TestCertificate())
            let node = try TestNode()
            func expect(_ words: String...) async throws {
                try node.rewrite {
                    $0["tls"] = [
                        "certificateFile": node.directory + "/tls.pem", "keyFile": node.directory + "/tls-key.pem",
                    ]
                }
                for word in words { try await expectRefusal(node, word) }
            }
            try one.write(to: node.directory, keyMode: 0o644)
            try await expect("owner only")
            try one.write(to: node.directory)
            try Data(two.keyPEM.utf8).write(to: URL(fileURLWithPath: node.directory + "/tls-key.pem"))
            try await expect("tls-key.pem is not that of the certificate")
            try Data("nonsense".utf8).write(to: URL(fileURLWithPath: node.directory + "/tls.pem"))
            try await expect("tls.pem can't be used, it must be PEM")
            try FileManager.default.removeItem(atPath: node.directory + "/tls.pem")
            try await expect("No such file or directory")
            try one.write(to: node.directory)
            try node.rewrite { $0["advertiseUrl"] = "ws://127.0.0.1/v1/ws" }
            try await expect("wss://")
        }

        @Test func `with TLS it may listen to all`() async throws {
            try await TestCertificate.$current.withValue(TestCertificate()) {
                let all: [String: Any] = ["host": "0.0.0.0", "port": 0]
                try await TestNode.run(["client": all, "api": all]) { node in
                    #expect(try await node.api("GET", "/readyz").status == 200)
                    _ = try await TestClient.connected(node, "ann")
                }
                let settings: [String: Any] = ["api": ["host": "0.0.0.0", "port": 0, "tls": false]]
                try await expectRefusal(try TestNode(settings), "api.host")
            }
        }

        @Test func `behind a proxy that terminates TLS it may listen to all`() async throws {
            let settings: [String: Any] = ["client": ["host": "0.0.0.0", "port": 0], "proxyTerminatesTls": true]
            try await TestNode.run(settings) { node in
                #expect(try await node.api("GET", "/readyz").status == 200)
                _ = try await TestClient.connected(node, "ann")
            }
        }
    }
}
