import ControlClient
import FoundationEssentials

/// Tokens, sessions and what others may learn of a member.
extension ConformanceCheck {
    static let tokenBounds: [ConformanceCheck] = [
        .init("3", "a lifetime over 366 days is refused") { run in
            let path = ["users", run.name("ann"), "token"]
            try await run.refused("POST", path, ["ttlSeconds": .integer(367 * 86_400)], status: 400, code: 414)
            try await run.done("POST", path, ["ttlSeconds": .integer(366 * 86_400 - 60)])
        },
        .init("3", "a token whose rooms is narrower, given by refresh, ends the stay in the others (reason 6)") { run in
            let (user, one, two) = (run.name("ann"), try await run.room(), try await run.room())
            let client = try await run.connected(user, claims: ["rooms": [.text(one), .text(two)]])
            try await client.ask("enter", ["room": .text(one)])
            try await client.ask("enter", ["room": .text(two)])
            try await client.ask("refresh", ["token": .text(try await run.token(user, ["rooms": [.text(one)]]))])
            let kicked = try await client.push("kicked")
            try expect(kicked["room"], is: .text(two), "the room")
            try expect(kicked["reason"], is: 6, "the reason")
            try await client.send(one, "still here")
            try expect(try await client.refusal("enter", ["room": .text(two)]), code: 403)
        },
        .init("3", "a token whose rooms is narrower, given by a takeover, ends the stay in the others (reason 6)") {
            run in
            let (user, one, two) = (run.name("ann"), try await run.room(), try await run.room())
            let watcher = try await run.entered(two, run.name("bob"))
            let old = try await run.open()
            let session = try await old.ask("connect", ["token": .text(try await run.token(user))])["session"]
            try await old.ask("enter", ["room": .text(one)])
            try await old.ask("enter", ["room": .text(two)])
            let new = try await run.open()
            let narrow = try await run.token(user, ["rooms": [.text(one)]])
            let answer = try await new.ask("connect", ["token": .text(narrow), "session": session ?? .null])
            try expect(answer["resumed"], is: true, "resumed")
            try expect(try await new.push("kicked") { $0["room"]?.text == two }["reason"], is: 6, "the reason")
            try await watcher.push("message") { push in
                [302, 313].contains(push["event"]?.integer ?? 0)
                    && push["targets"]?.items.first?["user"]?.text == user
            }
            try await new.ask("enter", ["room": .text(one)])
        },
    ]

    static let sessions: [ConformanceCheck] = [
        .init("2 Resume", "a foreign session just opens a new one, without resumed") { run in
            let old = try await run.open()
            let session = try await old.ask("connect", ["token": .text(try await run.token(run.name("ann")))])[
                "session"]
            let new = try await run.open()
            let token = try await run.token(run.name("bob"))
            let answer = try await new.ask("connect", ["token": .text(token), "session": session ?? .null])
            try expect(answer["resumed"], is: nil, "resumed")
            try expect(answer["session"] != session, "the foreign session was given away")
            try await old.ask("ping")
        },
        .init("2 Resume", "an anonymous client resumes with its session and anonymous: true") { run in
            let room = try await run.room()
            let old = try await run.open()
            let first = try await old.ask("connect", ["anonymous": true])
            try await old.ask("enter", ["room": .text(room), "nick": "N", "avatar": "a"])
            let new = try await run.open()
            let answer = try await new.ask(
                "connect", ["anonymous": true, "session": first["session"] ?? .null])
            try expect(answer["resumed"], is: true, "resumed")
            try expect(answer["user"], is: first["user"], "the user")
            try expect(try await old.closing() == 4410, "the old connection's close code is another")
        },
        .init("2 connect", "anonymous: true ignores a token") { run in
            let client = try await run.open()
            let answer = try await client.ask("connect", ["anonymous": true, "token": "not.a.token"])
            try expect(answer["anonymous"], is: true, "anonymous")
        },
        .init("2 Resume", "who is kicked during the grace is told so when coming back") { run in
            let (user, creator) = (run.name("ann"), run.name("creator"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let old = try await run.open()
            let token = try await run.token(user)
            let session = try await old.ask("connect", ["token": .text(token)])["session"]
            try await old.ask("enter", ["room": .text(room)])
            await old.drop()
            _ = try await old.closing()
            try await owner.ask("kick", ["room": .text(room), "user": .text(user), "notifyExt": "why"])
            let new = try await run.open()
            let answer = try await new.ask("connect", ["token": .text(token), "session": session ?? .null])
            try expect(answer["resumed"], is: true, "resumed")
            let kicked = try await new.push("kicked")
            try expect(kicked["room"], is: .text(room), "the room")
            try expect(kicked["reason"], is: 2, "the reason")
            try expect(kicked["ext"], is: "why", "ext")
        },
        .init("2 Retry", "a repeated clientId gets the first result over a new connection, and of another session") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let fields: JSONTree = ["room": .text(room), "clientId": "same", "type": "TEXT", "text": "once"]
            let one = try await run.entered(room, user)
            let first = try await one.ask("send", fields)
            await one.drop()
            let two = try await run.entered(room, user)
            try expect(try await two.ask("send", fields), is: first, "the second result")
        },
        .init("2 Retry", "every operation that changes something durable takes a clientId") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let bob = run.name("bob")
            let operations: [(String, JSONTree)] = [
                ("updateRoom", ["set": ["name": "N"]]), ("updateMe", ["set": ["nick": "N"]]),
                ("setMember", ["user": .text(bob), "enable": true]), ("setMute", ["user": .text(bob), "enable": true]),
                ("tempMute", ["user": .text(bob), "seconds": 5]), ("muteRoom", ["enable": true]),
                ("queueSet", ["key": "k", "value": "v"]), ("queueSetMany", ["values": ["k": "w"]]), ("queueClear", [:]),
                ("kick", ["user": .text(bob), "banSeconds": 5]),
            ]
            for (operation, fields) in operations {
                let asked = fields.adding(["room": .text(room), "clientId": .text("id-\(operation)")])
                let first = try await owner.ask(operation, asked)
                try expect(try await owner.ask(operation, asked), is: first, "the second result of \(operation)")
            }
            let events = await owner.pushes("message").filter { $0["event"]?.integer == 312 }
            try expect(events.count == 1, "312 was shown \(events.count) times")
        },
        .init("2 Unkept", "301 and 302 have after and no seq, and are not in history") { run in
            let room = try await run.room()
            let watcher = try await run.entered(room, run.name("ann"))
            let guest = try await run.entered(room, run.name("bob"))
            try await guest.ask("exit", ["room": .text(room)])
            for event: Int64 in [301, 302] {
                let push = try await watcher.notification(event)
                try expect(push["seq"] == nil && push["after"]?.integer != nil, "\(event) is \(push.line)")
            }
            let page = try await watcher.ask("history", ["room": .text(room)])
            let kept = page["messages"]?.items.compactMap { $0["event"]?.integer } ?? []
            try expect(!kept.contains(301) && !kept.contains(302), "history has \(kept)")
        },
        .init("2 Unkept", "to takes 50 users and mentions 50; 51 are 414") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            func users(_ count: Int) -> JSONTree { .array((1...count).map { .text("u\($0)") }) }
            for field in ["to", "mentions"] {
                try expect(try await client.sendRefusal(room, "t", [field: users(51)]), code: 414)
                try await client.send(room, "t", [field: users(50)])
            }
        },
        .init("2 send", "clientId has 1-64 bytes: 0 are refused, 65 are 413") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            func fields(_ id: String) -> JSONTree {
                ["room": .text(room), "clientId": .text(id), "type": "TEXT", "text": "t"]
            }
            try expect(try await client.refusal("send", fields(String(repeating: "c", count: 65))), code: 413)
            _ = try await client.refusal("send", fields(""))
            try await client.ask("send", fields(String(repeating: "c", count: 64)))
        },
        .init("2 barrage", "without id it is not answered, and shown all the same") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let fields: JSONTree = ["room": .text(room), "text": "quiet"]
            await client.write(text: JSONTree.object(["barrage": fields]).line)
            try await client.push("barrage") { $0["items"]?.items.first?["text"]?.text == "quiet" }
            let answers = await client.items.filter { $0["barrage"]?["accepted"] != nil || $0["error"] != nil }
            try expect(answers.isEmpty, "it was answered")
        },
    ]

    static let secrecy: [ConformanceCheck] = [
        .init("2 members", "flags of mutes and blacklist are shown to managers and to oneself only") { run in
            let (creator, muted) = (run.name("creator"), run.name("muted"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let guest = try await run.entered(room, run.name("ann"))
            let one = try await run.entered(room, muted)
            try await run.done("PUT", ["rooms", room, "members", muted, "mute"], ["enable": true])
            let away = run.name("away")
            try await run.done("PUT", ["rooms", room, "members", away, "blacklist"], ["enable": true])
            let users: JSONTree = ["room": .text(room), "users": [.text(muted), .text(away)]]
            func flags(_ client: ConformanceClient) async throws -> [Bool] {
                let members = try await client.ask("membersById", users)["members"]?.items ?? []
                return members.flatMap { member in
                    [member["muted"]?.boolean ?? false, member["blacklisted"]?.boolean ?? false]
                }
            }
            try expect(try await flags(owner).contains(true), "a manager does not see them")
            try expect(!(try await flags(guest).contains(true)), "a guest sees them")
            let own = try await one.ask("membersById", ["room": .text(room), "users": [.text(muted)]])
            try expect(own["members"]?.items.first?["muted"], is: true, "one's own flag")
        },
        .init("2 members", "BANNED is for managers (403), and lists who is banned, with the end") { run in
            let (creator, banned) = (run.name("creator"), run.name("banned"))
            let room = try await run.room(creator: creator)
            try await run.done("POST", ["rooms", room, "members", banned, "kick"], ["banSeconds": 60])
            let fields: JSONTree = ["room": .text(room), "kind": "BANNED"]
            try expect(try await run.entered(room, run.name("ann")).refusal("members", fields), code: 403)
            let page = try await run.entered(room, creator).ask("members", fields)
            let first = page["members"]?.items.first
            try expect(first?["user"], is: .text(banned), "the first of them")
            let left = (first?["banEndsAt"]?.integer ?? 0) - ConformanceRun.now
            try expect((0...90_000).contains(left), "banEndsAt is \(left) ms away")
        },
        .init("2 Kick", "banSeconds 0 lifts a ban, of people who are away too") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            try await owner.ask("kick", ["room": .text(room), "user": .text(user), "banSeconds": 600])
            let client = try await run.connected(user)
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 13003, waits: true)
            try await owner.ask("kick", ["room": .text(room), "user": .text(user), "banSeconds": 0])
            try await client.ask("enter", ["room": .text(room)])
        },
        .init("2 Blacklist", "an anonymous member who is blacklisted stays out with the same session (13003)") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let client = try await run.open()
            let user = try await client.ask("connect", ["anonymous": true])["user"] ?? .null
            let enter: JSONTree = ["room": .text(room), "nick": "N", "avatar": "a"]
            try await client.ask("enter", enter)
            try await owner.ask("setBlacklist", ["room": .text(room), "user": user, "enable": true])
            try expect(try await client.push("kicked")["reason"], is: 5, "the reason")
            try expect(try await client.refusal("enter", enter), code: 13003)
            // The address would keep the other checks' anonymous clients out of this room only.
            try await owner.ask("setBlacklist", ["room": .text(room), "user": user, "enable": false])
        },
    ]

    static let signing: [ConformanceCheck] = [
        .init("4", "a signed request with an unknown key, or without all four headers, is 401") { run in
            let now = String(Int64(Date().timeIntervalSince1970 * 1000))
            var headers = [
                "X-Chatroom-Key": "no-such-key", "X-Chatroom-Time": now, "X-Chatroom-Nonce": run.name("nonce"),
                "X-Chatroom-Signature": String(repeating: "0", count: 64),
            ]
            let path = "/v1/rooms/\(run.name("none"))/messages"
            let body: JSONTree = ["type": "TEXT", "text": "t"]
            try expect(try await run.plain("POST", path, body: body, headers: headers).status == 401, "it was not")
            headers["X-Chatroom-Nonce"] = nil
            try expect(try await run.plain("POST", path, body: body, headers: headers).status == 401, "it was not")
        },
        .init("4 messages", "GET …/messages/{messageId} gives one message; recalled it has no body") { run in
            let room = try await run.room()
            let sent = try await run.done("POST", ["rooms", room, "messages"], ["type": "TEXT", "text": "one"])
            guard let id = sent["messageId"]?.text else { throw Deviation("there is no messageId") }
            let path = ["rooms", room, "messages", id]
            try expect(try await run.done("GET", path)["text"], is: "one", "text")
            try await run.done("POST", path + ["recall"])
            let recalled = try await run.done("GET", path)
            try expect(recalled["recalled"], is: true, "recalled")
            try expect(recalled["text"], is: nil, "text")
        },
        .init("4 rooms", "sort=online lists the fullest rooms first") { run in
            let room = try await run.room()
            let robots: [JSONTree] = (1...100).map { .text("robot-\($0)") }
            try await run.done("POST", ["rooms", room, "robots"], ["robots": .array(robots)])
            let page = try await run.done("GET", ["rooms"], query: [("sort", "online"), ("limit", "100")])
            let online = page["rooms"]?.items.compactMap { $0["online"]?.integer } ?? []
            try expect(!online.isEmpty && online == online.sorted(by: >), "the order is \(online.prefix(10))")
        },
        .init("4 Robots", "10,000 robots may be in a room, and no more") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            for part in 0..<100 {
                let robots: [JSONTree] = (1...100).map { .text("robot-\(part * 100 + $0)") }
                try await run.done("POST", ["rooms", room, "robots"], ["robots": .array(robots)])
            }
            try await run.refused("POST", ["rooms", room, "robots"], ["robots": ["one-more"]], status: 400, code: 414)
            try expect(try await run.done("GET", ["rooms", room])["online"], is: 10_000, "online")
        },
    ]
}
