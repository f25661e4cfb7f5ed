import FoundationEssentials
import Wire

/// What holds for calls of the server API as a whole (contract, section 4).
extension ConformanceCheck {
    static let serverRules: [ConformanceCheck] = [
        .init("4", "13003 is HTTP 403, and retryAfterMs is also the header Retry-After, in seconds") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            try await run.done("POST", ["rooms", room, "members", user, "kick"], ["banSeconds": 600])
            let answer = try await run.raw("POST", ["rooms", room, "robots"], ["robots": [.text(user)]])
            try expect(answer.firstLine.contains(" 403 "), "the answer is \(answer.firstLine)")
            let error = try JSONTree(parsing: Data(answer.body))["error"] ?? .null
            try expect(error, code: 13003, waits: true)
            let seconds = answer.headers["retry-after"].flatMap { Int64($0) } ?? 0
            let wanted = ((error["retryAfterMs"]?.integer ?? 0) + 999) / 1000
            try expect(abs(seconds - wanted) <= 1, "Retry-After is \(answer.headers["retry-after"] ?? "absent")")
        },
        .init("4", "mutes, a muted room and slow mode do not hold; sender need not be in the room") { run in
            let (user, room) = (run.name("ann"), try await run.room(["slowModeSeconds": 600]))
            let viewer = try await run.entered(room, run.name("bob"))
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": true])
            try await run.done("PUT", ["rooms", room, "mute"], ["enable": true])
            for text in ["one", "two"] {
                let body: JSONTree = ["sender": .text(user), "type": "TEXT", "text": .text(text)]
                try await run.done("POST", ["rooms", room, "messages"], body)
                try expect(try await viewer.message(text)["from"]?["user"], is: .text(user), "from.user")
            }
            try await run.done("POST", ["rooms", room, "barrage"], ["sender": .text(user), "text": "whoosh"])
            try await viewer.push("barrage") { $0["items"]?.items.contains { $0["text"] == "whoosh" } == true }
        },
        .init("4", "the limits are those of the client protocol: a FILE over 100 MB is 413") { run in
            let room = try await run.room()
            func file(_ size: Int64) -> JSONTree {
                ["type": "FILE", "media": ["url": "u", "name": "n", "size": .integer(size), "contentType": "c"]]
            }
            try await run.refused("POST", ["rooms", room, "messages"], file(100 << 20 + 1), status: 413, code: 413)
            try await run.done("POST", ["rooms", room, "messages"], file(100 << 20))
            let long = String(repeating: "n", count: 513)
            try await run.refused("PATCH", ["rooms", room], ["name": .text(long)], status: 413, code: 413)
            try await run.refused(
                "PUT", ["rooms", room, "queue", "k"], ["value": .text(String(repeating: "v", count: 4097))],
                status: 413, code: 413)
        },
        .init("4 messages", "recall {user, since} takes back what is not older than since, in one 323") { run in
            let (user, room) = (run.name("ann"), try await run.room(["enterExitNotify": "NONE"]))
            let viewer = try await run.entered(room, run.name("bob"))
            func send(_ text: String) async throws -> JSONTree {
                let body: JSONTree = ["sender": .text(user), "type": "TEXT", "text": .text(text)]
                let ack = try await run.done("POST", ["rooms", room, "messages"], body)
                try await Task.sleep(for: .milliseconds(5))
                return ack
            }
            _ = try await send("older")
            let acks = [try await send("2"), try await send("3")]
            let body: JSONTree = ["user": .text(user), "since": acks[0]["time"] ?? .null]
            try await run.done("POST", ["rooms", room, "messages", "recall"], body)
            let event = try await viewer.notification(323)
            try expect(
                Set(event["data"]?["messageIds"]?.items ?? []) == Set(acks.compactMap { $0["messageId"] }),
                "data of 323 is \(event.line)")
            let page = try await run.done("GET", ["rooms", room, "messages"], query: [("types", "TEXT")])
            try expect(page["messages"]?.items.compactMap { $0["text"]?.text } == ["older"], "history is \(page.line)")
        },
        .init("4 messages", "GET messages takes startTime, limit, order, types, beforeSeq and afterSeq") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            var times: [JSONTree] = []
            for number in 1...4 {
                let body: JSONTree = ["type": number == 4 ? "TIP" : "TEXT", "text": .text("\(number)")]
                let ack = try await run.done("POST", ["rooms", room, "messages"], body)
                times.append(ack["time"] ?? .null)
                try await Task.sleep(for: .milliseconds(5))
            }
            func texts(_ query: [(String, String?)]) async throws -> [String] {
                let page = try await run.done("GET", ["rooms", room, "messages"], query: query)
                return page["messages"]?.items.compactMap { $0["text"]?.text } ?? []
            }
            let second = String(times[1].integer ?? 0)
            for (query, wanted) in [
                ([], ["4", "3", "2", "1"]), ([("order", "ASC")], ["1", "2", "3", "4"]), ([("limit", "1")], ["4"]),
                ([("types", "TIP")], ["4"]), ([("types", "TIP,TEXT"), ("limit", "2")], ["4", "3"]),
                ([("beforeSeq", "3")], ["2", "1"]), ([("afterSeq", "3")], ["4"]),
                ([("afterSeq", "1"), ("beforeSeq", "4"), ("order", "ASC")], ["2", "3"]),
                ([("startTime", second)], ["2", "1"]), ([("startTime", second), ("order", "ASC")], ["2", "3", "4"]),
            ] as [([(String, String?)], [String])] {
                let seen = try await texts(query)
                try expect(seen == wanted, "\(query) gives \(seen), not \(wanted)")
            }
            for query in [("order", "UP"), ("types", "NONSENSE"), ("limit", "101"), ("limit", "0"), ("startTime", "x")]
            {
                try await run.refused(
                    "GET", ["rooms", room, "messages"], query: [(query.0, query.1)], status: 400, code: 414)
            }
        },
        .init("4", "a repeated Idempotency-Key takes one element, kicks once and makes one room") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            func twice(_ method: String, _ path: [String], _ body: JSONTree) async throws -> JSONTree {
                let key = ["Idempotency-Key": run.name("key")]
                let first = try await run.api(method, path, body, headers: key)
                let second = try await run.api(method, path, body, headers: key)
                try expect((200..<300).contains(first.status), "\(path) was answered \(first.body.line)")
                try expect(second.body, is: first.body, "the second answer of \(path.joined(separator: "/"))")
                try expect(first.status == second.status, "the second status is \(second.status)")
                return first.body
            }
            for key in ["a", "b"] { try await run.done("PUT", ["rooms", room, "queue", key], ["value": "v"]) }
            _ = try await twice("POST", ["rooms", room, "queue", "take"], [:])
            let queue = try await run.done("GET", ["rooms", room, "queue"])
            try expect(queue["elements"]?.items.compactMap { $0["key"]?.text } == ["b"], "the queue is \(queue.line)")
            let made = try await twice("POST", ["rooms"], ["creator": "c"])
            run.willDelete(made["id"]?.text ?? "")
            let named = run.name("room")
            _ = try await twice("POST", ["rooms"], ["id": .text(named), "creator": "c"])
            run.willDelete(named)
            // Kicked once, back, and kicked no second time.
            let client = try await run.entered(room, user)
            let key = ["Idempotency-Key": run.name("key")]
            let kick = ["rooms", room, "members", user, "kick"]
            let first = try await run.api("POST", kick, [:], headers: key)
            try await client.push("kicked")
            try await client.ask("enter", ["room": .text(room)])
            try expect(try await run.api("POST", kick, [:], headers: key).body, is: first.body, "the second answer")
            try await client.send(room, "still here")
            try expect(await client.pushes("kicked").count == 1, "it was kicked twice")
        },
        .init("4 members", "members takes every kind; another one is 414, and a user who is no member is 404") { run in
            let (creator, manager, guest, muted, out, banned) = (
                run.name("creator"), run.name("manager"), run.name("guest"), run.name("muted"), run.name("out"),
                run.name("banned")
            )
            let room = try await run.room(creator: creator)
            let path = ["rooms", room, "members"]
            try await run.done("PUT", path + [manager, "role"], ["role": "MANAGER"])
            try await run.done("PUT", path + [muted, "mute"], ["enable": true])
            try await run.done("PUT", path + [out, "blacklist"], ["enable": true])
            try await run.done("POST", path + [banned, "kick"], ["banSeconds": 600])
            _ = try await run.entered(room, creator)
            _ = try await run.entered(room, guest)
            for (kind, wanted) in [
                ("FIXED_ONLINE", [creator]), ("TEMPORARY", [guest]), ("TEMPORARY_REVERSED", [guest]),
                ("MUTED", [muted]), ("BLACKLISTED", [out]), ("BANNED", [banned]),
            ] {
                let page = try await run.done("GET", path, query: [("kind", kind)])
                let users = page["members"]?.items.compactMap { $0["user"]?.text }
                try expect(users == wanted, "\(kind) is \(page.line)")
            }
            let fixed = try await run.done("GET", path, query: [("kind", "FIXED")])["members"]?.items ?? []
            try expect(
                Set(fixed.compactMap { $0["user"]?.text }).isSuperset(of: [creator, manager]), "FIXED is \(fixed)")
            let managers = try await run.done("GET", path, query: [("kind", "MANAGERS")])["members"]?.items ?? []
            try expect(managers.contains { $0["user"]?.text == manager }, "MANAGERS is \(managers)")
            try await run.refused("GET", path, query: [("kind", "FRIENDS")], status: 400, code: 414)
            try expect(try await run.done("GET", path + [manager])["role"], is: "MANAGER", "the role")
            try await run.refused("GET", path + [run.name("nobody")], status: 404, code: 404)
        },
        .init("4", "any node answers for the whole cluster: all give the same, and what one changes all show") { run in
            guard run.nodes.count > 1 else { throw NotChecked("only one node is known") }
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let id = try await client.send(room, "one")["messageId"]?.text ?? ""
            try await client.ask("queueSet", ["room": .text(room), "key": "k", "value": "v"])
            let paths: [([String], [(String, String?)])] = [
                (["rooms", room], []), (["rooms", room, "messages"], []), (["rooms", room, "messages", id], []),
                (["rooms", room, "queue"], []), (["rooms", room, "members"], [("kind", "TEMPORARY")]),
                (["rooms", room, "members", user], []), (["users", user, "sessions"], []), (["webhook"], []),
                (["moderation"], []),
            ]
            for (path, query) in paths {
                let first = try await run.done("GET", path, query: query)
                for node in run.nodes.dropFirst() {
                    let other = try await run.done("GET", path, query: query, at: node.api)
                    try expect(other, is: first, "\(path.joined(separator: "/")) at \(node.api)")
                }
            }
            func ids(_ path: [String], _ list: String, _ member: String, at api: String) async throws -> Set<String> {
                Set(try await run.done("GET", path, at: api)[list]?.items.compactMap { $0[member]?.shown } ?? [])
            }
            for node in run.nodes {
                let known = try await ids(["cluster"], "nodes", "id", at: node.api)
                try expect(known.count >= run.nodes.count, "\(node.api) knows the nodes \(known.sorted())")
                let shards = try await ids(["cluster", "shards"], "shards", "shard", at: node.api)
                let here = try await ids(["cluster", "shards"], "shards", "shard", at: run.nodes[0].api)
                try expect(shards == here, "\(node.api) knows other shards")
                try await run.done("PATCH", ["rooms", room], ["name": .text(node.api)], at: node.api)
                for reader in run.nodes {
                    let name = try await run.done("GET", ["rooms", room], at: reader.api)["name"]
                    try expect(name, is: .text(node.api), "the name at \(reader.api)")
                }
                let body: JSONTree = ["type": "TEXT", "text": .text("by \(node.api)")]
                try await run.done("POST", ["rooms", room, "messages"], body, at: node.api)
                try await client.message("by \(node.api)")
                let token = try await run.done("POST", ["users", user, "token"], at: node.api)["token"]
                try expect(token?.text?.isEmpty == false, "\(node.api) issues no token")
            }
        },
        .init("2", "a room is the same from every node: what is sent at one is shown at all") { run in
            guard run.nodes.count > 1 else { throw NotChecked("only one node is known") }
            let room = try await run.room(["enterExitNotify": "NONE"])
            var clients: [ConformanceClient] = []
            for node in run.nodes.indices {
                let client = try await run.connected(run.name("user\(node)"), node: node)
                try await client.ask("enter", ["room": .text(room)])
                clients.append(client)
            }
            for (number, client) in clients.enumerated() { try await client.send(room, "m\(number)") }
            for client in clients {
                try await client.message("m\(clients.count - 1)")
                let seqs = await client.pushes("message").compactMap { $0["seq"]?.integer }
                try expect(seqs == Array(1...Int64(clients.count)), "the seqs are \(seqs)")
            }
        },
        .init("4 users", "a direct message reaches all sessions of the user, and the answer says how many") { run in
            let user = run.name("ann")
            let clients = [try await run.connected(user), try await run.connected(user)]
            let answer = try await run.done("POST", ["users", user, "messages"], ["type": "TEXT", "text": "psst"])
            try expect(answer["sessions"], is: 2, "sessions")
            for client in clients { try await client.push("direct") { $0["text"] == "psst" } }
            let none = try await run.done(
                "POST", ["users", run.name("away"), "messages"], ["type": "TEXT", "text": "psst"])
            try expect(none["sessions"], is: 0, "sessions of who is away")
        },
        .init("4", "stats tells how many sessions, rooms and people there are") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            // Nodes tell each other a moment later.
            let deadline = ContinuousClock.now + ConformanceClient.waitLimit
            while true {
                let stats = try await run.done("GET", ["stats"])
                for field in ["time", "sessions", "rooms", "online"] {
                    try expect(stats[field]?.integer != nil, "there is no \(field): \(stats.line)")
                }
                let least = ["sessions", "rooms", "online"].map { stats[$0]?.integer ?? 0 }.min() ?? 0
                if least >= 1 { break }
                try expect(ContinuousClock.now < deadline, "it does not count what there is: \(stats.line)")
                try await Task.sleep(for: .milliseconds(100))
            }
            try await client.ask("ping")
        },
        .init("4", "audit tells who did what, when and from where: a change that was done, and one that was refused") {
            run in
            let room = try await run.room()
            let path = ["rooms", room, "queue", "audited"]
            try await run.done("PUT", path, ["value": "v"])
            try await run.refused("PUT", path, ["value": "w", "ifVersion": 0], status: 409, code: 409)
            let wanted = "/v1/" + path.joined(separator: "/")
            let items = try await audited(run, path: wanted, count: 2)
            for item in items {
                try expect(item["method"], is: "PUT", "method")
                try expect(item["administrator"]?.text?.isEmpty == false, "who did it is not told: \(item.line)")
                try expect(item["address"]?.text?.isEmpty == false, "from where is not told: \(item.line)")
                try expect(abs((item["time"]?.integer ?? 0) - ConformanceRun.now) < 600_000, "when: \(item.line)")
            }
            try expect(
                items.compactMap { $0["status"]?.integer } == [409, 200], "the statuses, newest first: \(items)")
            try expect(items.first?["error"], is: 409, "the error of the refused one")
            let line = items.map(\.line).joined()
            try expect(!line.contains(try run.adminKey), "it has the key itself")
        },
        .init("4", "PUT log answers the level that it has set; one that there is not is 414", .alone) { run in
            try await run.refused("PUT", ["log"], ["level": "loud"], status: 400, code: 414)
            try expect(try await run.done("PUT", ["log"], ["level": "info"])["level"], is: "info", "level")
        },
        .init("4 Metrics", "build_info tells the version, connections_closed_total the codes") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(.binary, [1])
            _ = try await client.closing()
            let text = try await run.plain("GET", "/metrics").body.text ?? ""
            let lines = text.split(separator: "\n")
            try expect(
                lines.contains { $0.hasPrefix("chatroom_build_info{") && $0.contains(#"version=""#) },
                "there is no chatroom_build_info{version}")
            try expect(
                lines.contains { $0.hasPrefix("chatroom_connections_closed_total{") && $0.contains(#"code="1003""#) },
                "there is no chatroom_connections_closed_total{code=\"1003\"}")
            for name in ["sends_total{result=", "dropped_total{", "gossip_members{state="] {
                try expect(lines.contains { $0.hasPrefix("chatroom_" + name) }, "there is no chatroom_\(name)…}")
            }
        },
    ]

    /// The newest entries of the audit about a path.
    static func audited(_ run: ConformanceRun, path: String, count: Int) async throws -> [JSONTree] {
        let deadline = ContinuousClock.now + ConformanceClient.waitLimit
        while true {
            let page = try await run.done("GET", ["audit"], query: [("limit", "100")])
            let items = page["items"]?.items.filter { $0["path"]?.text == path } ?? []
            if items.count >= count { return items }
            guard ContinuousClock.now < deadline else {
                throw Deviation("\(items.count) of \(count) calls of \(path) are in the audit")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
