import ControlClient

/// The fields of a pushed message and its ack, and the right to recall (PROTOCOL.md, "Message").
extension ConformanceCheck {
    private static func recall(_ room: String, _ messageID: JSONTree?) -> JSONTree {
        ["room": .text(room), "messageId": messageID ?? .null]
    }

    static let messageFields: [ConformanceCheck] = [
        .init(
            "2 Message", "a pushed message has clientId, time, mentions, ext and from {user, nick, avatar, ext, role}"
        ) { run in
            let (ann, bob, room) = (run.name("ann"), run.name("bob"), try await run.room())
            let viewer = try await run.entered(room, bob)
            let client = try await run.entered(room, ann, ["nick": "Ann", "avatar": "a", "ext": "mine"])
            let more: JSONTree = ["clientId": "c0ffee", "mentions": [.text(bob)], "ext": "more", "priority": "LOW"]
            let ack = try await client.send(room, "hello", more)
            for one in [viewer, client] {
                let push = try await one.message("hello")
                try expect(push["room"], is: .text(room), "room")
                for field in ["messageId", "seq", "time"] { try expect(push[field], is: ack[field], field) }
                for field in ["clientId", "mentions", "ext", "priority"] {
                    try expect(push[field], is: more[field], field)
                }
                try expect(push["type"], is: "TEXT", "type")
                let from: JSONTree = [
                    "user": .text(ann), "nick": "Ann", "avatar": "a", "ext": "mine", "role": "GUEST",
                ]
                try expect(push["from"], is: from, "from")
            }
            let kept = try await viewer.ask("history", ["room": .text(room), "types": ["TEXT"]])["messages"]?.items
                .first
            try expect(kept, is: try await viewer.message("hello"), "the message in history")
        },
        .init("2 Message", "a message with `to` shows to whom it went") { run in
            let (bob, room) = (run.name("bob"), try await run.room())
            let client = try await run.entered(room, run.name("ann"))
            let viewer = try await run.entered(room, bob)
            let ack = try await client.send(room, "secret", ["to": [.text(bob)]])
            for one in [client, viewer] {
                let push = try await one.message("secret")
                try expect(push["to"], is: [.text(bob)], "to")
                try expect(push["after"], is: ack["after"], "after")
                try expect(push["seq"], is: nil, "seq")
            }
        },
        .init("2 Unkept", "the ack of an unkept message has after, the seq that it follows, and no seq") { run in
            let (ann, room) = (run.name("ann"), try await run.room(["enterExitNotify": "NONE"]))
            let client = try await run.entered(room, ann)
            let seq = try await client.send(room, "kept")["seq"]
            let command: JSONTree = [
                "room": .text(room), "clientId": "command", "type": "COMMAND", "payload": "AQID",
            ]
            let acks = [
                try await client.send(room, "unkept", ["history": false]),
                try await client.send(room, "directed", ["to": [.text(ann)]]), try await client.ask("send", command),
            ]
            for ack in acks {
                try expect(ack["after"], is: seq, "after")
                try expect(ack["seq"], is: nil, "seq")
            }
        },
        .init("2 Unkept", "unkept messages are not replayed to who enters with since") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let sender = try await run.entered(room, run.name("ann"))
            let viewer = try await run.connected(run.name("bob"))
            let first = try await viewer.ask("enter", ["room": .text(room)])
            try await viewer.ask("exit", ["room": .text(room)])
            try await sender.send(room, "unkept", ["history": false])
            try await sender.send(room, "kept")
            let answer = try await viewer.ask(
                "enter", ["room": .text(room), "since": first["seq"] ?? .null, "epoch": first["epoch"] ?? .null])
            try expect(answer["recovered"], is: true, "recovered")
            try expect(answer["missed"]?.items.compactMap { $0["text"]?.text } == ["kept"], "missed: \(answer.line)")
            try await sender.send(room, "live")
            try await viewer.message("live")
            let shown = await viewer.texts()
            try expect(shown == ["live"], "it was shown \(shown)")
        },
        .init("2 recall", "a manager may not recall the creator's message (403), a normal member's it may") { run in
            let (creator, manager) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            try await run.done("PUT", ["rooms", room, "members", manager, "role"], ["role": "MANAGER"])
            let client = try await run.entered(room, manager)
            let id = try await run.entered(room, creator).send(room, "mine")["messageId"]
            try expect(try await client.refusal("recall", recall(room, id)), code: 403)
            let guests = try await run.entered(room, run.name("bob")).send(room, "theirs")["messageId"]
            try await client.ask("recall", recall(room, guests))
        },
        .init("2 recall", "a NOTIFICATION is nobody's to recall (403), and an unknown message is 404") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            try await owner.ask("updateRoom", ["room": .text(room), "set": ["name": "N"]])
            let id = try await owner.notification(312)["messageId"]
            try expect(try await owner.refusal("recall", recall(room, id)), code: 403)
            try expect(try await owner.refusal("recall", recall(room, "no-such-message")), code: 404)
        },
        .init("2 combined", "combined of what is no COMBINE, or is not there, is refused") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let id = try await client.send(room, "one")["messageId"]
            for (id, codes) in [(id, [404, 414]), ("no-such-message", [404])] as [(JSONTree?, [Int64])] {
                let error = try await client.refusal("combined", recall(room, id))
                try expect(codes.contains(error["code"]?.integer ?? 0), "it was refused with \(error.line)")
            }
        },
        .init("2 Blacklist", "setBlacklist with recall: one 323 for all of his messages, history without their bodies")
        {
            run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(["enterExitNotify": "NONE"], creator: creator)
            let (owner, client) = (try await run.entered(room, creator), try await run.entered(room, user))
            var ids: Set<JSONTree> = []
            for text in ["1", "2", "3"] { ids.insert(try await client.send(room, text)["messageId"] ?? .null) }
            try await owner.send(room, "the creator's")
            try await owner.ask(
                "setBlacklist", ["room": .text(room), "user": .text(user), "enable": true, "recall": true])
            let event = try await owner.notification(323)
            try expect(Set(event["data"]?["messageIds"]?.items ?? []) == ids, "data of 323 is \(event.line)")
            try await owner.send(room, "after")
            try await owner.message("after")
            let events = await owner.pushes("message").filter { $0["event"] == 323 }
            try expect(events.count == 1, "323 was shown \(events.count) times")
            let page = try await owner.ask("history", ["room": .text(room), "types": ["TEXT"], "order": "ASC"])
            let kept = page["messages"]?.items ?? []
            try expect(kept.compactMap { $0["text"]?.text } == ["the creator's", "after"], "history is \(page.line)")
            try expect(kept.filter { $0["recalled"] == true }.count == 3, "\(page.line) has not three recalled")
        },
        .init("2 Retry", "setManager, setBlacklist and recall take a clientId: a repeat changes nothing") { run in
            let (creator, user, other) = (run.name("creator"), run.name("ann"), run.name("bob"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let id = try await owner.send(room, "mine")["messageId"]
            let operations: [(String, JSONTree, Int64)] = [
                ("setManager", ["user": .text(user), "enable": true], 307),
                ("setBlacklist", ["user": .text(other), "enable": true], 303),
                ("recall", ["messageId": id ?? .null], 323),
            ]
            for (operation, fields, event) in operations {
                let asked = fields.adding(["room": .text(room), "clientId": .text("id-\(operation)")])
                let first = try await owner.ask(operation, asked)
                try expect(try await owner.ask(operation, asked), is: first, "the second result of \(operation)")
                let events = await owner.pushes("message").filter { $0["event"]?.integer == event }
                try expect(events.count <= 1, "\(event) was shown \(events.count) times")
            }
            // A repeat of setManager that did something would undo this.
            try await owner.ask("setManager", ["room": .text(room), "user": .text(user), "enable": false])
            let again: JSONTree = [
                "room": .text(room), "clientId": "id-setManager", "user": .text(user), "enable": true,
            ]
            try await owner.ask("setManager", again)
            let member = try await owner.ask("membersById", ["room": .text(room), "users": [.text(user)]])
            try expect(member["members"]?.items.first?["role"], is: "NORMAL", "the role after the repeat")
        },
        .init("2 Types", "the optional fields of media are shown: width, height, durationSeconds, thumbnail") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let media: JSONTree = [
                "url": "https://files.example/1", "name": "1", "size": 1000, "contentType": "video/mp4", "width": 640,
                "height": 480, "durationSeconds": 12, "thumbnail": "https://files.example/t",
            ]
            try await client.ask(
                "send", ["room": .text(room), "clientId": "c", "type": "VIDEO", "media": media])
            try expect(try await client.push("message") { $0["type"] == "VIDEO" }["media"], is: media, "media")
        },
        .init("2 barrage", "items show text, time, ext, style, priority and from {user, nick, avatar, role}") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user, ["nick": "Ann", "avatar": "a"])
            let fields: JSONTree = ["text": "whoosh", "ext": "e", "style": "red", "priority": "LOW"]
            try await client.ask("barrage", fields.adding(["room": .text(room)]))
            let push = try await client.push("barrage") { $0["items"]?.items.first?["text"] == "whoosh" }
            try expect(push["room"], is: .text(room), "room")
            let item = push["items"]?.items.first
            for field in ["text", "ext", "style", "priority"] { try expect(item?[field], is: fields[field], field) }
            let from: JSONTree = ["user": .text(user), "nick": "Ann", "avatar": "a", "role": "GUEST"]
            try expect(item?["from"], is: from, "from")
            try expect(abs((item?["time"]?.integer ?? 0) - ConformanceRun.now) < 600_000, "the time is none")
        },
        .init("2 Priority", "HIGH of guests does not use up the managers'") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let guest = try await run.entered(room, run.name("ann"))
            let owner = try await run.entered(room, creator)
            try expect(try await sendHigh(guest, room, 15) == 15, "a guest's HIGH was not lowered")
            try expect(try await sendHigh(owner, room, 10) == 0, "the creator's HIGH was lowered")
        },
        .init("2 Priority", "the server API has as many HIGH again as the managers") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            _ = try await sendHigh(owner, room, 14)
            let body: JSONTree = ["type": "TEXT", "text": "news", "priority": "HIGH"]
            for _ in 1...10 {
                let ack = try await run.done("POST", ["rooms", room, "messages"], body)
                try expect(ack["priority"], is: nil, "the ack's priority")
            }
        },
    ]

    /// Sends so many HIGH messages in one frame. How many of them were lowered.
    private static func sendHigh(_ client: ConformanceClient, _ room: String, _ count: Int64) async throws -> Int {
        let ids = [Int64](1001...(1000 + count))
        let frame = ids.map { id -> String in
            let fields: JSONTree = [
                "room": .text(room), "clientId": .text("c\(id)"), "type": "TEXT", "text": "t", "priority": "HIGH",
            ]
            return JSONTree.object(["id": .integer(id), "send": fields]).line
        }
        await client.write(text: frame.joined(separator: "\n"))
        var lowered = 0
        for id in ids {
            let reply = try await client.reply(to: id)
            guard let ack = reply["send"] else { throw Deviation("send was answered \(reply.line)") }
            if ack["priority"] == "NORMAL" { lowered += 1 }
        }
        return lowered
    }
}
