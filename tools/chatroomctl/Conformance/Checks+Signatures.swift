import ControlClient
import FoundationEssentials

/// Signed requests (PROTOCOL.md, "Signed requests").
extension ConformanceCheck {
    /// A call signed by an app server that knows only the admin key.
    private struct SignedCall {
        var key: String
        var keyID: String
        var method = "POST"
        var path: String
        var query = ""
        var time = ConformanceRun.now
        var nonce: String
        var body: JSONTree

        var headers: [String: String] {
            let digest = AuthenticationCode.hex(AuthenticationCode.sha256(Array(body.line.utf8)))
            let text = [method, path, query, String(time), nonce, digest].joined(separator: "\n")
            let code = AuthenticationCode.hmacSHA256(key: Array(key.utf8), Array(text.utf8))
            return [
                "X-Chatroom-Key": keyID, "X-Chatroom-Time": String(time), "X-Chatroom-Nonce": nonce,
                "X-Chatroom-Signature": AuthenticationCode.hex(code),
            ]
        }
    }

    /// The call, after the ID of the admin key was read where calls are recorded.
    private static func call(_ run: ConformanceRun, _ room: String, _ text: String) async throws -> SignedCall {
        try await run.done("PUT", ["rooms", room, "queue", "signed"], ["value": "v"])
        let item = try await audited(run, path: "/v1/rooms/\(room)/queue/signed", count: 1)
        guard let keyID = item.first?["administrator"]?.text else { throw Deviation("the audit names no key") }
        return SignedCall(
            key: try run.adminKey, keyID: keyID, path: "/v1/rooms/\(room)/messages", nonce: run.name("nonce"),
            body: ["type": "TEXT", "text": .text(text)])
    }

    private static func status(_ run: ConformanceRun, _ call: SignedCall, sent body: JSONTree? = nil) async throws
        -> Int
    {
        let target = call.path + (call.query.isEmpty ? "" : "?" + call.query)
        let answer = try await run.plain(call.method, target, body: body ?? call.body, headers: call.headers)
        if answer.status == 401 { try expect(answer.error, code: 401) }
        return answer.status
    }

    static let signatures: [ConformanceCheck] = [
        .init("4", "a signed request is done; its nonce works once: again it is 401") { run in
            let room = try await run.room()
            let signed = try await call(run, room, "signed")
            let answer = try await run.plain(signed.method, signed.path, body: signed.body, headers: signed.headers)
            try expect((200..<300).contains(answer.status), "it was answered \(answer.status) \(answer.body.line)")
            try expect(answer.body["seq"]?.integer != nil, "the answer is \(answer.body.line)")
            try expect(try await status(run, signed) == 401, "the same nonce works twice")
            // With its query, which is signed apart from the path.
            var read = signed
            (read.method, read.query, read.nonce) = ("GET", "limit=1&types=TEXT", run.name("nonce"))
            let target = "\(read.path)?\(read.query)"
            read.body = .null
            var headers = read.headers
            headers["X-Chatroom-Signature"] = signature(of: read, bytes: [])
            let page = try await run.plain("GET", target, headers: headers)
            try expect(page.status == 200, "a signed GET was answered \(page.status) \(page.body.line)")
            try expect(page.body["messages"]?.items.count == 1, "it was kept twice: \(page.body.line)")
        },
        .init("4", "a signed request is 401 with another body, method, path or query, or more than 5 minutes off") {
            run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let good = try await call(run, room, "wrong")
            func fresh(_ change: (inout SignedCall) -> Void = { _ in }) -> SignedCall {
                var call = good
                call.nonce = run.name("nonce")
                change(&call)
                return call
            }
            let other: JSONTree = ["type": "TEXT", "text": "another"]
            try expect(try await status(run, fresh(), sent: other) == 401, "another body was taken")
            for seconds: Int64 in [-301, 301] {
                // One that lies ahead gets nearer while it is on its way.
                let time = ConformanceRun.now + (seconds > 0 ? seconds + 10 : seconds) * 1000
                try expect(try await status(run, fresh { $0.time = time }) == 401, "\(seconds) s off was taken")
            }
            for (path, method, query) in [
                (good.path + "/x", "POST", ""), (good.path, "PUT", ""), (good.path, "POST", "a=b"),
            ] {
                let signed = fresh { ($0.path, $0.method, $0.query) = (path, method, query) }
                let answer = try await run.plain("POST", good.path, body: good.body, headers: signed.headers)
                try expect(answer.status == 401, "a signature of \(method) \(path)?\(query) was taken")
            }
            try expect(
                try await status(run, fresh { $0.key += "x" }) == 401, "a signature with another secret was taken")
            let page = try await run.done("GET", ["rooms", room, "messages"], query: [("types", "TEXT")])
            try expect(page["messages"]?.items.isEmpty == true, "one of them was done: \(page.line)")
            // So that nothing else was the reason.
            try expect((200..<300).contains(try await status(run, fresh())), "a right one is refused")
        },
    ]

    /// The signature of a call whose body is not JSON.
    private static func signature(of call: SignedCall, bytes: [UInt8]) -> String {
        let digest = AuthenticationCode.hex(AuthenticationCode.sha256(bytes))
        let text = [call.method, call.path, call.query, String(call.time), call.nonce, digest].joined(separator: "\n")
        return AuthenticationCode.hex(AuthenticationCode.hmacSHA256(key: Array(call.key.utf8), Array(text.utf8)))
    }
}
