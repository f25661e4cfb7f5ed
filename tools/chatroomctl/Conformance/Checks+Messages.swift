import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    static let sending: [ConformanceCheck] = [
        .init("2 Order", "seq has no holes, and the sender gets its own push after its ack") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            var last: Int64?
            for number in 1...3 {
                let ack = try await client.send(room, "n\(number)")
                guard let seq = ack["seq"]?.integer, ack["messageId"]?.text != nil, ack["time"]?.integer != nil else {
                    throw Deviation("the ack is \(ack.line)")
                }
                if let last { try expect(seq == last + 1, "\(seq) follows \(last)") }
                last = seq
            }
            try await client.message("n3")
            let items = await client.items
            let ack = items.lastIndex { $0["send"] != nil }
            let push = items.firstIndex { $0["message"]?["text"]?.text == "n3" }
            try expect((ack ?? 0) < (push ?? 0), "the push came before the ack")
            try expect(await client.texts() == ["n1", "n2", "n3"], "the pushes are not in order, each once")
        },
        .init("2 Order", "seq starts at 1") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            try expect(try await client.send(room, "first")["seq"], is: 1, "the first seq")
        },
        .init("2 Retry", "a repeated clientId gets the first result and changes nothing") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let fields: JSONTree = ["room": .text(room), "clientId": "same", "type": "TEXT", "text": "once"]
            let first = try await client.ask("send", fields)
            try expect(try await client.ask("send", fields), is: first, "the second result")
            let page = try await client.ask("history", ["room": .text(room), "types": ["TEXT"]])
            try expect(page["messages"]?.items.count == 1, "it was kept more than once")
        },
        .init("2 Retry", "a refused try does not use the clientId up") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let fields: JSONTree = ["room": .text(room), "clientId": "same", "type": "TEXT", "text": "later"]
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": true])
            try expect(try await client.refusal("send", fields), code: 13004)
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": false])
            try await client.ask("send", fields)
        },
        .init("2 Unkept", "history: false is pushed with after and without seq, and not kept") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let ack = try await client.send(room, "unkept", ["history": false])
            try expect(ack["seq"], is: nil, "the ack's seq")
            let push = try await client.message("unkept")
            try expect(push["seq"] == nil && push["after"]?.integer != nil, "the push is \(push.line)")
            let page = try await client.ask("history", ["room": .text(room), "types": ["TEXT"]])
            try expect(page["messages"]?.items.isEmpty == true, "it was kept")
        },
        .init("2 Unkept", "to goes to those users and the sender only, and the ack says to how many") { run in
            let (bob, eve) = (run.name("bob"), run.name("eve"))
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let (to, other) = (try await run.entered(room, bob), try await run.entered(room, eve))
            let ack = try await client.send(room, "secret", ["to": [.text(bob), .text(run.name("away"))]])
            try expect(ack["delivered"], is: 1, "delivered")
            try await to.message("secret")
            try await client.message("secret")
            try await client.send(room, "open")
            try await other.message("open")
            try expect(!(await other.texts().contains("secret")), "another member has seen it")
        },
        .init("2 Priority", "HIGH of a guest counts as NORMAL, and the ack says so; of the server API it holds") {
            run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try expect(try await client.send(room, "loud", ["priority": "HIGH"])["priority"], is: "NORMAL", "priority")
            try await run.done(
                "POST", ["rooms", room, "messages"], ["type": "TEXT", "text": "news", "priority": "HIGH"])
            try expect(try await client.message("news")["priority"], is: "HIGH", "the pushed priority")
        },
        .init("2 Priority", "mentionAll is for creator and managers (403)") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let guest = try await run.entered(room, run.name("ann"))
            try expect(try await guest.sendRefusal(room, "all", ["mentionAll": true]), code: 403)
            try await run.entered(room, creator).send(room, "all", ["mentionAll": true])
            try expect(try await guest.message("all")["mentionAll"], is: true, "mentionAll")
        },
        .init("2 recall", "the sender recalls: 323 with messageIds; history keeps it without its body") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let ack = try await client.send(room, "oops")
            try await client.ask("recall", ["room": .text(room), "messageId": ack["messageId"] ?? .null])
            let event = try await client.notification(323)
            try expect(event["data"]?["messageIds"], is: [ack["messageId"] ?? .null], "data.messageIds")
            let page = try await client.ask("history", ["room": .text(room), "types": ["TEXT"]])
            guard let kept = page["messages"]?.items.first else { throw Deviation("it is gone from history") }
            try expect(kept["recalled"], is: true, "recalled")
            try expect(kept["text"], is: nil, "text")
        },
        .init("2 recall", "others may not recall (403), managers may") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let client = try await run.entered(room, run.name("ann"))
            let ack = try await client.send(room, "mine")
            let recall: JSONTree = ["room": .text(room), "messageId": ack["messageId"] ?? .null]
            try expect(try await run.entered(room, run.name("bob")).refusal("recall", recall), code: 403)
            try await run.entered(room, creator).ask("recall", recall)
        },
        .init("2 barrage", "with id it is accepted; it is shown to the others and to its sender") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user, ["nick": "Ann"])
            let viewer = try await run.entered(room, run.name("bob"))
            try expect(
                try await client.ask("barrage", ["room": .text(room), "text": "whoosh"])["accepted"], is: true,
                "accepted")
            for one in [client, viewer] {
                let push = try await one.push("barrage") { $0["items"]?.items.first?["text"]?.text == "whoosh" }
                let from = push["items"]?.items.first?["from"]
                try expect(from?["user"], is: .text(user), "from.user")
                try expect(from?["nick"], is: "Ann", "from.nick")
                try expect(from?["role"], is: "GUEST", "from.role")
            }
        },
    ]

    private static func sendsType(_ type: String, _ body: JSONTree) -> ConformanceCheck {
        .init("2 Types", "\(type) is taken and shown with its body") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let fields: JSONTree = ["room": .text(room), "clientId": "one", "type": .text(type)]
            try await client.ask("send", fields.adding(body))
            let push = try await client.push("message") { $0["type"]?.text == type }
            guard case .object(let members) = body else { return }
            for (name, value) in members { try expect(push[name], is: value, name) }
        }
    }

    private static func media(size: Int64 = 1000, seconds: JSONTree? = nil) -> JSONTree {
        var media: JSONTree = [
            "url": "https://files.example/1", "name": "1", "size": .integer(size), "contentType": "x/y",
        ]
        if let seconds { media = media.adding(["durationSeconds": seconds]) }
        return ["media": media]
    }

    static let messageTypes: [ConformanceCheck] = [
        sendsType("TEXT", ["text": "hello"]), sendsType("TIP", ["text": "tip"]),
        sendsType("COMMAND", ["payload": "AQID"]), sendsType("IMAGE", media()),
        sendsType("AUDIO", media(seconds: 300)), sendsType("VIDEO", media()), sendsType("FILE", media()),
        sendsType("LOCATION", ["latitude": 1, "longitude": 2, "title": "here"]),
        sendsType("CUSTOM", ["content": "{}", "subtype": 200, "searchable": "s"]),
        .init("2 Types", "COMMAND is never kept") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            let fields: JSONTree = ["room": .text(room), "clientId": "one", "type": "COMMAND", "payload": "AQID"]
            try expect(try await client.ask("send", fields)["seq"], is: nil, "seq")
            let page = try await client.ask("history", ["room": .text(room)])
            try expect(page["messages"]?.items.isEmpty == true, "it was kept")
        },
        .init("2 Types", "NOTIFICATION is the room's own: a client can't send it") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            _ = try await client.refusal(
                "send", ["room": .text(room), "clientId": "one", "type": "NOTIFICATION", "event": 301])
        },
        .init("2 Types", "COMBINE keeps copies that combined gives to members of the room") { run in
            let (source, room) = (try await run.room(), try await run.room())
            let client = try await run.entered(source, run.name("ann"))
            try await client.ask("enter", ["room": .text(room)])
            let ids = [try await client.send(source, "one"), try await client.send(source, "two")]
                .compactMap { $0["messageId"] }
            let ack = try await client.ask(
                "send",
                [
                    "room": .text(room), "clientId": "c", "type": "COMBINE", "title": "t", "summary": "s",
                    "messageIds": .array(ids),
                ])
            let reader = try await run.entered(room, run.name("bob"))
            let copies = try await reader.ask(
                "combined", ["room": .text(room), "messageId": ack["messageId"] ?? .null])
            try expect(
                copies["messages"]?.items.compactMap { $0["text"]?.text } == ["one", "two"], "combined: \(copies.line)")
        },
        .init("2 Types", "COMBINE of a room that the sender is not in is refused") { run in
            let (source, room) = (try await run.room(), try await run.room())
            let owner = try await run.entered(source, run.name("bob"))
            let id = try await owner.send(source, "private")["messageId"] ?? .null
            let client = try await run.entered(room, run.name("ann"))
            _ = try await client.refusal(
                "send",
                [
                    "room": .text(room), "clientId": "c", "type": "COMBINE", "title": "t", "summary": "s",
                    "messageIds": [id],
                ])
        },
    ]

    private static func letters(_ count: Int) -> JSONTree { .text(String(repeating: "a", count: count)) }

    /// A field of `send` at its limit, and one over it.
    private static func limit(
        _ what: String, fits: JSONTree, tooMuch: JSONTree, code: Int64 = 413
    ) -> ConformanceCheck {
        .init("2 Limits", "\(what); one more is \(code)") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let base: JSONTree = ["room": .text(room), "clientId": "one", "type": "TEXT", "text": "t"]
            try expect(try await client.refusal("send", base.adding(tooMuch)), code: code)
            try await client.ask("send", base.adding(fits))
        }
    }

    private static func mediaLimit(_ type: String, megabytes: Int64) -> ConformanceCheck {
        let bytes = megabytes << 20
        let head: JSONTree = ["type": .text(type)]
        return limit(
            "\(type) up to \(megabytes) MB", fits: head.adding(media(size: bytes)),
            tooMuch: head.adding(media(size: bytes + 1)))
    }

    static let lengths: [ConformanceCheck] = [
        limit("text up to 32 KB", fits: ["text": letters(32 * 1024)], tooMuch: ["text": letters(32 * 1024 + 1)]),
        limit(
            "a COMMAND's payload up to 5 KB, decoded",
            fits: ["type": "COMMAND", "payload": .text(Data(count: 5 * 1024).base64EncodedString())],
            tooMuch: ["type": "COMMAND", "payload": .text(Data(count: 5 * 1024 + 1).base64EncodedString())]),
        limit(
            "CUSTOM content up to 32 KB", fits: ["type": "CUSTOM", "content": letters(32 * 1024), "subtype": 0],
            tooMuch: ["type": "CUSTOM", "content": letters(32 * 1024 + 1), "subtype": 0]),
        limit(
            "CUSTOM subtype up to 200", fits: ["type": "CUSTOM", "content": "c", "subtype": 200],
            tooMuch: ["type": "CUSTOM", "content": "c", "subtype": 201], code: 414),
        limit(
            "searchable up to 64 bytes",
            fits: ["type": "CUSTOM", "content": "c", "subtype": 0, "searchable": letters(64)],
            tooMuch: ["type": "CUSTOM", "content": "c", "subtype": 0, "searchable": letters(65)]),
        limit("ext up to 4096 bytes", fits: ["ext": letters(4096)], tooMuch: ["ext": letters(4097)]),
        limit("clientId up to 64 bytes", fits: ["clientId": letters(64)], tooMuch: ["clientId": letters(65)]),
        limit(
            "mentions up to 50", fits: ["mentions": .array((1...50).map { .text("u\($0)") })],
            tooMuch: ["mentions": .array((1...51).map { .text("u\($0)") })], code: 414),
        limit(
            "to up to 50", fits: ["to": .array((1...50).map { .text("u\($0)") })],
            tooMuch: ["to": .array((1...51).map { .text("u\($0)") })], code: 414),
        mediaLimit("IMAGE", megabytes: 10), mediaLimit("AUDIO", megabytes: 6), mediaLimit("VIDEO", megabytes: 100),
        mediaLimit("FILE", megabytes: 100),
        limit(
            "AUDIO up to 300 s", fits: (["type": "AUDIO"] as JSONTree).adding(media(seconds: 300)),
            tooMuch: (["type": "AUDIO"] as JSONTree).adding(media(seconds: 301))),
        .init("2 Limits", "nick up to 256 bytes, avatar 1 KB, ext 4096, notifyExt 2048; one more is 413") { run in
            let room = try await run.room()
            let client = try await run.connected(run.name("ann"))
            for (field, bytes) in [("nick", 256), ("avatar", 1024), ("ext", 4096), ("notifyExt", 2048)] {
                let base: JSONTree = ["room": .text(room)]
                let error = try await client.refusal("enter", base.adding(.object([field: letters(bytes + 1)])))
                try expect(error, code: 413)
                try expect(error["field"], is: .text(field), "field")
                try await client.ask("enter", base.adding(.object([field: letters(bytes)])))
            }
        },
        .init("2 Limits", "bytes of UTF-8 count, not characters") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, String(repeating: "é", count: 16 * 1024))
            try expect(try await client.sendRefusal(room, String(repeating: "é", count: 16 * 1024) + "a"), code: 413)
        },
        .init("2 Limits", "barrage text up to 5 KB, ext 1 KB, style 256 bytes; one more is 413") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            for (field, bytes) in [("text", 5 * 1024), ("ext", 1024), ("style", 256)] {
                let base: JSONTree = ["room": .text(room), "text": "b"]
                try expect(
                    try await client.refusal("barrage", base.adding(.object([field: letters(bytes + 1)]))), code: 413)
                try await client.ask("barrage", base.adding(.object([field: letters(bytes)])))
            }
        },
    ]

    static let receiving: [ConformanceCheck] = [
        .init("2 Codes", "301 has data {avatar, ext, role, online} and the notifyExt; 302 has {online}") { run in
            let (user, room) = (run.name("bob"), try await run.room())
            let watcher = try await run.entered(room, run.name("ann"))
            let client = try await run.entered(
                room, user, ["nick": "Bob", "avatar": "a", "ext": "e", "notifyExt": "hi"])
            let entered = try await watcher.notification(301) { $0["targets"]?.items.first?["user"]?.text == user }
            try expect(entered["notifyExt"], is: "hi", "notifyExt")
            try expect(entered["targets"], is: [["user": .text(user), "nick": "Bob"]], "targets")
            try expect(
                entered["data"], is: ["avatar": "a", "ext": "e", "role": "GUEST", "online": 2], "data")
            try expect(entered["seq"] == nil && entered["after"]?.integer != nil, "301 is not kept: \(entered.line)")
            try await client.ask("exit", ["room": .text(room)])
            let left = try await watcher.notification(302) { $0["targets"]?.items.first?["user"]?.text == user }
            try expect(left["data"], is: ["online": 1], "data of 302")
        },
        .init("2 Codes", "enterExitNotify NONE shows neither 301 nor 302") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let watcher = try await run.entered(room, run.name("ann"))
            let client = try await run.entered(room, run.name("bob"))
            try await client.send(room, "here")
            try await client.ask("exit", ["room": .text(room)])
            try await watcher.send(room, "gone")
            try await watcher.message("gone")
            let events = await watcher.pushes("message").compactMap { $0["event"]?.integer }
            try expect(events.isEmpty, "events \(events) were shown")
        },
        .init("2", "online is told on change") { run in
            let room = try await run.room()
            let watcher = try await run.entered(room, run.name("ann"))
            _ = try await run.entered(room, run.name("bob"))
            try await watcher.push("online") { $0["room"]?.text == room && $0["online"]?.integer == 2 }
        },
        .init("4", "a direct message reaches the user's sessions, without room and seq") { run in
            let user = run.name("ann")
            let client = try await run.connected(user)
            let answer = try await run.done("POST", ["users", user, "messages"], ["type": "TEXT", "text": "psst"])
            guard case .object(let members) = answer, members.values.contains(.integer(1)) else {
                throw Deviation("the answer does not say 1 session: \(answer.line)")
            }
            let push = try await client.push("direct")
            try expect(push["text"], is: "psst", "text")
            try expect(push["room"] == nil && push["seq"] == nil, "it has a room or a seq: \(push.line)")
        },
        .init("4", "a broadcast reaches everyone online, without room and seq") { run in
            let text = run.name("to-all")
            let client = try await run.connected(run.name("ann"))
            try await run.done("POST", ["broadcast"], ["type": "TEXT", "text": .text(text)])
            let push = try await client.push("broadcast") { $0["text"]?.text == text }
            try expect(push["room"] == nil && push["seq"] == nil, "it has a room or a seq: \(push.line)")
        },
    ]

    static let rates: [ConformanceCheck] = [
        .init("2 Rates", "beyond 20 at once, changing operations are refused with 416 and retryAfterMs") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let ids = [Int64](1001...1060)
            let requests = ids.map { id -> String in
                let fields: JSONTree = [
                    "room": .text(room), "clientId": .text("c\(id)"), "type": "TEXT", "text": "t",
                ]
                return JSONTree.object(["id": .integer(id), "send": fields]).line
            }
            // In one frame they come at one moment: what becomes free meanwhile would let slow ones pass.
            await client.write(text: requests.joined(separator: "\n"))
            var refused = 0
            for id in ids {
                guard let error = try await client.reply(to: id)["error"] else { continue }
                refused += 1
                try expect(error, code: 416, waits: true)
            }
            try expect(refused > 0, "none of 60 at once was refused")
            try expect(refused <= 41, "\(refused) of 60 were refused, though 20 may come at once")
        },
        .init("2 Rates", "barrage is never refused for rate") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            var ids: [Int64] = []
            for _ in 1...60 { ids.append(await client.begin("barrage", ["room": .text(room), "text": "b"])) }
            for id in ids {
                let reply = try await client.reply(to: id)
                try expect(reply["barrage"]?["accepted"], is: true, "accepted (\(reply.line))")
            }
        },
        .init("2 Rates", "slow mode: one message per user in slowModeSeconds (416), managers exempt") { run in
            let creator = run.name("creator")
            let room = try await run.room(["slowModeSeconds": 60], creator: creator)
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, "one")
            try expect(try await client.sendRefusal(room), code: 416, waits: true)
            let owner = try await run.entered(room, creator)
            try await owner.send(room, "a")
            try await owner.send(room, "b")
        },
    ]
}
