import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    static let amend: [ConformanceCheck] = [
        .init("2 connect", "features lists amend") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let features =
                try await client.ask("connect", ["token": .text(token)])["features"]?.items.map(\.shown) ?? []
            try expect(features.contains("amend"), "the features are \(features)")
        },
        .init("2 Amend", "the sender amends a kept message, told by one 360; who comes later sees it as amended") {
            run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let (ann, bob) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            let sent = try await ann.send(room, "helo", ["priority": "LOW"])
            let id = sent["messageId"] ?? .null
            let set: JSONTree = ["text": "hello", "ext": "e"]
            let fields: JSONTree = ["room": .text(room), "messageId": id, "set": set, "clientId": "once"]
            try expect(try await bob.refusal("amend", fields), code: 403)
            let message = try await ann.ask("amend", fields)["message"]
            try expect(message?["text"], is: "hello", "text")
            try expect(message?["seq"], is: sent["seq"], "seq")
            let told = try await bob.notification(360)
            try expect(told["priority"], is: "LOW", "the priority of 360")
            try expect(told["data"]?["messageId"], is: id, "messageId of 360")
            try expect(told["data"]?["seq"], is: sent["seq"], "seq of 360")
            try expect(told["data"]?["set"], is: set, "set of 360")
            try expect(told["data"]?["editedAt"], is: message?["editedAt"], "editedAt of 360")
            // The repeat gets the first result, and is told nobody.
            try expect(try await ann.ask("amend", fields)["message"], is: message ?? .null, "the repeat")
            let viewer = try await run.connected(run.name("eve"))
            let missed = try await viewer.ask("enter", ["room": .text(room), "history": 10])["missed"]?.items ?? []
            let page = try await ann.ask("history", ["room": .text(room), "order": "ASC"])["messages"]?.items ?? []
            let one = try await viewer.ask("message", ["room": .text(room), "messageId": id])["message"]
            let other = try await run.done("GET", ["rooms", room, "messages", id.text ?? ""])
            for (found, place) in [
                (missed.first, "missed"), (page.first, "history"), (one, "message"), (other, "the server API"),
            ] {
                try expect(found?["text"], is: "hello", "text in \(place)")
                try expect(found?["ext"], is: "e", "ext in \(place)")
                try expect(found?["editedAt"], is: message?["editedAt"], "editedAt in \(place)")
            }
            try expect(page.count == 2, "\(page.count) messages were kept")
        },
        .init("2 Amend", "of TEXT and TIP text, of CUSTOM content, of all ext, else 414") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            func amend(_ id: JSONTree?, _ set: JSONTree) -> JSONTree {
                ["room": .text(room), "messageId": id ?? .null, "set": set]
            }
            let text = try await ann.send(room, "text")["messageId"]
            let custom = try await ann.ask(
                "send", ["room": .text(room), "clientId": "c", "type": "CUSTOM", "content": "{}", "subtype": 1])
            let place = try await ann.ask(
                "send",
                [
                    "room": .text(room), "clientId": "l", "type": "LOCATION", "latitude": 1, "longitude": 2,
                    "title": "t",
                ])
            let misfits: [(JSONTree?, JSONTree)] = [
                (text, ["content": "c"]), (text, [:]), (custom["messageId"], ["text": "t"]),
                (place["messageId"], ["text": "t"]),
            ]
            for (id, set) in misfits {
                try expect(try await ann.refusal("amend", amend(id, set)), code: 414)
            }
            let content = try await ann.ask("amend", amend(custom["messageId"], ["content": "[]"]))["message"]
            try expect(content?["content"], is: "[]", "content")
            let ext = try await ann.ask("amend", amend(place["messageId"], ["ext": "e"]))["message"]
            try expect(ext?["ext"], is: "e", "ext")
            try expect(ext?["title"], is: "t", "title")
            let long = JSONTree.text(String(repeating: "x", count: 32_769))
            try expect(try await ann.refusal("amend", amend(text, ["text": long])), code: 413)
        },
        .init("2 Amend", "kept messages only, else 404; 409 of one that is recalled; a muted user is refused") { run in
            let creator = run.name("owner")
            let (user, room) = (run.name("ann"), try await run.room(creator: creator))
            let (owner, ann) = (try await run.entered(room, creator), try await run.entered(room, user))
            func amend(_ id: JSONTree) -> JSONTree { ["room": .text(room), "messageId": id, "set": ["ext": "e"]] }
            let unkept = try await ann.send(room, "unkept", ["history": false])["messageId"] ?? .null
            let unknown: [JSONTree] = [unkept, "m"]
            for id in unknown {
                try expect(try await ann.refusal("amend", amend(id)), code: 404)
                try expect(try await ann.refusal("message", ["room": .text(room), "messageId": id]), code: 404)
            }
            let recalled = try await ann.send(room, "oops")["messageId"] ?? .null
            try await ann.ask("recall", ["room": .text(room), "messageId": recalled])
            try expect(try await ann.refusal("amend", amend(recalled)), code: 409)
            let id = try await ann.send(room, "kept")["messageId"] ?? .null
            let mute: JSONTree = ["room": .text(room), "user": .text(user), "enable": true]
            try await owner.ask("setMute", mute)
            try expect(try await ann.refusal("amend", amend(id)), code: 13004)
            let answer = try await run.done(
                "POST", ["rooms", room, "messages", id.text ?? "", "amend"], ["set": ["text": "by the app"]])
            try expect(answer["text"], is: "by the app", "an app server may amend any")
        },
        .init("2 Amend", "COMBINE copies stay as copied, a reply quotes what its message says now") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            let id = try await ann.send(room, "before")["messageId"] ?? .null
            let combine = try await ann.ask(
                "send",
                [
                    "room": .text(room), "clientId": "c", "type": "COMBINE", "title": "t", "summary": "s",
                    "messageIds": [id],
                ])
            try await ann.ask("amend", ["room": .text(room), "messageId": id, "set": ["text": "after"]])
            let copies = try await ann.ask(
                "combined", ["room": .text(room), "messageId": combine["messageId"] ?? .null])["messages"]?.items
            try expect(copies?.first?["text"], is: "before", "the copy")
            try await ann.send(room, "reply", ["replyTo": id])
            try expect(try await ann.message("reply")["replyTo"]?["excerpt"], is: "after", "the excerpt")
        },
    ]
}
