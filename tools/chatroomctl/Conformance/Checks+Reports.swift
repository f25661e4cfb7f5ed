import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    private static func report(_ room: String, _ messageID: JSONTree?, _ more: JSONTree = [:]) -> JSONTree {
        (["room": .text(room), "messageId": messageID ?? .null] as JSONTree).adding(more)
    }

    static let reports: [ConformanceCheck] = [
        .init("2 connect", "features lists report") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let features =
                try await client.ask("connect", ["token": .text(token)])["features"]?.items.map(\.shown) ?? []
            try expect(features.contains("report"), "the features are \(features)")
        },
        .init("2 Reports", "a report is in the list, once for a user and message; nobody in the room is told") {
            run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let (ann, bob) = (run.name("ann"), run.name("bob"))
            let (sender, reporter) = (try await run.entered(room, ann), try await run.entered(room, bob))
            let sent = try await sender.send(room, "rude")
            let path = ["rooms", room, "reports"]
            try expect(try await run.done("GET", path), is: ["reports": []], "the list before")
            let fields = report(room, sent["messageId"], ["reason": "insults", "clientId": "once"])
            for _ in 1...2 { try expect(try await reporter.ask("report", fields), is: [:], "the answer") }
            try expect(try await reporter.refusal("report", report(room, sent["messageId"])), code: 409)
            let listed = try await run.done("GET", path)["reports"]?.items ?? []
            try expect(listed.count == 1, "\(listed.count) reports are listed")
            let found = listed.first ?? .null
            try expect(found["messageId"], is: sent["messageId"], "the message")
            try expect(found["seq"], is: sent["seq"], "the message's seq")
            try expect(found["from"]?["user"], is: .text(ann), "the message's sender")
            try expect(found["excerpt"], is: "rude", "the excerpt")
            try expect(found["reporter"]?["user"], is: .text(bob), "the reporter")
            try expect(found["reason"], is: "insults", "the reason")
            try expect(found["time"]?.integer ?? 0 > 0, "there is no time")
            try await sender.ask("report", report(room, sent["messageId"]))
            let first = try await run.done("GET", path, query: [("limit", "1")])
            try expect(first["next"]?.text?.isEmpty == false, "there is no next page")
            let second = try await run.done("GET", path, query: [("after", first["next"]?.text), ("limit", "1")])
            try expect(second["next"], is: nil, "next of the last page")
            try expect(second["reports"]?.items.first?["reporter"]?["user"], is: .text(ann), "the second reporter")
            try expect(second["reports"]?.items.first?["reason"], is: nil, "a reason that nobody gave")
            try await sender.send(room, "last")
            try await reporter.message("last")
            let events = await reporter.pushes("message").filter { $0["type"] == "NOTIFICATION" }
            try expect(events.isEmpty, "the room was told \(events.first?.line ?? "")")
        },
        .init("2 Reports", "the report of a recalled message stays, without its text") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            let sent = try await ann.send(room, "rude")
            try await ann.ask("report", report(room, sent["messageId"]))
            try await ann.ask("recall", ["room": .text(room), "messageId": sent["messageId"] ?? .null])
            let listed = try await run.done("GET", ["rooms", room, "reports"])["reports"]?.items ?? []
            try expect(listed.count == 1, "\(listed.count) reports are listed")
            try expect(listed.first?["messageId"], is: sent["messageId"], "the message")
            try expect(listed.first?["excerpt"], is: nil, "the excerpt")
        },
        .init("2 Reports", "one report in 10 s, then 416 with retryAfterMs; another user is not held up") { run in
            let room = try await run.room()
            let (ann, bob) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            let (first, second) = (try await ann.send(room, "one"), try await ann.send(room, "two"))
            try await bob.ask("report", report(room, first["messageId"]))
            let refusal = try await bob.refusal("report", report(room, second["messageId"]))
            try expect(refusal, code: 416, waits: true)
            let wait = refusal["retryAfterMs"]?.integer ?? 0
            try expect((1...10_000).contains(wait), "retryAfterMs is \(wait)")
            try await ann.ask("report", report(room, second["messageId"]))
        },
        .init(
            "2 Reports", "what is no kept message is 404, also if it was directed to others; wrong fields are 413, 414"
        ) {
            run in
            let room = try await run.room()
            let (ann, bob) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            let directed = try await ann.send(room, "for ann", ["to": [.text(run.name("x"))]])
            let unkept = try await ann.send(room, "gone", ["history": false])
            let other = try await run.room()
            let elsewhere = try await run.entered(other, run.name("eve")).send(other, "elsewhere")
            for id in [directed["messageId"], unkept["messageId"], elsewhere["messageId"], "none"] {
                try expect(try await bob.refusal("report", report(room, id)), code: 404)
            }
            let sent = try await ann.send(room, "x")
            func reason(_ count: Int) -> JSONTree { ["reason": .text(String(repeating: "r", count: count))] }
            let long = try await bob.refusal("report", report(room, sent["messageId"], reason(257)))
            try expect(long, code: 413)
            try expect(long["field"], is: "reason", "the field")
            let wrong: [JSONTree] = [
                ["room": .text(room)], report(room, ""), report(room, 7),
                report(room, sent["messageId"], ["reason": 7]),
                report(room, sent["messageId"], ["clientId": ""]),
            ]
            for fields in wrong { try expect(try await bob.refusal("report", fields), code: 414) }
            let longID = JSONTree.text(String(repeating: "m", count: 65))
            try expect(try await bob.refusal("report", report(room, longID)), code: 413)
            try await bob.ask("report", report(room, sent["messageId"], reason(256)))
            let path = ["rooms", room, "reports"]
            for query in [("after", "?"), ("limit", "0"), ("limit", "101")] {
                try await run.refused("GET", path, query: [(query.0, query.1)], status: 400, code: 414)
            }
            try await run.refused("GET", ["rooms", run.name("none"), "reports"], status: 404, code: 404)
        },
        .init("2 Reports", "a muted member reports; anonymous clients, and who is not in the room, do not") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let ann = try await run.entered(room, user)
            let sent = try await run.done("POST", ["rooms", room, "messages"], ["type": "TEXT", "text": "x"])
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": true])
            try await ann.notification(305)
            try await ann.ask("report", report(room, sent["messageId"]))
            let out = try await run.connected(run.name("out"))
            try expect(try await out.refusal("report", report(room, sent["messageId"])), code: 13007)
            let listener = try await run.anonymous()
            try await listener.ask("enter", ["room": .text(room), "nick": "Anon", "avatar": "a"])
            try expect(try await listener.refusal("report", report(room, sent["messageId"])), code: 403)
        },
        .init("2 Mutes", "banSeconds: 0 lifts a ban of who is away, and BANNED lists who is kept out") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            func kick(_ seconds: Int64) -> JSONTree {
                ["room": .text(room), "user": .text(user), "banSeconds": .integer(seconds)]
            }
            func banned() async throws -> [String] {
                try await owner.ask("members", ["room": .text(room), "kind": "BANNED"])["members"]?.items
                    .compactMap { $0["user"]?.text } ?? []
            }
            try await owner.ask("kick", kick(600))
            let out = try await banned()
            try expect(out == [user], "BANNED is \(out)")
            let client = try await run.connected(user)
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 13003, waits: true)
            try await owner.ask("kick", kick(0))
            let left = try await banned()
            try expect(left.isEmpty, "BANNED is \(left)")
            try await client.ask("enter", ["room": .text(room)])
            let refusal = try await client.refusal("members", ["room": .text(room), "kind": "BANNED"])
            try expect(refusal, code: 403)
        },
    ]
}
