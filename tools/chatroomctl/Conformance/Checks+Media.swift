import ControlClient
import FoundationEssentials

/// Content that the cluster stores (PROTOCOL.md, "Media").
extension ConformanceCheck {
    static let media: [ConformanceCheck] = [
        .init("21 Media", "features lists media; what is uploaded and named is read at any node by who is in the room")
        {
            run in
            let room = try await run.room()
            let ann = try await run.connected(run.name("ann"))
            let entered = try await ann.ask("enter", ["room": .text(room)])
            guard let token = entered["media"]?["token"]?.text else { throw Deviation("enter gives no media token") }
            let place = try await ann.ask("upload", run.upload(room))
            let id = place["mediaId"] ?? .null
            try expect(place["method"], is: "PUT", "the method")
            let url = place["url"]?.text ?? ""
            try expect(try await run.transfer("PUT", url, body: run.picture).status == 200, "the PUT was refused")
            try expect(try await run.transfer("PUT", url, body: run.picture).status == 409, "a second PUT was taken")
            let sent = try await ann.ask(
                "send", ["room": .text(room), "clientId": "m", "type": "IMAGE", "media": ["id": id]])
            let shown = try await ann.push("message") { $0["messageId"] == sent["messageId"] }["media"] ?? .null
            let path = "/v1/media/\(room)/\(id.text ?? "")"
            try expect(shown["url"], is: .text(path), "the URL")
            try expect(shown["size"], is: .integer(Int64(run.picture.count)), "the size")
            try expect(shown["contentType"], is: "image/png", "the type")
            let answer = try await run.transfer("GET", "\(path)?token=\(token)")
            try expect(answer.status == 200 && answer.body == run.picture, "the content was answered \(answer.status)")
            for (name, value) in [
                ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
                ("content-security-policy", "sandbox; default-src 'none'"), ("cache-control", "private, max-age=60"),
            ] { try expect(answer.headers[name] == value, "\(name) is \(answer.headers[name] ?? "absent")") }
            let part = try await run.transfer("GET", "\(path)?token=\(token)", [("Range", "bytes=0-3")])
            try expect(part.status == 206 && part.body == Array(run.picture.prefix(4)), "the range is \(part.status)")
            try expect(try await run.transfer("GET", path).status == 401, "it was read without a token")
            try await ann.ask("recall", ["room": .text(room), "messageId": sent["messageId"] ?? .null])
            try expect(
                try await run.transfer("GET", "\(path)?token=\(token)").status == 404, "it was read after the recall")
        },
        .init("21 Media", "another length is 413, other bytes 422, another's content 403, and unknown content 404") {
            run in
            let (room, other) = (try await run.room(), try await run.room())
            let ann = try await run.entered(room, run.name("ann"))
            let bob = try await run.entered(other, run.name("bob"))
            let place = try await ann.ask("upload", run.upload(room))
            let url = place["url"]?.text ?? ""
            try expect(try await run.transfer("PUT", url, body: [1]).status == 413, "too few bytes were taken")
            let digest = String(repeating: "0", count: 64)
            let wrong = try await ann.ask("upload", run.upload(room, ["sha256": .text(digest)]))["url"]?.text ?? ""
            try expect(try await run.transfer("PUT", wrong, body: run.picture).status == 422, "other bytes were taken")
            func naming(_ room: String) -> JSONTree {
                [
                    "room": .text(room), "clientId": "m", "type": "IMAGE", "media": ["id": place["mediaId"] ?? .null],
                ]
            }
            try expect(try await bob.refusal("send", naming(other)), code: 403)
            try expect(try await ann.refusal("send", naming(room)), code: 404)
        },
        .init("21 Media", "an AVATAR is a picture by its type") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            for type: JSONTree in ["text/html", "image/svg+xml", "application/octet-stream"] {
                let asked = run.upload(room, ["kind": "AVATAR", "contentType": type])
                let refusal = try await ann.refusal("upload", asked)
                try expect(refusal, code: 414)
                try expect(refusal["field"], is: "contentType", "the field")
            }
            let place = try await ann.ask("upload", run.upload(room, ["kind": "AVATAR"]))
            try expect(place["method"], is: "PUT", "the method")
        },
        .init("21 Media", "who is kicked reads no more") { run in
            let (room, name) = (try await run.room(), run.name("ann"))
            let ann = try await run.entered(room, name)
            let token = try await ann.ask("mediaToken", ["room": .text(room)])["token"]?.text ?? ""
            let place = try await ann.ask("upload", run.upload(room))
            _ = try await run.transfer("PUT", place["url"]?.text ?? "", body: run.picture)
            try await ann.ask(
                "send",
                ["room": .text(room), "clientId": "m", "type": "IMAGE", "media": ["id": place["mediaId"] ?? .null]])
            let target = "/v1/media/\(room)/\(place["mediaId"]?.text ?? "")?token=\(token)"
            try expect(try await run.transfer("GET", target).status == 200, "it can't be read")
            try await run.done("POST", ["rooms", room, "members", name, "kick"], [:])
            _ = try await ann.push("kicked")
            try expect(try await run.transfer("GET", target).status == 403, "it was read after the kick")
        },
    ]
}

extension ConformanceRun {
    var picture: [UInt8] { [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3] }

    func upload(_ room: String, _ more: [String: JSONTree] = [:]) -> JSONTree {
        let fields: [String: JSONTree] = [
            "room": .text(room), "kind": "IMAGE", "name": "p.png", "contentType": "image/png",
            "size": .integer(Int64(picture.count)),
        ]
        return .object(fields.merging(more) { $1 })
    }

    /// A request to the client port.
    func transfer(_ method: String, _ target: String, _ headers: [(String, String)] = [], body: [UInt8]? = nil)
        async throws -> (status: Int, headers: [String: String], body: [UInt8])
    {
        let connection = ConformanceClient(loop: loop, witness: witness, isRaw: true)
        try await connection.open(host: clientHost, port: clientPort, tls: clientTLS)
        var lines = ["\(method) \(target) HTTP/1.1", "Host: \(clientAuthority)"] + headers.map { "\($0): \($1)" }
        if let body { lines.append("Content-Length: \(body.count)") }
        await connection.write(Array((lines + ["", ""]).joined(separator: "\r\n").utf8) + (body ?? []))
        let answer = try await connection.answer()
        await connection.drop()
        let status = Int(answer.firstLine.split(separator: " ").dropFirst().first ?? "") ?? 0
        return (status, answer.headers, answer.body)
    }
}
