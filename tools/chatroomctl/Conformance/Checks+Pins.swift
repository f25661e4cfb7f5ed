import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    static let pins: [ConformanceCheck] = [
        .init("2 connect", "features lists pin") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let features =
                try await client.ask("connect", ["token": .text(token)])["features"]?.items.map(\.shown) ?? []
            try expect(features.contains("pin"), "the features are \(features)")
        },
        .init("2 Pin, reply", "managers pin kept messages, told by one 361 with all that are pinned") { run in
            let creator = run.name("owner")
            let room = try await run.room(["enterExitNotify": "NONE"], creator: creator)
            let (owner, ann) = (try await run.entered(room, creator), try await run.entered(room, run.name("ann")))
            let sent = try await ann.send(room, "important")
            let fields: JSONTree = ["room": .text(room), "messageId": sent["messageId"] ?? .null, "enable": true]
            let pinned: JSONTree = [["messageId": sent["messageId"] ?? .null, "seq": sent["seq"] ?? .null]]
            try expect(try await ann.refusal("pin", fields), code: 403)
            for _ in 1...2 { try expect(try await owner.ask("pin", fields)["pinned"], is: pinned, "pinned") }
            try expect(try await ann.notification(361)["data"]?["pinned"], is: pinned, "the pins of 361")
            try expect(try await run.done("GET", ["rooms", room])["pinned"], is: pinned, "the room's pins")
            let entered = try await run.connected(run.name("bob")).ask("enter", ["room": .text(room)])
            try expect(entered["room"]?["pinned"], is: pinned, "the pins in the reply to enter")
            let answer = try await run.done(
                "POST", ["rooms", room, "messages", sent["messageId"]?.text ?? "", "pin"], ["enable": false])
            try expect(answer["pinned"], is: [], "the pins that are left")
            try await ann.send(room, "last")
            try await ann.message("last")
            let events = await ann.pushes("message").filter { $0["event"]?.integer == 361 }
            try expect(events.count == 2, "\(events.count) 361 came")
        },
        .init("2 Pin, reply", "the eleventh pin is 409; a repeat gets the first result") { run in
            let creator = run.name("owner")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            var fields: JSONTree = [:]
            var first: JSONTree?
            for number in 1...10 {
                let sent = try await run.done(
                    "POST", ["rooms", room, "messages"], ["type": "TEXT", "text": .text("\(number)")])
                fields = [
                    "room": .text(room), "messageId": sent["messageId"] ?? .null, "enable": true, "clientId": "once",
                ]
                if first == nil {
                    first = try await owner.ask("pin", fields)
                } else {
                    try await run.done(
                        "POST", ["rooms", room, "messages", sent["messageId"]?.text ?? "", "pin"], ["enable": true])
                }
            }
            try expect(try await owner.ask("pin", fields), is: first ?? .null, "the repeat")
            let more = try await owner.send(room, "more")["messageId"] ?? .null
            let refusal = try await owner.refusal("pin", ["room": .text(room), "messageId": more, "enable": true])
            try expect(refusal, code: 409)
        },
        .init("2 Pin, reply", "what is recalled drops out; what is recalled or not kept can't be pinned (404)") { run in
            let creator = run.name("owner")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let id = try await owner.send(room, "oops")["messageId"] ?? .null
            let fields: JSONTree = ["room": .text(room), "messageId": id, "enable": true]
            try await owner.ask("pin", fields)
            try await owner.ask("recall", ["room": .text(room), "messageId": id])
            try expect(try await owner.ask("room", ["room": .text(room)])["room"]?["pinned"], is: [], "pinned")
            try expect(try await owner.refusal("pin", fields), code: 404)
            let unkept = try await owner.send(room, "unkept", ["history": false])["messageId"] ?? .null
            for id in [unkept, "m"] {
                let refusal = try await owner.refusal("pin", ["room": .text(room), "messageId": id, "enable": true])
                try expect(refusal, code: 404)
            }
            try expect(try await owner.refusal("pin", ["room": .text(room), "messageId": "m"]), code: 414)
        },
        .init("2 Pin, reply", "replyTo names a kept message of the room, else 404; the reply says whose and what") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let ann = try await run.entered(room, user)
            let text = String(repeating: "\u{5B57}", count: 100)
            let sent = try await ann.send(room, text)
            try await ann.send(room, "reply", ["replyTo": sent["messageId"] ?? .null])
            let reply = try await ann.message("reply")["replyTo"]
            try expect(reply?["messageId"], is: sent["messageId"], "messageId")
            try expect(reply?["seq"], is: sent["seq"], "seq")
            try expect(reply?["user"]?.text == user && reply?["nick"]?.text != nil, "\(reply?.line ?? "")")
            // 255 bytes: the last character that fits is whole.
            try expect(reply?["excerpt"]?.text == String(text.prefix(85)), "the excerpt: \(reply?.line ?? "")")
            let elsewhere = try await run.room()
            try await ann.ask("enter", ["room": .text(elsewhere)])
            let foreign = try await ann.send(elsewhere, "elsewhere")["messageId"] ?? .null
            let unkept = try await ann.send(room, "unkept", ["history": false])["messageId"] ?? .null
            for id in [foreign, unkept, "m"] {
                try expect(try await ann.sendRefusal(room, "no", ["replyTo": id]), code: 404)
            }
            try expect(try await ann.sendRefusal(room, "no", ["replyTo": ""]), code: 414)
            let long = JSONTree.text(String(repeating: "m", count: 65))
            try expect(try await ann.sendRefusal(room, "no", ["replyTo": long]), code: 413)
        },
        .init("2 Pin, reply", "excerpt is left out wherever the original has been recalled") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let ann = try await run.entered(room, run.name("ann"))
            let id = try await ann.send(room, "oops")["messageId"] ?? .null
            let before = try await ann.send(room, "before", ["replyTo": id])
            try await ann.ask("recall", ["room": .text(room), "messageId": id])
            try await ann.send(room, "after", ["replyTo": id])
            let viewer = try await run.connected(run.name("bob"))
            let missed = try await viewer.ask("enter", ["room": .text(room), "history": 10])["missed"]?.items ?? []
            let page = try await ann.ask("history", ["room": .text(room)])["messages"]?.items ?? []
            let one = try await run.done("GET", ["rooms", room, "messages", before["messageId"]?.text ?? ""])
            let pushed = try await ann.message("after")
            let replies = (missed + page + [one, pushed]).compactMap { $0["replyTo"] }
            try expect(replies.count == 6, "\(replies.count) replies")
            for reply in replies {
                try expect(reply["messageId"], is: id, "messageId")
                try expect(reply["excerpt"], is: nil, "excerpt")
            }
        },
    ]
}
