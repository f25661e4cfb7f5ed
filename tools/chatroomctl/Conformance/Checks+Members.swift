import ControlClient

extension ConformanceCheck {
    private static func change(_ room: String, _ user: String, _ more: JSONTree = [:]) -> JSONTree {
        (["room": .text(room), "user": .text(user)] as JSONTree).adding(more)
    }

    static let roles: [ConformanceCheck] = [
        .init("2 Roles", "the creator sets and unsets managers: 307, then 308 to normal") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let member = try await owner.ask("setManager", change(room, user, ["enable": true, "notifyExt": "x"]))
            try expect(member["member"]?["role"], is: "MANAGER", "the role")
            let event = try await owner.notification(307)
            try expect(event["operator"]?["user"], is: .text(creator), "operator.user")
            try expect(event["targets"]?.items.first?["user"], is: .text(user), "targets[0].user")
            try expect(event["notifyExt"], is: "x", "notifyExt")
            let normal = try await owner.ask("setManager", change(room, user, ["enable": false]))
            try expect(normal["member"]?["role"], is: "NORMAL", "the role afterwards")
            try await owner.notification(308)
        },
        .init("2 Roles", "only the creator sets managers (403)") { run in
            let (creator, manager) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            try await run.done("PUT", ["rooms", room, "members", manager, "role"], ["role": "MANAGER"])
            let client = try await run.entered(room, manager)
            try expect(
                try await client.refusal("setManager", change(room, run.name("bob"), ["enable": true])), code: 403)
        },
        .init("2 Roles", "nobody acts on an equal or higher rank, nor on oneself (403)") { run in
            let (creator, one, two) = (run.name("creator"), run.name("ann"), run.name("bob"))
            let room = try await run.room(creator: creator)
            for manager in [one, two] {
                try await run.done("PUT", ["rooms", room, "members", manager, "role"], ["role": "MANAGER"])
            }
            let client = try await run.entered(room, one)
            for target in [creator, two, one] {
                try expect(try await client.refusal("setMute", change(room, target, ["enable": true])), code: 403)
                try expect(try await client.refusal("kick", change(room, target)), code: 403)
            }
        },
        .init("2 Roles", "managers make and unmake fixed members: 309, 310") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let member = try await owner.ask("setMember", change(room, user, ["enable": true]))
            try expect(member["member"]?["role"], is: "NORMAL", "the role")
            try await owner.notification(309)
            try await owner.ask("setMember", change(room, user, ["enable": false]))
            try await owner.notification(310)
        },
        .init("2 Roles", "a guest changes no roles (403)") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let target = run.name("bob")
            for operation in ["setManager", "setMember", "setBlacklist", "setMute"] {
                try expect(try await client.refusal(operation, change(room, target, ["enable": true])), code: 403)
            }
            try expect(try await client.refusal("tempMute", change(room, target, ["seconds": 5])), code: 403)
            try expect(try await client.refusal("muteRoom", ["room": .text(room), "enable": true]), code: 403)
            try expect(try await client.refusal("kick", change(room, target)), code: 403)
        },
    ]

    static let sanctions: [ConformanceCheck] = [
        .init("2 Mutes", "a muted user can't send or barrage (13004), with 305; unmuted he can, with 306") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let (owner, client) = (try await run.entered(room, creator), try await run.entered(room, user))
            let member = try await owner.ask("setMute", change(room, user, ["enable": true]))
            try expect(member["member"]?["muted"], is: true, "muted")
            try expect(member["member"]?["role"], is: "RESTRICTED", "the role")
            try await client.notification(305)
            try expect(try await client.sendRefusal(room), code: 13004)
            try expect(try await client.refusal("barrage", ["room": .text(room), "text": "b"]), code: 13004)
            try expect(
                try await client.refusal("queueSet", ["room": .text(room), "key": "k", "value": "v"]), code: 13004)
            try await owner.ask("setMute", change(room, user, ["enable": false]))
            try await client.notification(306)
            try await client.send(room, "free")
        },
        .init("2 Mutes", "a temporary mute says how long (314, 13004 with retryAfterMs) and ends by itself (315)") {
            run in
            let (creator, one, two) = (run.name("creator"), run.name("ann"), run.name("bob"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            // One that outlasts the question, and one whose end can be waited for.
            let ann = try await run.entered(room, one)
            try await owner.ask("tempMute", change(room, one, ["seconds": 60]))
            try expect(try await ann.notification(314)["data"], is: ["seconds": 60], "data of 314")
            try expect(try await ann.sendRefusal(room), code: 13004, waits: true)
            let bob = try await run.entered(room, two)
            try await owner.ask("tempMute", change(room, two, ["seconds": 1]))
            let lifted = try await bob.notification(315)
            try expect(lifted["operator"], is: nil, "operator of 315")
            try expect(lifted["targets"]?.items.first?["user"], is: .text(two), "targets[0].user")
            try await bob.send(room, "free")
        },
        .init("2 Mutes", "a temporary mute of 0 s lifts it; more than 30 days is refused (414)") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let longest: Int64 = 30 * 86_400
            try expect(
                try await owner.refusal("tempMute", change(room, user, ["seconds": .integer(longest + 1)])), code: 414)
            let member = try await owner.ask("tempMute", change(room, user, ["seconds": .integer(longest)]))
            try expect(member["member"]?["tempMuted"], is: true, "tempMuted")
            try await owner.ask("tempMute", change(room, user, ["seconds": 0]))
            try await owner.notification(315)
        },
        .init("2 Mutes", "in a muted room only creator and managers send (13006; 318, 319)") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let (owner, client) = (try await run.entered(room, creator), try await run.entered(room, run.name("ann")))
            try await owner.ask("muteRoom", ["room": .text(room), "enable": true])
            try await client.notification(318)
            try expect(try await client.sendRefusal(room), code: 13006)
            try await owner.send(room, "I may")
            try await client.ask("queueSet", ["room": .text(room), "key": "k", "value": "the queue stays open"])
            try await owner.ask("muteRoom", ["room": .text(room), "enable": false])
            try await client.notification(319)
            try await client.send(room, "free")
        },
        .init("2 Kick", "a kick: kicked with reason 2 and ext, 313, no 302; with banSeconds 13003 until then") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let (owner, client) = (try await run.entered(room, creator), try await run.entered(room, user))
            try await owner.ask("kick", change(room, user, ["notifyExt": "why", "banSeconds": 60]))
            let kicked = try await client.push("kicked")
            try expect(kicked["reason"], is: 2, "the reason")
            try expect(kicked["ext"], is: "why", "ext")
            try await owner.notification(313)
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 13003, waits: true)
            try await owner.send(room, "after")
            try await owner.message("after")
            let events = await owner.pushes("message").compactMap { $0["event"]?.integer }
            try expect(!events.contains(302), "302 was shown besides")
        },
        .init("2 Blacklist", "blacklisting kicks with reason 5 and forbids entering (303, 13003); 304 ends it") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let (owner, client) = (try await run.entered(room, creator), try await run.entered(room, user))
            let member = try await owner.ask("setBlacklist", change(room, user, ["enable": true]))
            try expect(member["member"]?["blacklisted"], is: true, "blacklisted")
            try expect(try await client.push("kicked")["reason"], is: 5, "the reason")
            try await owner.notification(303)
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 13003)
            try await owner.ask("setBlacklist", change(room, user, ["enable": false]))
            try await owner.notification(304)
            try await client.ask("enter", ["room": .text(room)])
        },
        .init("2 Closing", "closing kicks all with reason 1; entering is 13002; reopening brings everything back") {
            run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, "kept")
            try await run.done("POST", ["rooms", room, "close"])
            try expect(try await client.push("kicked")["reason"], is: 1, "the reason")
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 13002)
            try await run.refused(
                "POST", ["rooms", room, "messages"], ["type": "TEXT", "text": "no"], status: 409, code: 13002)
            try await run.done("POST", ["rooms", room, "reopen"])
            try await client.ask("enter", ["room": .text(room)])
            let page = try await client.ask("history", ["room": .text(room), "types": ["TEXT"]])
            try expect(page["messages"]?.items.first?["text"], is: "kept", "the kept text")
        },
    ]

    static let membersAndRooms: [ConformanceCheck] = [
        .init("2 members", "the listings FIXED, FIXED_ONLINE, TEMPORARY, TEMPORARY_REVERSED and MANAGERS") { run in
            let (creator, one, two) = (run.name("creator"), run.name("ann"), run.name("bob"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            for user in [one, two] { _ = try await run.entered(room, user) }
            func users(_ kind: String) async throws -> [String] {
                let page = try await owner.ask("members", ["room": .text(room), "kind": .text(kind)])
                return page["members"]?.items.compactMap { $0["user"]?.text } ?? []
            }
            try expect(try await users("FIXED") == [creator], "FIXED")
            try expect(try await users("FIXED_ONLINE") == [creator], "FIXED_ONLINE")
            try expect(try await users("MANAGERS").allSatisfy { $0 == creator }, "MANAGERS")
            try expect(try await users("TEMPORARY") == [two, one], "TEMPORARY is not latest first")
            try expect(try await users("TEMPORARY_REVERSED") == [one, two], "TEMPORARY_REVERSED")
        },
        .init("2 members", "MUTED and BLACKLISTED are for managers (403)") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let guest = try await run.entered(room, run.name("ann"))
            let owner = try await run.entered(room, creator)
            for kind in ["MUTED", "BLACKLISTED"] {
                try expect(
                    try await guest.refusal("members", ["room": .text(room), "kind": .text(kind)]), code: 403)
                try await owner.ask("members", ["room": .text(room), "kind": .text(kind)])
            }
        },
        .init("2 members", "limit 1-100; 0 and 101 are refused (414)") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            for limit: JSONTree in [0, 101] {
                let fields: JSONTree = ["room": .text(room), "kind": "FIXED", "limit": limit]
                try expect(try await client.refusal("members", fields), code: 414)
            }
            try await client.ask("members", ["room": .text(room), "kind": "FIXED", "limit": 100])
        },
        .init("2 members", "membersById takes 20 users; 21 are refused (414)") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let many = (1...19).map { JSONTree.text("nobody-\($0)") }
            let page = try await client.ask(
                "membersById", ["room": .text(room), "users": .array(many + [.text(user)])])
            try expect(page["members"]?.items.contains { $0["user"]?.text == user } == true, "the user is missing")
            try expect(
                try await client.refusal(
                    "membersById", ["room": .text(room), "users": .array(many + [.text(user), "x"])]), code: 414)
        },
        .init("2 updateMe", "updateMe shows 316 with what was set; save keeps it for a fixed member") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            try await run.done("PUT", ["rooms", room, "members", user, "role"], ["role": "NORMAL"])
            let client = try await run.entered(room, user)
            let answer = try await client.ask(
                "updateMe", ["room": .text(room), "set": ["nick": "New"], "save": true, "notifyExt": "x"])
            try expect(answer["member"]?["nick"], is: "New", "member.nick")
            let event = try await client.notification(316)
            try expect(event["data"]?["set"], is: ["nick": "New"], "data.set")
            try await client.ask("exit", ["room": .text(room)])
            try expect(try await client.ask("enter", ["room": .text(room)])["me"]?["nick"], is: "New", "the saved nick")
        },
        .init("2 updateRoom", "managers change the room: 312 with what was set; a guest gets 403") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let (owner, guest) = (try await run.entered(room, creator), try await run.entered(room, run.name("ann")))
            let fields: JSONTree = ["room": .text(room), "set": ["name": "New name"]]
            try expect(try await guest.refusal("updateRoom", fields), code: 403)
            try expect(try await owner.ask("updateRoom", fields)["room"]?["name"], is: "New name", "room.name")
            try expect(try await guest.notification(312)["data"]?["set"], is: ["name": "New name"], "data.set")
            let long = String(repeating: "n", count: 513)
            try expect(
                try await owner.refusal("updateRoom", ["room": .text(room), "set": ["name": .text(long)]]), code: 413)
        },
        .init("2 room", "room answers the room and the seq") { run in
            let room = try await run.room(["name": "N"])
            let client = try await run.entered(room, run.name("ann"))
            let answer = try await client.ask("room", ["room": .text(room)])
            try expect(answer["room"]?["name"], is: "N", "room.name")
            try expect(answer["room"]?["online"], is: 1, "room.online")
            try expect(answer["seq"]?.integer != nil, "there is no seq")
        },
    ]
}
