import ControlClient
import FoundationEssentials

/// Rules for all calls of the server API (PROTOCOL.md, "Server API").
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
                // Each message gets a time of its own.
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
                // Each message gets a time of its own.
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
        .init("4 members", "role, mute and kick calls take notify and notifyExt") { run in
            let (user, room) = (run.name("ann"), try await run.room(["enterExitNotify": "NONE"]))
            let viewer = try await run.entered(room, run.name("bob"))
            let path = ["rooms", room, "members", user]
            let calls: [(String, [String], JSONTree, Int64)] = [
                ("PUT", path + ["role"], ["role": "MANAGER"], 307), ("PUT", path + ["role"], ["role": "NORMAL"], 308),
                ("PUT", path + ["mute"], ["enable": true], 305), ("PUT", path + ["mute"], ["enable": false], 306),
                ("PUT", path + ["tempMute"], ["seconds": 60], 314), ("PUT", path + ["tempMute"], ["seconds": 0], 315),
                ("PUT", path + ["blacklist"], ["enable": true], 303),
                ("PUT", path + ["blacklist"], ["enable": false], 304),
                ("PUT", ["rooms", room, "mute"], ["enable": true], 318),
                ("PUT", ["rooms", room, "mute"], ["enable": false], 319),
                ("PATCH", ["rooms", room], ["name": "N"], 312),
                ("PUT", ["rooms", room, "queue", "k"], ["value": "v"], 317),
            ]
            for (method, path, body, _) in calls {
                try await run.done(method, path, body.adding(["notify": false]))
            }
            for (number, (method, path, body, _)) in calls.enumerated() {
                try await run.done(method, path, body.adding(["notifyExt": .text("ext-\(number)")]))
            }
            try await viewer.send(room, "the end")
            try await viewer.message("the end")
            let shown = await viewer.pushes("message").filter { $0["type"] == "NOTIFICATION" }
            try expect(
                shown.compactMap { $0["event"]?.integer } == calls.map(\.3),
                "the events are \(shown.compactMap { $0["event"]?.integer }), not \(calls.map(\.3))")
            for (number, push) in shown.enumerated() {
                try expect(push["notifyExt"], is: .text("ext-\(number)"), "notifyExt of \(push["event"]?.line ?? "")")
            }
        },
    ]
}
