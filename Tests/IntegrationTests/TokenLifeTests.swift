import ChatModel
import Cryptography
import CryptographyTestKit
import Foundation
import Testing
import Wire

/// A token's way from `connect` to its end (PROTOCOL.md, "Tokens").
struct TokenLifeTests {
    private static func token(_ user: String = "ann", endsIn seconds: Double, _ claims: [String: Any] = [:]) throws
        -> String
    {
        var token = TestToken()
        token.claims = ["sub": user, "exp": Date().timeIntervalSince1970 + seconds]
        token.claims.merge(claims) { $1 }
        return try token.signed()
    }

    private static func told(_ client: TestClient, from start: Int = 0) async throws -> Int64 {
        try await client.item("the token push", from: start) {
            guard case .push(.token(let push)) = $0 else { return nil }
            return push.expiresInSeconds
        }
    }

    @Test func `a session is told of its token's end, however near that is, and closed then`() async throws {
        try await TestNode.run { node in
            for seconds in [0.4, 2.5] {
                let client = try await TestClient.open(port: node.clientPort)
                let ends = Date().timeIntervalSince1970 + seconds
                try await client.connect(token: Self.token(endsIn: seconds))
                #expect(try await Self.told(client) <= Int64(seconds.rounded(.up)))
                #expect(try await client.closing() == 4401)
                #expect(Date().timeIntervalSince1970 >= ends - 0.002)
            }
        }
    }

    @Test func `refresh keeps the session, tells of the new end, and is for the same user and without skew`()
        async throws
    {
        try await TestNode.run { node in
            let client = try await TestClient.open(port: node.clientPort)
            try await client.connect(token: Self.token(endsIn: 600))
            let other = try Self.token("bob", endsIn: 600)
            #expect(try await client.refusal(of: .refresh(RefreshRequest(token: other))).code == .unauthorized)
            let ended = try Self.token(endsIn: -5)
            #expect(try await client.refusal(of: .refresh(RefreshRequest(token: ended))).code == .unauthorized)
            // Both refusals have changed nothing.
            let start = await client.items.count
            _ = try await client.ask(.refresh(RefreshRequest(token: try Self.token(endsIn: 50)))).get()
            #expect((1...50).contains(try await Self.told(client, from: start)))
            _ = try await client.ask(.refresh(RefreshRequest(token: try Self.token(endsIn: 600)))).get()
            _ = try await client.ask(.refresh(RefreshRequest(token: try Self.token(endsIn: 5)))).get()
            #expect(try await client.closing() == 4401)
        }
    }

    @Test func `thirty seconds of skew hold for exp, nbf and iat when connecting`() async throws {
        try await TestNode.run { node in
            let now = Date().timeIntervalSince1970
            // The clock goes on meanwhile: those two are accepted to the last, and that one is refused from the first.
            let good: [[String: Any]] = [["exp": now - 20], ["nbf": now + 29.99], ["iat": now + 29.99]]
            for claims in good {
                let client = try await TestClient.open(port: node.clientPort)
                try await client.connect(token: Self.token(endsIn: 600, claims))
            }
            let bad: [[String: Any]] = [["exp": now - 30.01], ["nbf": now + 3600], ["iat": now + 3600]]
            for claims in bad {
                let client = try await TestClient.open(port: node.clientPort)
                let token = try Self.token(endsIn: 600, claims)
                #expect(try await client.refusal(of: .connect(ConnectRequest(token: token))).code == .unauthorized)
                #expect(try await client.closing() == 4401)
            }
        }
    }

    @Test func `only a token of an admin key opens the server API, and a role is nothing in any other`() async throws {
        try await TestNode.run { node in
            func status(_ token: TestToken) async throws -> Int {
                try await node.api("GET", "/v1/stats", bearer: token.signed()).status
            }
            var staff = TestToken(kid: "staff", secret: TestNode.adminTokenSecret)
            #expect(try await status(staff) == 200)
            staff.claims["role"] = "ADMIN"
            #expect(try await status(staff) == 200)
            staff.claims["role"] = "admin"
            #expect(try await status(staff) == 401, "there is no such role")
            staff.claims["role"] = "ADMIN"
            staff.claims["exp"] = Date().timeIntervalSince1970 - 30.01
            #expect(try await status(staff) == 401)
            staff = TestToken(kid: "staff")
            #expect(try await status(staff) == 401, "signed with another key than it names")

            var client = TestToken()
            for role in ["admin", "CREATOR", "MANAGER"] {
                client.claims["role"] = role
                #expect(try await status(client) == 401, "\(role)")
                let room = try await node.createRoom("room-of-\(role)")
                let ann = try await TestClient.open(port: node.clientPort)
                try await ann.connect(token: client.signed())
                #expect(try await ann.enter(room).me.role == .guest)
                #expect(
                    try await ann.refusal(of: .muteRoom(MuteRoomRequest(room: room, enable: true))).code == .forbidden)
            }
        }
    }

    @Test func `keys differ by kid, algorithm, use, iss and aud, and are read again at SIGHUP`() async throws {
        let node = try TestNode()
        let signers = [TestSigner(.ES256), TestSigner(.RS256), TestSigner(.EdDSA)]
        let published: [[String: Any]] = signers.map { signer in
            let name = signer.algorithm.rawValue
            return [
                "kid": name, "algorithm": name, "use": "client", "publicKey": signer.publicKeyPEM,
                "iss": "https://login", "aud": "chat",
            ]
        }
        func write(_ more: [[String: Any]]) throws {
            let own: [[String: Any]] = [
                ["kid": "default", "algorithm": "HS256", "use": "client", "secret": TestNode.tokenSecret],
                ["kid": "staff", "algorithm": "HS256", "use": "admin", "secret": TestNode.adminTokenSecret],
            ]
            let all: [String: Any] = [
                "admin": [["id": "admin", "secret": TestNode.adminKey]], "token": own + published + more,
            ]
            try node.write(all, to: node.keysPath, mode: 0o600)
        }
        try write([])
        try await node.create()
        try await node.start()
        func signed(_ signer: TestSigner, _ claims: [String: Any], algorithm: String? = nil) throws -> String {
            var all: [String: Any] = ["sub": "ann", "exp": Date().timeIntervalSince1970 + 600]
            all.merge(claims) { $1 }
            return try signer.token(all, kid: signer.algorithm.rawValue, algorithm: algorithm)
        }
        func isAccepted(_ token: String) async throws -> Bool {
            let client = try await TestClient.open(port: node.clientPort)
            return (try? await client.ask(.connect(ConnectRequest(token: token))).get()) != nil
        }
        for signer in signers {
            func isSignedAccepted(_ claims: [String: Any], algorithm: String? = nil) async throws -> Bool {
                try await isAccepted(signed(signer, claims, algorithm: algorithm))
            }
            #expect(try await isSignedAccepted(["iss": "https://login", "aud": "chat"]))
            #expect(try await isSignedAccepted(["iss": "https://login", "aud": ["other", "chat"]]))
            #expect(try await isSignedAccepted(["iss": "https://other", "aud": "chat"]) == false)
            #expect(try await isSignedAccepted(["aud": "chat"]) == false)
            #expect(try await isSignedAccepted(["iss": "https://login", "aud": "other"]) == false)
            #expect(try await isSignedAccepted(["iss": "https://login", "aud": "chat"], algorithm: "HS256") == false)
        }
        var staff = TestToken(kid: "staff", secret: TestNode.adminTokenSecret)
        #expect(try await isAccepted(staff.signed()) == false)
        staff.kid = "default"
        staff.secret = TestNode.tokenSecret
        #expect(try await isAccepted(staff.signed()))

        let newer = TestToken(kid: "newer", secret: "a secret of a key that comes with SIGHUP")
        #expect(try await isAccepted(newer.signed()) == false)
        try write([["kid": "newer", "algorithm": "HS256", "use": "client", "secret": newer.secret]])
        #expect(try await node.reload().contains("read again"))
        #expect(try await isAccepted(newer.signed()))
        await node.kill()
    }

    @Test func `while an issuer's keys could not be read yet, its tokens get 503 and the client comes again`()
        async throws
    {
        let node = try TestNode()
        var keys = TestNode.keys
        let own = try #require(keys["token"] as? [[String: Any]])
        let sets: [[String: Any]] = ["client", "admin"].map { use in
            // Nobody listens there.
            ["jwksUrl": "https://127.0.0.1:1/keys", "algorithms": ["ES256"], "use": use, "iss": "https://login"]
        }
        keys["token"] = own + sets
        try node.write(keys, to: node.keysPath, mode: 0o600)
        try await node.create()
        try await node.start()
        let token = try TestToken(algorithm: "ES256", kid: "published").signed()
        let client = try await TestClient.open(port: node.clientPort)
        let refusal = try await client.refusal(of: .connect(ConnectRequest(token: token)))
        #expect(refusal.code == .unavailable)
        #expect(try await client.closing() == 4429)
        #expect(try await node.api("GET", "/v1/stats", bearer: token).status == 503)
        // Whom that issuer does not concern comes in.
        let other = try await TestClient.open(port: node.clientPort)
        try await other.connect(token: node.token("ann"))
        #expect(try await node.api("GET", "/v1/stats").status == 200)
        await node.kill()
    }
}
