import ChatModel
import Cryptography
import Foundation
import Testing
import Wire

/// Signed requests, the audit, and what the cluster says of its rooms and gateways.
struct OperatingTests {
    /// The headers of a signed request.
    private static func signature(
        _ method: String, _ path: String, query: String = "", body: String = "", time: Int64? = nil,
        nonce: String = UUID().uuidString, secret: String = TestNode.adminKey
    ) -> [String: String] {
        let time = String(time ?? Int64(Date().timeIntervalSince1970 * 1000))
        let hash = Hexadecimal.encode(SHA256.digest(of: Array(body.utf8)))
        let text = [method, path, query, time, nonce, hash].joined(separator: "\n")
        let code = HMACKey(secret.utf8).code(of: Array(text.utf8))
        return [
            "X-Chatroom-Key": "admin", "X-Chatroom-Time": time, "X-Chatroom-Nonce": nonce,
            "X-Chatroom-Signature": Hexadecimal.encode(code),
        ]
    }

    @Test func `a signed request is accepted once, for what it signs, within five minutes`() async throws {
        try await TestNode.run { node in
            let body = #"{"id":"signed","creator":"owner"}"#
            let headers = Self.signature("POST", "/v1/rooms", body: body)
            func call(_ method: String, _ target: String, _ body: String?, _ headers: [String: String]) async throws
                -> Int
            { try await node.api(method, target, body, headers: headers, bearer: nil).status }
            #expect(try await call("POST", "/v1/rooms", body, headers) == 200)
            #expect(try await call("POST", "/v1/rooms", body, headers) == 401, "a nonce works once")
            let query = Self.signature("GET", "/v1/rooms", query: "limit=1&after=")
            #expect(try await call("GET", "/v1/rooms?limit=1&after=", nil, query) == 200)
            #expect(try await call("GET", "/v1/rooms?limit=2", nil, Self.signature("GET", "/v1/rooms")) == 401)
            #expect(try await call("GET", "/v1/stats", nil, Self.signature("PUT", "/v1/stats")) == 401)
            let other = body.replacing("signed", with: "others")
            #expect(try await call("POST", "/v1/rooms", other, Self.signature("POST", "/v1/rooms", body: body)) == 401)
            let wrong = Self.signature("GET", "/v1/stats", secret: "another secret of sufficient length")
            #expect(try await call("GET", "/v1/stats", nil, wrong) == 401)
            var unknown = Self.signature("GET", "/v1/stats")
            unknown["X-Chatroom-Key"] = "nobody"
            #expect(try await call("GET", "/v1/stats", nil, unknown) == 401)
            let sentences = [
                try await node.api("GET", "/v1/stats", headers: wrong, bearer: nil).body,
                try await node.api("GET", "/v1/stats", headers: unknown, bearer: nil).body,
            ]
            #expect(sentences[0] == sentences[1], "nobody without a key hears which there are")
            for (seconds, status) in [(-290, 200), (290, 200), (-301, 401), (310, 401)] as [(Int64, Int)] {
                let now = Int64(Date().timeIntervalSince1970 * 1000)
                let headers = Self.signature("GET", "/v1/stats", time: now + seconds * 1000)
                #expect(try await call("GET", "/v1/stats", nil, headers) == status, "\(seconds) s")
            }
            // Also when the node has been restarted in between.
            let kept = Self.signature("GET", "/v1/stats")
            #expect(try await call("GET", "/v1/stats", nil, kept) == 200)
            await node.kill()
            try await node.start()
            #expect(try await call("GET", "/v1/stats", nil, kept) == 401)
        }
    }

    @Test func `the audit has every changing call, done or refused, newest first, over a restart, without secrets`()
        async throws
    {
        try await TestNode.run { node in
            try await node.createRoom("live")
            #expect(try await node.api("POST", "/v1/rooms", #"{"id":"live","creator":"o"}"#).status == 409)
            #expect(try await node.api("DELETE", "/v1/rooms/live", bearer: "not the secret key").status == 401)
            _ = try await node.api("GET", "/v1/rooms")
            try await #expect(node.stop()?.status == 0)
            try await node.start()
            let answer = try await node.api("GET", "/v1/audit?limit=2")
            #expect(!answer.body.contains(TestNode.adminKey) && !answer.body.contains("not the secret key"))
            let items = try #require(try answer.fields()["items"] as? [[String: Any]])
            #expect(items.map { $0["status"] as? Int } == [401, 409])
            #expect(items.map { $0["administrator"] as? String } == [nil, "admin"])
            #expect(items.map { $0["error"] as? Int } == [401, 409])
            #expect(items.map { $0["path"] as? String } == ["/v1/rooms/live", "/v1/rooms"])
            #expect(items.allSatisfy { $0["address"] as? String == "127.0.0.1" })
            let next = try #require(try answer.fields()["next"] as? String)
            let rest = try await node.api("GET", "/v1/audit?limit=2&after=\(next)").fields()
            #expect((rest["items"] as? [[String: Any]])?.map { $0["status"] as? Int } == [200])
            #expect(rest["next"] == nil)
            #expect(try await node.api("GET", "/v1/audit?after=x").status == 400)
        }
    }

    @Test func `without advertiseUrl clients are told the port that they can reach, and nothing behind a proxy`()
        async throws
    {
        for (settings, isTold) in [([:], true), (["trustedProxies": ["127.0.0.1"]], false)] as [([String: Any], Bool)] {
            try await TestNode.run(settings) { node in
                try await node.createRoom("live")
                let expected = isTold ? ["ws://127.0.0.1:\(node.clientPort)/v1/ws"] : []
                let address = try await node.api("GET", "/v1/rooms/live/address?clientIp=192.0.2.1&clientType=web")
                #expect(try address.fields()["gateways"] as? [String] == expected)
                let nodes = try await node.api("GET", "/v1/cluster").fields()["nodes"] as? [[String: Any]]
                #expect(nodes?.first?["gateways"] as? [String] == expected)
                let ann = try await TestClient.open(port: node.clientPort)
                #expect(try await ann.connect(token: node.token("ann")).gateways == expected)
            }
        }
    }

    @Test func `rooms by people come in pages, each room once`() async throws {
        try await TestNode.run { node in
            for (name, people) in [("one", 1), ("three", 3), ("two", 2), ("also-one", 1)] {
                let room = try await node.createRoom(name)
                for number in 0..<people { try await TestClient.connected(node, "user\(number)").enter(room) }
            }
            var names: [String] = []
            var after = ""
            repeat {
                let page = try await node.api("GET", "/v1/rooms?sort=online&limit=1\(after)").fields()
                names += (page["rooms"] as? [[String: Any]])?.compactMap { $0["id"] as? String } ?? []
                after = (page["next"] as? String).map { "&after=\($0)" } ?? ""
            } while !after.isEmpty && names.count < 10
            #expect(names.prefix(2) == ["three", "two"] && Set(names.dropFirst(2)) == ["one", "also-one"])
            #expect(names.count == 4)
            let wrong = try await node.api("GET", "/v1/rooms?sort=online&after=live")
            #expect(wrong.status == 400 && wrong.body.contains(#""field":"after""#))
        }
    }
}
