import ControlClient
import FoundationEssentials

/// Tokens that an app has signed itself (PROTOCOL.md, "Tokens").
extension ConformanceCheck {
    /// The error with which a token is refused, and the close behind it.
    private static func isRefused(_ run: ConformanceRun, _ token: String, _ what: String) async throws {
        let client = try await run.open()
        let reply = try await client.reply(to: client.begin("connect", ["token": .text(token)]))
        guard let error = reply["error"] else { throw Deviation("\(what) was taken") }
        try expect(error, code: 401)
        try expect(try await client.closing() == 4401, "\(what): the close code is another")
    }

    private static func isTaken(_ run: ConformanceRun, _ token: String, _ what: String) async throws {
        let client = try await run.open()
        let reply = try await client.reply(to: client.begin("connect", ["token": .text(token)]))
        try expect(reply["connect"]?["session"] != nil, "\(what) was refused: \(reply.line)")
    }

    /// Unix seconds.
    private static var now: Int64 { ConformanceRun.now / 1000 }

    static let signedTokens: [ConformanceCheck] = [
        .init("3", "a token that the app has signed itself connects, with its nick and avatar") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let token = try run.signed(user, ["nick": "Ann", "avatar": "https://a"])
            let client = try await run.open()
            try expect(
                try await client.ask("connect", ["token": .text(token.text)])["user"], is: .text(user), "the user")
            let me = try await client.ask("enter", ["room": .text(room)])["me"]
            try expect(me?["nick"], is: "Ann", "me.nick")
            try expect(me?["avatar"], is: "https://a", "me.avatar")
        },
        .init("3", "an algorithm other than its key's, none, and an unknown kid are refused") { run in
            let good = try run.signed(run.name("ann"))
            for header: JSONTree in [
                ["alg": "HS512"], ["alg": "none"], ["alg": "None"], ["alg": "RS256"], ["kid": "no-such-key"],
                ["kid": .text((good.header["kid"]?.text ?? "") + " ")], ["alg": ""],
            ] {
                var token = good
                token.header = good.header.adding(header)
                try await isRefused(run, token.text, "a token with \(header.line)")
                var parts = token.text.split(separator: ".").map(String.init)
                parts[2] = ""
                try await isRefused(run, parts.joined(separator: "."), "an unsigned token with \(header.line)")
            }
            var parts = good.text.split(separator: ".").map(String.init)
            parts[1] = SignedToken.base64URL(Array(good.claims.adding(["sub": "other"]).line.utf8))
            try await isRefused(run, parts.joined(separator: "."), "a token that was changed")
        },
        .init("3", "role is honoured only from an admin key: a client key's token is 401 at the server API") { run in
            for claims: JSONTree in [[:], ["role": "ADMIN"], ["role": "READ"]] {
                let token = try run.signed(run.name("ann"), claims).text
                let headers = ["Authorization": "Bearer \(token)"]
                let answer = try await run.plain("GET", "/v1/rooms", headers: headers)
                try expect(answer.status == 401, "\(claims.line) was answered HTTP \(answer.status)")
                try expect(answer.error, code: 401)
            }
        },
        .init("3", "30 s of clock skew are allowed when connecting: at exp and at nbf") { run in
            let user = run.name("ann")
            // Time that passes until the node looks makes a token older; so the accepted ones have a second or two to
            // spare.
            try await isRefused(run, try run.signed(user, ["exp": .integer(now - 31)]).text, "one expired 31 s ago")
            try await isTaken(run, try run.signed(user, ["exp": .integer(now - 27)]).text, "one expired 27 s ago")
            try await isTaken(run, try run.signed(user, ["nbf": .integer(now + 29)]).text, "one valid in 29 s")
            try await isRefused(run, try run.signed(user, ["nbf": .integer(now + 35)]).text, "one valid in 35 s")
        },
        .init("3", "a lifetime over 366 days is refused at connect, 366 days are taken") { run in
            let user = run.name("ann")
            let day: Int64 = 86_400
            let long = try run.signed(user, ["iat": .integer(now), "exp": .integer(now + 367 * day)]).text
            try await isRefused(run, long, "one of 367 days")
            try await isRefused(run, try run.signed(user, ["exp": .integer(now + 367 * day)]).text, "one without iat")
            let most = try run.signed(user, ["iat": .integer(now), "exp": .integer(now + 366 * day)]).text
            try await isTaken(run, most, "one of 366 days")
        },
        .init("3", "a token of exactly 4 KB is taken") { run in
            guard let token = try run.signed(run.name("ann")).text(bytes: 4096) else {
                throw Deviation("this check cannot make one")
            }
            try expect(token.utf8.count == 4096, "this check made one of \(token.utf8.count) bytes")
            try await isTaken(run, token, "it")
        },
        .init("3", "claims of another kind are refused: rooms that is no list, exp that is no number, no sub, no exp") {
            run in
            let user = run.name("ann")
            for claims: JSONTree in [
                ["rooms": "live-1"], ["rooms": ["a b"]], ["rooms": [1]], ["exp": "tomorrow"], ["sub": ""], ["sub": 7],
                ["nick": 7],
            ] { try await isRefused(run, try run.signed(user, claims).text, "a token with \(claims.line)") }
            for claim in ["sub", "exp"] {
                var token = try run.signed(user)
                guard case .object(var claims) = token.claims else { continue }
                claims[claim] = nil
                token.claims = .object(claims)
                try await isRefused(run, token.text, "a token without \(claim)")
            }
        },
        .init("3", "a token with rooms, signed by the app, enters only those") { run in
            let (named, other) = (try await run.room(), try await run.room())
            let token = try run.signed(run.name("ann"), ["rooms": [.text(named)]]).text
            let client = try await run.open()
            try await client.ask("connect", ["token": .text(token)])
            try await client.ask("enter", ["room": .text(named)])
            try expect(try await client.refusal("enter", ["room": .text(other)]), code: 403)
        },
    ]

    static let tokenEnds: [ConformanceCheck] = [
        .init(
            "3", "at exp, within 1 s and without skew, a session without a refresh is closed with 4401", pace: .waiting
        ) {
            run in
            let client = try await run.open()
            let witness = try await run.connected(run.name("bob"))
            let end = now + 4
            let issued = try await run.done("POST", ["users", run.name("ann"), "token"], ["ttlSeconds": 4])
            // The node's clock says when.
            let expires = issued["expiresAt"]?.integer ?? end * 1000
            let before = ConformanceRun.now
            let time = try await witness.ask("ping")["time"]?.integer ?? 0
            let ahead = time - (before + ConformanceRun.now) / 2
            try await client.ask("connect", ["token": issued["token"] ?? .null])
            try expect(try await client.closing() == 4401, "the close code is another")
            let late = ConformanceRun.now + ahead - expires
            // How long a word takes to this machine, as slow as it is.
            let asked = ContinuousClock.now
            try await witness.ask("ping")
            let way = Int64((ContinuousClock.now - asked) / .milliseconds(1))
            try expect(late >= -50, "it was closed \(-late) ms before exp")
            try expect(late <= 1000 + 2 * way + 50, "it was closed \(late) ms after exp; a ping takes \(way) ms")
        },
        .init("3", "a refresh before exp keeps the session open beyond it", pace: .waiting) { run in
            let user = run.name("ann")
            let client = try await run.connected(user, claims: ["ttlSeconds": 4])
            let answer = try await client.ask("refresh", ["token": .text(try await run.token(user))])
            try expect((answer["expiresAt"]?.integer ?? 0) > ConformanceRun.now + 60_000, "expiresAt: \(answer.line)")
            // The wait shows that it is not closed at the former exp, nor a little later.
            try await Task.sleep(for: .seconds(7))
            try await client.ask("ping")
        },
        .init("3", "refresh with another user's token, or one that is none, is refused, and the session lives on") {
            run in
            let client = try await run.connected(run.name("ann"))
            let other = try await run.token(run.name("bob"))
            for token: JSONTree in [.text(other), "not.a.token"] {
                try expect(try await client.refusal("refresh", ["token": token]), code: 401)
            }
            try await client.ask("ping")
        },
        .init("3", "a revoked user is out within 1 s on every node: reason 6, 4401") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            var clients: [ConformanceClient] = []
            for node in run.nodes.indices.prefix(3) {
                let client = try await run.connected(user, node: node)
                // One room each: a newer session puts an older one out.
                let own = node == 0 ? room : try await run.room()
                try await client.ask("enter", ["room": .text(own)])
                clients.append(client)
            }
            let asked = ContinuousClock.now
            try await clients[0].ask("ping")
            let way = (ContinuousClock.now - asked) / .seconds(1)
            let began = ContinuousClock.now
            try await run.done("POST", ["users", user, "revoke"])
            for client in clients {
                try expect(try await client.push("kicked")["reason"], is: 6, "the reason")
                try expect(try await client.closing() == 4401, "the close code is another")
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(seconds <= 1 + 4 * way, "the last one was out after \(seconds) s; a ping takes \(way) s")
        },
    ]
}
