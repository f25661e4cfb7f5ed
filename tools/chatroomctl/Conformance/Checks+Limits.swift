import ControlClient
import FoundationEssentials

/// The numbers of PROTOCOL.md that stand in no other list of checks: the largest value that is taken, and one more.
extension ConformanceCheck {
    private static func letters(_ count: Int) -> JSONTree { .text(String(repeating: "a", count: count)) }

    /// A field at its limit is taken, and one byte more is 413 and names the field.
    private static func limit(
        _ client: ConformanceClient, _ operation: String, _ base: JSONTree, field: String, bytes: Int,
        within object: String? = nil
    ) async throws {
        func fields(_ count: Int) -> JSONTree {
            let field: JSONTree = .object([field: letters(count)])
            guard let object else { return base.adding(field) }
            return base.adding(.object([object: (base[object] ?? [:]).adding(field)]))
        }
        let error = try await client.refusal(operation, fields(bytes + 1))
        try expect(error, code: 413)
        try expect(
            error["field"]?.text?.hasSuffix(field) == true,
            "\(operation): the field is \(error["field"]?.line ?? "absent")")
        // A message is sent as another one.
        let unique: JSONTree = operation == "send" ? ["clientId": .text("\(field)-fits")] : [:]
        try await client.ask(operation, fields(bytes).adding(unique))
    }

    static let limits: [ConformanceCheck] = [
        .init("2 Limits", "a request's id is 1 to 4294967295; any other is malformed, and so is a second operation") {
            run in
            let client = try await run.connected(run.name("ann"))
            await client.write(text: #"{"id":4294967295,"ping":{}}"#)
            try expect(try await client.reply(to: 4_294_967_295)["ping"] != nil, "the largest id was refused")
            let malformed = [
                #"{"id":0,"ping":{}}"#, #"{"id":4294967296,"ping":{}}"#, #"{"id":-1,"ping":{}}"#,
                #"{"id":1.5,"ping":{}}"#, #"{"id":"8","ping":{}}"#,
            ]
            for (count, text) in malformed.enumerated() {
                await client.write(text: text)
                try await client.ask("ping")
                let errors = await client.items.filter { $0["id"] == nil && $0["error"] != nil }
                try expect(errors.count == count + 1, "\(text) was not answered with one error without id")
                if let error = errors.last?["error"] { try expect(error, code: 400) }
            }
            await client.write(text: #"{"id":900,"ping":{},"room":{"room":"r"}}"#)
            try expect(try await client.reply(to: 900)["error"] ?? .null, code: 400)
        },
        .init("1", "names have 1-64 bytes of the alphabet, and are not . or ..") { run in
            let base = run.name("") + "_.@:#|+~!$-"
            let longest = base + String(repeating: "Z", count: 64 - base.utf8.count)
            let room = try await run.done("POST", ["rooms"], ["id": .text(longest), "creator": .text(longest)])
            try expect(room["id"], is: .text(longest), "id")
            let client = try await run.connected(longest)
            try expect(
                try await client.ask("enter", ["room": .text(longest)])["me"]?["role"], is: "CREATOR", "the role")
            try await run.done("DELETE", ["rooms", longest])
            try await run.refused(
                "POST", ["rooms"], ["id": .text(longest + "Z"), "creator": "c"], status: 413, code: 413)
            try expect(try await client.refusal("enter", ["room": .text(longest + "Z")]), code: 413)
            for name in ["", ".", "..", "a b", "a/b", "é", "a\u{0}"] {
                try await run.refused(
                    "POST", ["rooms"], ["id": .text(name), "creator": "c"], status: 400, code: 414)
                try expect(try await client.refusal("enter", ["room": .text(name)]), code: 414)
            }
        },
        .init("2 Limits", "updateRoom: name 512 bytes, announcement 16 KB, ext 4096, broadcastUrl 1 KB; else 413") {
            run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let client = try await run.entered(room, creator)
            for (field, bytes) in [
                ("name", 512), ("announcement", 16 * 1024), ("ext", 4096), ("broadcastUrl", 1024),
            ] {
                try await limit(
                    client, "updateRoom", ["room": .text(room), "notify": false], field: field, bytes: bytes,
                    within: "set")
            }
        },
        .init("2 Limits", "updateMe: nick 256 bytes, avatar 1 KB, ext 4096; else 413") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            for (field, bytes) in [("nick", 256), ("avatar", 1024), ("ext", 4096)] {
                try await limit(
                    client, "updateMe", ["room": .text(room), "notify": false], field: field, bytes: bytes,
                    within: "set")
            }
        },
        .init("2 Limits", "media.url, LOCATION title, COMBINE title and summary 1 KB, TIP 32 KB; else 413") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let id = try await client.send(room, "one")["messageId"] ?? .null
            func head(_ type: String, _ more: JSONTree) -> JSONTree {
                (["room": .text(room), "clientId": "over", "type": .text(type)] as JSONTree).adding(more)
            }
            let file: JSONTree = ["media": ["url": "u", "name": "n", "size": 1, "contentType": "c"]]
            let combine = head("COMBINE", ["title": "t", "summary": "s", "messageIds": [id]])
            try await limit(client, "send", head("FILE", file), field: "url", bytes: 1024, within: "media")
            try await limit(
                client, "send", head("LOCATION", ["latitude": 1, "longitude": 1]), field: "title", bytes: 1024)
            try await limit(client, "send", combine, field: "summary", bytes: 1024)
            try await limit(client, "send", head("TIP", [:]), field: "text", bytes: 32 * 1024)
            let other = try await run.entered(room, run.name("bob"))
            try await limit(other, "send", combine, field: "title", bytes: 1024)
        },
        .init("2 Limits", "COMBINE takes 100 messages; 101 are 414") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let id = try await client.send(room, "one")["messageId"] ?? .null
            func combine(_ count: Int) -> JSONTree {
                [
                    "room": .text(room), "clientId": "c", "type": "COMBINE", "title": "t", "summary": "s",
                    "messageIds": .array((1...count).map { _ in id }),
                ]
            }
            try expect(try await client.refusal("send", combine(101)), code: 414)
            let sent = try await client.ask("send", combine(100))
            let copies = try await client.ask(
                "combined", ["room": .text(room), "messageId": sent["messageId"] ?? .null])
            try expect(copies["messages"]?.items.count == 100, "there are not 100 copies")
        },
        .init("2 Limits", "queueSetMany: keys 128 bytes, values 4096, 100 of them; else 413, 413, 414") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            func many(_ values: [String: JSONTree]) -> JSONTree {
                ["room": .text(room), "values": .object(values)]
            }
            func text(_ count: Int) -> String { String(repeating: "q", count: count) }
            func numbered(_ count: Int) -> [String: JSONTree] {
                Dictionary(uniqueKeysWithValues: (1...count).map { ("k\($0)", "v") })
            }
            try expect(try await client.refusal("queueSetMany", many([text(129): "v"])), code: 413)
            try expect(try await client.refusal("queueSetMany", many(["k": letters(4097)])), code: 413)
            try expect(try await client.refusal("queueSetMany", many(numbered(101))), code: 414)
            let fits = try await client.ask("queueSetMany", many([text(128): letters(4096)]))
            try expect(fits["missing"], is: [.text(text(128))], "missing")
            try expect(
                try await client.ask("queueSetMany", many(numbered(100)))["missing"]?.items.count == 100,
                "not all of 100 keys are missing")
        },
        .init("2 Limits", "notifyExt up to 2048 bytes in every operation that has it; one more is 413") { run in
            let (creator, target) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let user: JSONTree = ["user": .text(target)]
            let operations: [(String, JSONTree)] = [
                ("updateRoom", ["set": ["name": "N"]]), ("updateMe", ["set": ["nick": "N"]]),
                ("setManager", user.adding(["enable": true])), ("setManager", user.adding(["enable": false])),
                ("setMember", user.adding(["enable": false])), ("setMute", user.adding(["enable": true])),
                ("tempMute", user.adding(["seconds": 60])), ("kick", user.adding(["banSeconds": 60])),
                ("setBlacklist", user.adding(["enable": true])), ("muteRoom", ["enable": true]),
                ("queueSet", ["key": "k", "value": "v"]), ("queueSetMany", ["values": ["k": "w"]]),
                ("queueTake", [:]), ("queueClear", [:]),
            ]
            // Two sessions, so that no rate is met.
            for (count, code) in [(2049, 413 as Int64?), (2048, nil)] {
                let client = try await run.entered(room, creator)
                for (operation, fields) in operations {
                    let request = fields.adding(["room": .text(room), "notifyExt": letters(count)])
                    if let code {
                        let error = try await client.refusal(operation, request)
                        try expect(error, code: code)
                        try expect(error["field"], is: "notifyExt", "\(operation): field")
                    } else {
                        try await client.ask(operation, request)
                    }
                }
            }
        },
        .init("2 Limits", "banSeconds up to 30 days; one second more is 414") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let longest: Int64 = 30 * 86_400
            func kick(_ seconds: Int64) -> JSONTree {
                ["room": .text(room), "user": .text(user), "banSeconds": .integer(seconds)]
            }
            try expect(try await owner.refusal("kick", kick(longest + 1)), code: 414)
            try expect(try await owner.refusal("kick", kick(-1)), code: 414)
            try await owner.ask("kick", kick(longest))
            try expect(
                try await run.connected(user).refusal("enter", ["room": .text(room)]), code: 13003, waits: true)
        },
        .init("2 Limits", "pages have 50 entries unless asked otherwise, of the queue 100; limit is 1-100") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            let robots = (1...50).map { JSONTree.text("robot-\($0)") }
            try await run.done("POST", ["rooms", room, "robots"], ["robots": .array(robots)])
            for number in 1...101 {
                try await run.done("PUT", ["rooms", room, "queue", "k\(number)"], ["value": "v"])
            }
            let history = try await client.ask("history", ["room": .text(room)])
            try expect(history["messages"]?.items.count == 50 && history["more"] == true, "history has another page")
            let members = try await client.ask("members", ["room": .text(room), "kind": "TEMPORARY"])
            try expect(members["members"]?.items.count == 50 && members["next"] != nil, "members has another page")
            let rest = try await client.ask(
                "members", ["room": .text(room), "kind": "TEMPORARY", "after": members["next"] ?? .null])
            try expect(rest["members"]?.items.count == 1 && rest["next"] == nil, "the last page of members is another")
            let queue = try await client.ask("queue", ["room": .text(room)])
            try expect(queue["elements"]?.items.count == 100 && queue["next"] != nil, "queue has another page")
            let last = try await client.ask("queue", ["room": .text(room), "after": queue["next"] ?? .null])
            try expect(
                last["elements"]?.items.compactMap { $0["key"]?.text } == ["k101"] && last["next"] == nil,
                "the last page of the queue is another")
            for limit: JSONTree in [0, 101] {
                try expect(try await client.refusal("queue", ["room": .text(room), "limit": limit]), code: 414)
            }
            for limit: JSONTree in [1, 100] {
                let page = try await client.ask("queue", ["room": .text(room), "limit": limit])
                try expect(page["elements"]?.items.count == Int(limit.integer ?? 0), "limit \(limit.line) is ignored")
            }
        },
        .init("2 Resume", "exactly 100 missed messages come at once, without missedMore") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let viewer = try await run.connected(run.name("bob"))
            let first = try await viewer.ask("enter", ["room": .text(room)])
            try await viewer.ask("exit", ["room": .text(room)])
            for number in 1...100 {
                try await run.done("POST", ["rooms", room, "messages"], ["type": "TEXT", "text": .text("m\(number)")])
            }
            let answer = try await viewer.ask(
                "enter", ["room": .text(room), "since": first["seq"] ?? .null, "epoch": first["epoch"] ?? .null])
            try expect(answer["recovered"], is: true, "recovered")
            try expect(answer["missed"]?.items.count == 100, "\(answer["missed"]?.items.count ?? 0) were missed")
            try expect(answer["missedMore"] != true, "missedMore is said, though nothing is left")
        },
        .init("2 Roles", "at most 100 managers; one more is 414") { run in
            let room = try await run.room()
            func role(_ number: Int) -> [String] { ["rooms", room, "members", "manager-\(number)", "role"] }
            for number in 1...100 { try await run.done("PUT", role(number), ["role": "MANAGER"]) }
            try await run.refused("PUT", role(101), ["role": "MANAGER"], status: 400, code: 414)
            try await run.done("PUT", role(1), ["role": "NORMAL"])
            try await run.done("PUT", role(101), ["role": "MANAGER"])
        },
    ]
}
