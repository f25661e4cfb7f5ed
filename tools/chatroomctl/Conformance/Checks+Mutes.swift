import ControlClient

/// Mutes and roles, of people who are here and who are away (PROTOCOL.md, "Mutes" and "Roles").
extension ConformanceCheck {
    private static func change(_ room: String, _ user: String, _ more: JSONTree = [:]) -> JSONTree {
        (["room": .text(room), "user": .text(user)] as JSONTree).adding(more)
    }

    static let mutes: [ConformanceCheck] = [
        .init("2 Mutes", "a muted manager can't send, barrage or change the queue either (13004)") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            try await run.done("PUT", ["rooms", room, "members", user, "role"], ["role": "MANAGER"])
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": true])
            let client = try await run.connected(user)
            let me = try await client.ask("enter", ["room": .text(room)])["me"]
            try expect(me?["role"], is: "MANAGER", "the role")
            try expect(me?["muted"], is: true, "muted")
            try expect(try await client.sendRefusal(room), code: 13004)
            try expect(try await client.refusal("barrage", ["room": .text(room), "text": "b"]), code: 13004)
            try expect(
                try await client.refusal("queueSet", ["room": .text(room), "key": "k", "value": "v"]), code: 13004)
        },
        .init("2 Mutes", "a muted user may read, recall and update its own info, and may not take from the queue") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let id = try await client.send(room, "before")["messageId"] ?? .null
            try await client.ask("queueSet", ["room": .text(room), "key": "k", "value": "v"])
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": true])
            try await client.notification(305)
            let page = try await client.ask("history", ["room": .text(room), "types": ["TEXT"]])
            try expect(page["messages"]?.items.first?["text"], is: "before", "what history shows")
            let member = try await client.ask("updateMe", ["room": .text(room), "set": ["nick": "New"]])
            try expect(member["member"]?["nick"], is: "New", "the nick")
            try await client.ask("recall", ["room": .text(room), "messageId": id])
            try expect(try await client.refusal("queueTake", ["room": .text(room), "key": "k"]), code: 13004)
            try expect(
                try await client.refusal("queueSetMany", ["room": .text(room), "values": ["k": "w"]]), code: 13004)
            // Messages of others still come.
            try await run.done("POST", ["rooms", room, "messages"], ["type": "TEXT", "text": "heard"])
            try await client.message("heard")
        },
        .init("2 Mutes", "a temporary mute survives a new connection; tempMuteSeconds are those that are left") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let first = try await run.entered(room, user)
            try await run.done("PUT", ["rooms", room, "members", user, "tempMute"], ["seconds": 600])
            try await first.notification(314)
            await first.drop()
            let client = try await run.connected(user)
            let me = try await client.ask("enter", ["room": .text(room)])["me"]
            try expect(me?["tempMuted"], is: true, "tempMuted")
            let left = me?["tempMuteSeconds"]?.integer ?? 0
            try expect((500...600).contains(left), "tempMuteSeconds is \(left)")
            let error = try await client.sendRefusal(room)
            try expect(error, code: 13004, waits: true)
            try expect((500_000...600_000).contains(error["retryAfterMs"]?.integer ?? 0), "\(error.line)")
        },
        .init("2 members", "MUTED lists temporary mutes too, BLACKLISTED who may not enter, with their flags") { run in
            let (creator, muted, silent, out) = (
                run.name("creator"), run.name("muted"), run.name("silent"), run.name("out")
            )
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            try await run.done("PUT", ["rooms", room, "members", muted, "mute"], ["enable": true])
            try await run.done("PUT", ["rooms", room, "members", silent, "tempMute"], ["seconds": 600])
            try await run.done("PUT", ["rooms", room, "members", out, "blacklist"], ["enable": true])
            func members(_ kind: JSONTree) async throws -> [JSONTree] {
                try await owner.ask("members", ["room": .text(room), "kind": kind])["members"]?.items ?? []
            }
            let all = try await members("MUTED")
            try expect(Set(all.compactMap { $0["user"]?.text }) == [muted, silent], "MUTED is \(all)")
            let temporary = all.first { $0["user"]?.text == silent }
            try expect(temporary?["tempMuted"], is: true, "tempMuted")
            try expect((500...600).contains(temporary?["tempMuteSeconds"]?.integer ?? 0), "tempMuteSeconds")
            try expect(all.first { $0["user"]?.text == muted }?["muted"], is: true, "muted")
            let blacklisted = try await members("BLACKLISTED")
            try expect(blacklisted.compactMap { $0["user"]?.text } == [out], "BLACKLISTED is \(blacklisted)")
            try expect(blacklisted.first?["blacklisted"], is: true, "blacklisted")
            try expect(blacklisted.first?["online"], is: false, "online")
        },
        .init("2 Mutes", "in a muted room a guest's barrage is 13006, and a manager sends") { run in
            let (manager, room) = (run.name("ann"), try await run.room())
            try await run.done("PUT", ["rooms", room, "members", manager, "role"], ["role": "MANAGER"])
            let (client, guest) = (try await run.entered(room, manager), try await run.entered(room, run.name("bob")))
            try await run.done("PUT", ["rooms", room, "mute"], ["enable": true])
            try await guest.notification(318)
            try expect(try await guest.refusal("barrage", ["room": .text(room), "text": "b"]), code: 13006)
            try await client.send(room, "I may")
            try await client.ask("barrage", ["room": .text(room), "text": "b"])
            try await guest.message("I may")
        },
        .init("2 Roles", "roles, mutes and blacklist work on people who are away") { run in
            let (creator, one, two, three) = (run.name("creator"), run.name("a"), run.name("b"), run.name("c"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            try await owner.ask("setManager", change(room, one, ["enable": true]))
            try await owner.ask("setMute", change(room, two, ["enable": true]))
            try await owner.ask("tempMute", change(room, one, ["seconds": 600]))
            try await owner.ask("setBlacklist", change(room, three, ["enable": true]))
            let manager = try await run.connected(one)
            let me = try await manager.ask("enter", ["room": .text(room)])["me"]
            try expect(me?["role"], is: "MANAGER", "the role of who was away")
            try expect(me?["tempMuted"], is: true, "tempMuted of who was away")
            try expect(try await run.entered(room, two).sendRefusal(room), code: 13004)
            try expect(try await run.connected(three).refusal("enter", ["room": .text(room)]), code: 13003)
        },
    ]
}
