import ControlClient

/// Rules that hold for many operations or calls at once, and how they meet.
extension ConformanceCheck {
    static let rules: [ConformanceCheck] = [
        .init("2 Operations", "who is not in the room may do nothing there (13007)") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.connected(user)
            let other: JSONTree = ["user": "bob"]
            let operations: [(String, JSONTree)] = [
                ("exit", [:]), ("send", ["clientId": "c", "type": "TEXT", "text": "t"]), ("barrage", ["text": "b"]),
                ("recall", ["messageId": "m"]), ("combined", ["messageId": "m"]), ("history", [:]), ("room", [:]),
                ("updateRoom", ["set": ["name": "N"]]), ("members", ["kind": "FIXED"]),
                ("membersById", ["users": ["bob"]]), ("updateMe", ["set": ["nick": "N"]]),
                ("setManager", other.adding(["enable": true])), ("setMember", other.adding(["enable": true])),
                ("setBlacklist", other.adding(["enable": true])), ("setMute", other.adding(["enable": true])),
                ("tempMute", other.adding(["seconds": 5])), ("kick", other), ("muteRoom", ["enable": true]),
                ("queue", [:]), ("queueSet", ["key": "k", "value": "v"]), ("queueSetMany", ["values": ["k": "v"]]),
                ("queueTake", [:]), ("queueClear", [:]),
            ]
            for (operation, fields) in operations {
                let error = try await client.refusal(operation, fields.adding(["room": .text(room)]))
                try expect(error["code"], is: 13007, "\(operation): the error's code (\(error.line))")
            }
        },
        .init("2 Closing", "a closed room refuses every change of the server API (HTTP 409, 13002), and can be read") {
            run in
            let room = try await run.room()
            let member = ["members", "bob"]
            try await run.done("POST", ["rooms", room, "close"])
            let calls: [(String, [String], JSONTree)] = [
                ("PATCH", [], ["name": "N"]), ("POST", ["messages"], ["type": "TEXT", "text": "t"]),
                ("POST", ["barrage"], ["text": "b"]), ("PUT", member + ["role"], ["role": "NORMAL"]),
                ("PUT", member + ["blacklist"], ["enable": true]), ("PUT", member + ["mute"], ["enable": true]),
                ("PUT", member + ["tempMute"], ["seconds": 5]), ("POST", member + ["kick"], ["banSeconds": 5]),
                ("PUT", ["mute"], ["enable": true]), ("PUT", ["queue", "k"], ["value": "v"]),
                ("PATCH", ["queue"], ["values": ["k": "v"]]), ("POST", ["queue", "take"], [:]),
                ("POST", ["robots"], ["robots": ["r"]]),
            ]
            for (method, path, body) in calls {
                try await run.refused(method, ["rooms", room] + path, body, status: 409, code: 13002)
            }
            for path in [[], ["messages"], ["queue"], ["explain"], ["address"]] {
                try await run.done("GET", ["rooms", room] + path)
            }
        },
        .init("2 Roles", "muting leaves a role, blacklisting removes it; RESTRICTED until the last flag is gone") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let member = ["rooms", room, "members", user]
            func role(_ path: String, _ body: JSONTree) async throws -> JSONTree? {
                try await run.done("PUT", member + [path], body)["member"]?["role"]
            }
            func flag(_ path: String, _ enable: Bool) async throws -> JSONTree? {
                try await role(path, ["enable": .boolean(enable)])
            }
            try expect(try await role("role", ["role": "MANAGER"]), is: "MANAGER", "the role")
            try expect(try await flag("mute", true), is: "MANAGER", "the role of a muted manager")
            try expect(try await flag("blacklist", true), is: "RESTRICTED", "the role of a blacklisted manager")
            try expect(try await flag("mute", false), is: "RESTRICTED", "the role while blacklisted")
            try expect(try await flag("mute", true), is: "RESTRICTED", "the role while blacklisted and muted")
            try expect(try await flag("blacklist", false), is: "RESTRICTED", "the role while muted")
            try expect(try await flag("mute", false), is: "GUEST", "the role when the last flag is gone")
        },
        .init("2 Roles", "an unset manager is normal (308); set to guest: 308, then 310") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            for role in ["MANAGER", "NORMAL", "MANAGER", "GUEST"] {
                let answer = try await run.done(
                    "PUT", ["rooms", room, "members", user, "role"], ["role": .text(role)])
                try expect(answer["member"]?["role"], is: .text(role), "the role")
            }
            try await client.notification(310)
            let events = await client.pushes("message").compactMap { $0["event"]?.integer }.filter { $0 != 301 }
            try expect(events == [307, 308, 307, 308, 310], "the events are \(events)")
        },
        .init("2 Mutes", "mute and temporary mute are independent") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let member = ["rooms", room, "members", user]
            try await run.done("PUT", member + ["mute"], ["enable": true])
            try await run.done("PUT", member + ["tempMute"], ["seconds": 60])
            try await run.done("PUT", member + ["mute"], ["enable": false])
            try expect(try await client.sendRefusal(room), code: 13004, waits: true)
            try await run.done("PUT", member + ["mute"], ["enable": true])
            try await run.done("PUT", member + ["tempMute"], ["seconds": 0])
            let error = try await client.sendRefusal(room)
            try expect(error, code: 13004)
            try expect(error["retryAfterMs"], is: nil, "retryAfterMs")
            try await run.done("PUT", member + ["mute"], ["enable": false])
            try await client.send(room, "free")
        },
        .init("2 enter", "nick and avatar fall back: given at enter, saved, in the token; what is set lasts until exit")
        {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.connected(user, claims: ["nick": "token", "avatar": "https://token"])
            func enter(_ fields: JSONTree = [:]) async throws -> [JSONTree?] {
                let me = try await client.ask("enter", fields.adding(["room": .text(room)]))["me"]
                try await client.ask("exit", ["room": .text(room)])
                return [me?["nick"], me?["avatar"]]
            }
            try expect(try await enter() == ["token", "https://token"], "without any other they are not the token's")
            try expect(try await enter(["nick": "given"]) == ["given", "https://token"], "the given nick is not shown")
            try expect(try await enter() == ["token", "https://token"], "what was given has outlived the exit")
            try await run.done("PUT", ["rooms", room, "members", user, "role"], ["role": "NORMAL"])
            try await client.ask("enter", ["room": .text(room)])
            try await client.ask("updateMe", ["room": .text(room), "set": ["nick": "saved"], "save": true])
            try await client.ask("updateMe", ["room": .text(room), "set": ["avatar": "https://unsaved"]])
            try await client.ask("exit", ["room": .text(room)])
            try expect(try await enter() == ["saved", "https://token"], "the saved nick is not shown, or more than it")
            try expect(try await enter(["nick": "given"]) == ["given", "https://token"], "given does not go first")
        },
        .init("2 enter", "what enter and updateMe have set stays when the same session enters again") { run in
            let room = try await run.room()
            let client = try await run.connected(run.name("ann"), claims: ["nick": "token"])
            try await client.ask("enter", ["room": .text(room), "nick": "given", "avatar": "https://given"])
            try await client.ask("updateMe", ["room": .text(room), "set": ["avatar": "https://updated"]])
            let me = try await client.ask("enter", ["room": .text(room), "ext": "new"])["me"]
            try expect(me?["nick"], is: "given", "me.nick")
            try expect(me?["avatar"], is: "https://updated", "me.avatar")
            try expect(me?["ext"], is: "new", "me.ext")
        },
        .init("2 updateMe", "save keeps nothing for a guest") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await client.ask("updateMe", ["room": .text(room), "set": ["nick": "New"], "save": true])
            try await client.ask("exit", ["room": .text(room)])
            try expect(try await client.ask("enter", ["room": .text(room)])["me"]?["nick"] != "New", "it was kept")
        },
        .init("2 Seats", "a blacklisting and a closing take transient elements at once") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let watcher = try await run.entered(room, run.name("bob"))
            func seats() async throws -> [String] {
                try await run.done("GET", ["rooms", room, "queue"])["elements"]?.items.compactMap { $0["key"]?.text }
                    ?? []
            }
            func sit(_ client: ConformanceClient) async throws {
                for (key, transient): (JSONTree, JSONTree) in [("seat-1", true), ("seat-2", true), ("song", false)] {
                    try await client.ask(
                        "queueSet", ["room": .text(room), "key": key, "value": "v", "transient": transient])
                }
            }
            try await sit(try await run.entered(room, user))
            try await run.done("PUT", ["rooms", room, "members", user, "blacklist"], ["enable": true])
            let event = try await watcher.notification(320)
            try expect(event["data"]?["change"], is: "PARTCLEAR", "data.change")
            try expect(event["data"]?["elements"]?.items.count == 2, "it names \(event["data"]?.line ?? "nothing")")
            try expect(try await seats() == ["song"], "the blacklisted user's seats are left")
            try await sit(watcher)
            try await run.done("POST", ["rooms", room, "close"])
            try expect(try await seats() == ["song"], "seats are left in a closed room")
        },
        .init("2 Seats", "queueLevel OWNER: others' elements stay untouched by queueSetMany and queueTake (403)") {
            run in
            let room = try await run.room(["queueLevel": "OWNER"])
            let (one, two) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            try await one.ask("queueSet", ["room": .text(room), "key": "one's", "value": "1"])
            try await two.ask("queueSet", ["room": .text(room), "key": "two's", "value": "1"])
            let both: JSONTree = ["room": .text(room), "values": ["one's": "2", "two's": "2"]]
            try expect(try await two.refusal("queueSetMany", both), code: 403)
            try expect(try await two.refusal("queueTake", ["room": .text(room)]), code: 403)
            let all = try await one.ask("queue", ["room": .text(room)])
            try expect(
                all["elements"]?.items.compactMap { $0["value"]?.text } == ["1", "1"], "one of them has changed")
            try await two.ask("queueSetMany", ["room": .text(room), "values": ["two's": "2"]])
            try await one.ask("queueTake", ["room": .text(room)])
        },
        .init("2 Roles", "an anonymous member gets no role, and a manager can put it out") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let client = try await run.open()
            let user = try await client.ask("connect", ["anonymous": true])["user"] ?? .null
            try await client.ask("enter", ["room": .text(room), "nick": "N", "avatar": "a"])
            for operation in ["setManager", "setMember"] {
                try expect(
                    try await owner.refusal(operation, ["room": .text(room), "user": user, "enable": true]), code: 403)
            }
            try await run.refused(
                "PUT", ["rooms", room, "members", user.text ?? "", "role"], ["role": "MANAGER"], status: 403, code: 403)
            let member = try await owner.ask("membersById", ["room": .text(room), "users": [user]])
            try expect(member["members"]?.items.first?["role"], is: "ANONYMOUS", "the role")
            try await owner.ask("kick", ["room": .text(room), "user": user])
            try expect(try await client.push("kicked")["reason"], is: 2, "the reason")
        },
        .init("4", "a banned user is no robot: HTTP 403, 13003 with retryAfterMs") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            try await run.done("POST", ["rooms", room, "members", user, "kick"], ["banSeconds": 60])
            let answer = try await run.api("POST", ["rooms", room, "robots"], ["robots": [.text(user)]])
            try expect(answer.status == 403, "answered HTTP \(answer.status)")
            try expect(answer.error, code: 13003, waits: true)
        },
    ]
}
