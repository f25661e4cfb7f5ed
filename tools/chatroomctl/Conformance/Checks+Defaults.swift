import ControlClient

/// Settings of a room: their defaults, who sees them, and what a change of them does (PROTOCOL.md, "Room").
extension ConformanceCheck {
    static let defaults: [ConformanceCheck] = [
        .init("2 Defaults", "a room without settings: entry ANYONE, queueLevel ANY, enterExitNotify ALL, no slow mode")
        {
            run in
            let id = run.name("room")
            let made = try await run.done("POST", ["rooms"], ["id": .text(id), "creator": "c"])
            run.willDelete(id)
            for view in [made, try await run.done("GET", ["rooms", id])] {
                try expect(view["entry"], is: "ANYONE", "entry")
                try expect(view["queueLevel"], is: "ANY", "queueLevel")
                try expect(view["enterExitNotify"], is: "ALL", "enterExitNotify")
                try expect(view["slowModeSeconds"], is: 0, "slowModeSeconds")
                try expect(view["muted"], is: false, "muted")
                try expect(view["closed"], is: false, "closed")
            }
            let client = try await run.anonymous()
            try await client.ask("enter", ["room": .text(id), "nick": "N", "avatar": "a"])
        },
        .init("2 Defaults", "notify is true: each of these shows its notification; with notify: false none does") {
            run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(["enterExitNotify": "NONE"], creator: creator)
            let (owner, viewer) = (try await run.entered(room, creator), try await run.entered(room, user))
            let element: JSONTree = ["key": "k", "value": "v"]
            let operations: [(String, JSONTree, Int64)] = [
                ("updateRoom", ["set": ["name": "N"]], 312), ("updateMe", ["set": ["nick": "N"]], 316),
                ("tempMute", ["user": .text(user), "seconds": 60], 314), ("queueSet", element, 317),
                ("queueSetMany", ["values": ["k": "w"]], 320), ("queueTake", ["key": "k"], 317),
                ("queueSet", element, 317), ("queueClear", [:], 317),
            ]
            for (operation, fields, _) in operations {
                try await owner.ask(operation, fields.adding(["room": .text(room), "notify": false]))
            }
            try await owner.send(room, "silent so far")
            try await viewer.message("silent so far")
            let shown = await viewer.pushes("message").compactMap { $0["event"]?.integer }
            try expect(shown.isEmpty, "events \(shown) were shown")
            for (operation, fields, _) in operations {
                try await owner.ask(operation, fields.adding(["room": .text(room)]))
            }
            try await owner.send(room, "the end")
            try await viewer.message("the end")
            let events = await viewer.pushes("message").compactMap { $0["event"]?.integer }
            try expect(events == operations.map(\.2), "the events are \(events)")
        },
        .init("2 Room", "clients see neither shard nor leader, the server API does") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let client = try await run.connected(creator)
            let views = [
                try await client.ask("enter", ["room": .text(room)])["room"],
                try await client.ask("room", ["room": .text(room)])["room"],
                try await client.ask("updateRoom", ["room": .text(room), "set": ["name": "N"]])["room"],
            ]
            for view in views {
                try expect(view?["id"], is: .text(room), "id")
                try expect(view?["shard"], is: nil, "shard")
                try expect(view?["leader"], is: nil, "leader")
            }
            let view = try await run.done("GET", ["rooms", room])
            try expect(view["shard"]?.integer != nil, "there is no shard")
            let nodes = try await run.done("GET", ["cluster"])["nodes"]?.items.compactMap { $0["id"]?.text } ?? []
            try expect(nodes.contains(view["leader"]?.text ?? ""), "leader is no node: \(view.line)")
        },
        .init("2 updateRoom", "updateRoom sets queueLevel, slowModeSeconds and enterExitNotify, and they hold at once")
        {
            run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let (owner, guest) = (try await run.entered(room, creator), try await run.entered(room, run.name("ann")))
            let set: JSONTree = ["queueLevel": "MANAGER", "slowModeSeconds": 600, "enterExitNotify": "NONE"]
            let view = try await owner.ask("updateRoom", ["room": .text(room), "set": set])["room"]
            for field in ["queueLevel", "slowModeSeconds", "enterExitNotify"] {
                try expect(view?[field], is: set[field], field)
            }
            try expect(try await guest.notification(312)["data"]?["set"], is: set, "data.set")
            try expect(
                try await guest.refusal("queueSet", ["room": .text(room), "key": "k", "value": "v"]), code: 403)
            try await guest.send(room, "one")
            try expect(try await guest.sendRefusal(room), code: 416, waits: true)
            let late = run.name("late")
            _ = try await run.entered(room, late)
            try await owner.send(room, "after")
            try await owner.message("after")
            let entered = await owner.pushes("message").filter {
                $0["event"] == 301 && $0["targets"]?.items.first?["user"]?.text == late
            }
            try expect(entered.isEmpty, "301 was shown")
        },
        .init("2 updateRoom", "a value that there is not, or slowModeSeconds below 0, is 414 and changes nothing") {
            run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            for set: JSONTree in [
                ["queueLevel": "NOBODY"], ["enterExitNotify": "SOME"], ["slowModeSeconds": -1],
            ] {
                let fields: JSONTree = ["room": .text(room), "set": set.adding(["name": "N"])]
                try expect(try await owner.refusal("updateRoom", fields), code: 414)
            }
            try expect(try await owner.ask("room", ["room": .text(room)])["room"]?["name"] != "N", "it was changed")
        },
        .init("2 members", "membersById is not for anonymous members (403)") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            _ = try await run.entered(room, user)
            let client = try await run.anonymous()
            try await client.ask("enter", ["room": .text(room), "nick": "N", "avatar": "a"])
            try expect(
                try await client.refusal("membersById", ["room": .text(room), "users": [.text(user)]]), code: 403)
        },
        .init("2 Member", "enteredAt is when a member has entered") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.connected(user)
            let before = try await client.ask("ping")["time"]?.integer ?? 0
            let me = try await client.ask("enter", ["room": .text(room)])["me"]
            let entered = me?["enteredAt"]?.integer ?? 0
            // The room's leader may be another node than the one that told the time.
            try expect(abs(entered - before) < 60_000, "enteredAt is \(entered), and it was \(before)")
            let page = try await client.ask("members", ["room": .text(room), "kind": "TEMPORARY"])
            try expect(page["members"]?.items.first?["enteredAt"], is: me?["enteredAt"], "enteredAt in members")
        },
        .init("2 Queue", "queueLevel OWNER: managers change and take the elements of others") { run in
            let (creator, manager) = (run.name("creator"), run.name("bob"))
            let room = try await run.room(["queueLevel": "OWNER"], creator: creator)
            try await run.done("PUT", ["rooms", room, "members", manager, "role"], ["role": "MANAGER"])
            let guest = try await run.entered(room, run.name("ann"))
            for key: JSONTree in ["a", "b", "c"] {
                try await guest.ask("queueSet", ["room": .text(room), "key": key, "value": "1"])
            }
            for (user, key) in [(creator, "a"), (manager, "b")] {
                let client = try await run.entered(room, user)
                let set: JSONTree = ["room": .text(room), "key": .text(key), "value": "2"]
                try expect(try await client.ask("queueSet", set)["element"]?["owner"], is: .text(user), "the owner")
                try await client.ask("queueSetMany", ["room": .text(room), "values": ["c": .text(key)]])
                try await client.ask("queueTake", ["room": .text(room), "key": .text(key)])
            }
            let all = try await guest.ask("queue", ["room": .text(room)])
            try expect(all["elements"]?.items.compactMap { $0["value"]?.text } == ["b"], "the queue is \(all.line)")
        },
        .init("2 Codes", "317 tells the element's fields, 320 all elements that have changed") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            func event(_ change: JSONTree) async throws -> JSONTree? {
                try await client.push("message") { $0["data"]?["change"] == change }["data"]
            }
            let set: JSONTree = ["room": .text(room), "key": "k", "value": "v", "transient": true]
            for (change, operation, fields): (JSONTree, String, JSONTree) in [
                ("OFFER", "queueSet", set), ("UPDATE", "queueSet", set.adding(["value": "w"])),
                ("POLL", "queueTake", ["room": .text(room), "key": "k"]),
            ] {
                let element = try await client.ask(operation, fields)["element"] ?? .null
                try expect(element["owner"], is: .text(user), "owner of \(operation)")
                try expect(
                    try await event(change), is: (["change": change] as JSONTree).adding(element), "data of \(change)")
            }
            for key: JSONTree in ["a", "b"] {
                try await client.ask("queueSet", ["room": .text(room), "key": key, "value": "1"])
            }
            try await client.ask("queueSetMany", ["room": .text(room), "values": ["a": "2", "b": "2", "c": "2"]])
            let elements = try await event("BATCH_UPDATE")?["elements"]?.items ?? []
            try expect(Set(elements.compactMap { $0["key"]?.text }) == ["a", "b"], "data of 320 has \(elements)")
        },
        .init("2 Roles", "a RESTRICTED user is fixed as long as a flag is left, and a guest again then") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            func isFixed() async throws -> Bool {
                let page = try await run.done("GET", ["rooms", room, "members"], query: [("kind", "FIXED")])
                return page["members"]?.items.contains { $0["user"]?.text == user } == true
            }
            let mute = ["rooms", room, "members", user, "mute"]
            try await run.done("PUT", mute, ["enable": true])
            try expect(try await isFixed(), "a muted user is not listed among the fixed members")
            try await run.done("PUT", mute, ["enable": false])
            try expect(!(try await isFixed()), "the user is fixed without a flag")
            try expect(
                try await run.connected(user).ask("enter", ["room": .text(room)])["me"]?["role"], is: "GUEST",
                "the role")
        },
        .init("2 queue", "queueTake of a key that is not there is 404, and takes nothing") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await client.ask("queueSet", ["room": .text(room), "key": "k", "value": "v"])
            try expect(try await client.refusal("queueTake", ["room": .text(room), "key": "other"]), code: 404)
            let all = try await client.ask("queue", ["room": .text(room)])
            try expect(all["elements"]?.items.count == 1, "the queue is \(all.line)")
        },
    ]
}
