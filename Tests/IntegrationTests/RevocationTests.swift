import ChatModel
import Foundation
import Testing
import Wire

/// Revoking, forcing offline, and what else the server API does to sessions.
struct RevocationTests {
    private static func issue(_ node: TestNode, _ user: String) async throws -> String {
        let answer = try await node.api("POST", "/v1/users/\(user)/token", "{}")
        guard let token = try answer.fields()["token"] as? String else { throw TestFailure("no token: \(answer)") }
        return token
    }

    private static func connected(_ node: TestNode, _ token: String) async throws -> TestClient {
        let client = try await TestClient.open(port: node.clientPort)
        try await client.connect(token: token)
        return client
    }

    private static func isAccepted(_ node: TestNode, _ token: String) async throws -> Bool {
        let client = try await TestClient.open(port: node.clientPort)
        return (try? await client.ask(.connect(ConnectRequest(token: token))).get()) != nil
    }

    private static func kick(of client: TestClient, from room: RoomID) async throws -> KickReason {
        try await client.item("kicked from \(room)") {
            guard case .push(.kicked(let push)) = $0, push.room == room else { return nil }
            return push.reason
        }
    }

    @Test func `a revoked user is out of all rooms with reason 6, closed with 4401, and in again with a later token`()
        async throws
    {
        try await TestNode.run { node in
            let one = try await node.createRoom("one")
            let two = try await node.createRoom("two")
            let bob = try await TestClient.connected(node, "bob")
            try await bob.enter(one)
            let old = try await Self.issue(node, "ann")
            let ann = try await Self.connected(node, old)
            try await ann.enter(one)
            try await ann.enter(two)
            let set = QueueSetRequest(room: one, key: "seat", value: "v", transient: true)
            _ = try await ann.ask(.queueSet(set)).get()

            #expect(try await node.api("POST", "/v1/users/ann/revoke").status == 200)
            #expect(try await Self.kick(of: ann, from: one) == .tokenRevoked)
            #expect(try await Self.kick(of: ann, from: two) == .tokenRevoked)
            #expect(try await ann.closing() == 4401)
            try await bob.notification(.exit, of: "ann")
            // The seat goes at once, long before the grace ends.
            _ = try await bob.item("320") { item -> Bool? in
                guard case .push(.message(let message)) = item else { return nil }
                return message.notification?.event == .queueBatchChanged ? true : nil
            }
            #expect(try await Self.isAccepted(node, old) == false)
            let later = try await Self.issue(node, "ann")
            #expect(try await Self.isAccepted(node, later))
            #expect(await bob.closeCode == nil)

            // Over a restart too.
            await node.kill()
            try await node.start()
            #expect(try await Self.isAccepted(node, old) == false)
            #expect(try await Self.isAccepted(node, later))
        }
    }

    @Test func `tokens with whole seconds and without iat are refused where they may be older`() async throws {
        try await TestNode.run { node in
            let answer = try await node.api("POST", "/v1/users/ann/revoke")
            guard let time = try answer.fields()["revokedAt"] as? Int else { throw TestFailure("\(answer)") }
            func token(_ claims: [String: Any]) throws -> String {
                var token = TestToken()
                token.claims.merge(claims) { $1 }
                return try token.signed()
            }
            #expect(try await Self.isAccepted(node, token([:])) == false)
            #expect(try await Self.isAccepted(node, token(["iat": time / 1000])) == false)
            #expect(try await Self.isAccepted(node, token(["iat": time / 1000 + 1])))
            #expect(try await Self.isAccepted(node, token(["iat": Double(time) / 1000])) == false)
            #expect(try await Self.isAccepted(node, token(["iat": Double(time + 1) / 1000])))
            #expect(try await Self.isAccepted(node, token(["sub": "bob"])))
        }
    }

    @Test func `sessions are listed, told directly, told with everybody, and ended one by one`() async throws {
        try await TestNode.run { node in
            let room = try await node.createRoom("live")
            let ann = try await TestClient.connected(node, "ann")
            try await ann.enter(room)
            let other = try await TestClient.connected(node, "ann")
            let bob = try await TestClient.connected(node, "bob")

            let direct = try await node.api(
                "POST", "/v1/users/ann/messages", #"{"type":"TEXT","text":"you","sender":"staff"}"#)
            #expect(try direct.fields()["sessions"] as? Int == 2)
            for client in [ann, other] {
                let message = try await client.item("direct") { item -> Message? in
                    guard case .push(.direct(let message)) = item else { return nil }
                    return message
                }
                #expect(message.text == "you" && message.from?.user.text == "staff")
                #expect(message.room == nil && message.place == .outside)
            }
            let key = ["Idempotency-Key": "b"]
            let all = try await node.api("POST", "/v1/broadcast", #"{"type":"TEXT","text":"all"}"#, headers: key)
            #expect(try all.fields()["sessions"] as? Int == 3)
            let repeated = try await node.api("POST", "/v1/broadcast", #"{"type":"TEXT","text":"all"}"#, headers: key)
            #expect(repeated.body == all.body)
            for client in [ann, other, bob] {
                let from = try await client.item("broadcast") { item -> Sender?? in
                    guard case .push(.broadcast(let message)) = item else { return nil }
                    return .some(message.from)
                }
                #expect(from == nil)
                _ = try await client.ask(.ping).get()
                let count = await client.items.count { if case .push(.broadcast) = $0 { true } else { false } }
                #expect(count == 1)
            }
            #expect(await bob.items.contains { if case .push(.direct) = $0 { true } else { false } } == false)

            let listed = try await node.api("GET", "/v1/users/ann/sessions").fields()["sessions"] as? [[String: Any]]
            #expect(listed?.count == 2)
            #expect(listed?.first?["rooms"] as? [String] == ["live"])
            #expect(listed?.first?["address"] as? String == "127.0.0.1")
            let page = try await node.api("GET", "/v1/sessions?limit=2").fields()
            let next = try #require(page["next"] as? String)
            let rest = try await node.api("GET", "/v1/sessions?limit=2&after=\(next)").fields()
            #expect((rest["sessions"] as? [Any])?.count == 1 && rest["next"] == nil)
            #expect(
                (try await node.api("GET", "/v1/sessions?slow=true").fields()["sessions"] as? [Any])?.isEmpty == true)

            let id = try #require(await other.session)
            #expect(try await node.api("DELETE", "/v1/sessions/\(id)").status == 200)
            #expect(try await other.closing() == 4403)
            #expect(try await node.api("DELETE", "/v1/sessions/\(id)").status == 404)
            let stats = try await node.api("GET", "/v1/stats").fields()
            #expect(stats["sessions"] as? Int == 2 && stats["users"] as? Int == 2 && stats["online"] as? Int == 1)

            // Put offline, the user has left at once, long before the grace ends.
            try await bob.enter(room)
            #expect(try await node.api("POST", "/v1/users/ann/offline").fields()["sessions"] as? Int == 1)
            #expect(try await ann.closing() == 4403)
            try await bob.notification(.exit, of: "ann")
            #expect(try await node.api("POST", "/v1/users/nobody/offline").fields()["sessions"] as? Int == 0)
        }
    }
}
