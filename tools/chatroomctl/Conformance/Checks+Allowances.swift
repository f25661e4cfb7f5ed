import ControlClient
import FoundationEssentials

/// How much one session and one user may do in a second (PROTOCOL.md, "Rates").
extension ConformanceCheck {
    private static func text(_ room: String, _ id: Int64, clientId: String) -> String {
        let fields: JSONTree = ["room": .text(room), "clientId": .text(clientId), "type": "TEXT", "text": "t"]
        return JSONTree.object(["id": .integer(id), "send": fields]).line
    }

    /// How many of these requests were refused with 416.
    private static func refusals(_ client: ConformanceClient, _ ids: [Int64]) async throws -> Int {
        var refused = 0
        for id in ids {
            guard let error = try await client.reply(to: id)["error"] else { continue }
            try expect(error, code: 416, waits: true)
            refused += 1
        }
        return refused
    }

    static let allowances: [ConformanceCheck] = [
        .init("2 Rates", "beyond 20 at once, reads are refused with 416 and retryAfterMs") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let ids = [Int64](1001...1060)
            let frame = ids.map { JSONTree.object(["id": .integer($0), "room": ["room": .text(room)]]).line }
            await client.write(text: frame.joined(separator: "\n"))
            let refused = try await refusals(client, ids)
            try expect((1...41).contains(refused), "\(refused) of 60 were refused")
        },
        .init("2 Rates", "640 KB of changes at once: what is more is 416 with retryAfterMs, though it is two requests")
        {
            run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            func values(_ letter: String) -> JSONTree {
                let value = JSONTree.text(String(repeating: letter, count: 4000))
                let pairs = (1...100).map { ("k\($0)", value) }
                return ["room": .text(room), "values": .object(Dictionary(pairs) { first, _ in first })]
            }
            let ids = [
                await client.begin("queueSetMany", values("a")), await client.begin("queueSetMany", values("b")),
            ]
            try expect(try await client.reply(to: ids[0])["queueSetMany"] != nil, "400 KB at once were refused")
            try expect(try await client.reply(to: ids[1])["error"] ?? .null, code: 416, waits: true)
        },
        .init("2 Rates", "a repeat of what has been answered costs no rate: 60 at once are all answered") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let ack = try await client.ask(
                "send", ["room": .text(room), "clientId": "once", "type": "TEXT", "text": "t"])
            let ids = [Int64](1001...1060)
            await client.write(text: ids.map { text(room, $0, clientId: "once") }.joined(separator: "\n"))
            for id in ids {
                try expect(try await client.reply(to: id)["send"], is: ack, "the answer to a repeat")
            }
        },
        .init("2 Rates", "a takeover brings no new allowance") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let token = try await run.token(user)
            var client = try await run.open()
            let session = try await client.ask("connect", ["token": .text(token)])["session"] ?? .null
            try await client.ask("enter", ["room": .text(room)])
            var taken = 0
            let began = ContinuousClock.now
            for round in Int64(0)..<4 {
                let ids = [Int64]((1001 + round * 100)...(1030 + round * 100))
                await client.write(
                    text: ids.map { text(room, $0, clientId: "c\($0)") }.joined(separator: "\n"))
                for id in ids where try await client.reply(to: id)["send"] != nil { taken += 1 }
                let next = try await run.open()
                let answer = try await next.ask("connect", ["token": .text(token), "session": session])
                try expect(answer["resumed"], is: true, "resumed")
                // It costs, too, and nothing may be left.
                while let error = try await next.reply(to: next.begin("enter", ["room": .text(room)]))["error"] {
                    try expect(error, code: 416, waits: true)
                    try await Task.sleep(for: .milliseconds(error["retryAfterMs"]?.integer ?? 100))
                }
                client = next
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(Double(taken) <= 21 + 10 * seconds, "\(taken) were taken in \(seconds) s")
        },
        .init("2 Rates", "over all sessions of a user three times the rate of one") { run in
            let user = run.name("ann")
            var clients: [(client: ConformanceClient, room: String)] = []
            for _ in 0..<6 {
                // A newer session puts an older one out of the room, so each has one for itself.
                let room = try await run.room()
                clients.append((try await run.entered(room, user), room))
            }
            // Entering costs, too, and time alone pays for it: a fifth of a second for the six.
            try await Task.sleep(for: .seconds(1))
            let ids = [Int64](1001...1020)
            var taken = 0
            let began = ContinuousClock.now
            for (client, room) in clients {
                await client.write(text: ids.map { text(room, $0, clientId: "c\($0)") }.joined(separator: "\n"))
            }
            for (client, _) in clients {
                for id in ids where try await client.reply(to: id)["send"] != nil { taken += 1 }
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(Double(taken) <= 61 + 30 * seconds, "\(taken) of 120 were taken in \(seconds) s")
            try expect(taken >= 60, "\(taken) of 120 were taken, though 60 may come at once")
        },
        .init("2 COMBINE", "copies of 256 KB at most: more is 413") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            var ids: [JSONTree] = []
            for _ in 1...9 {
                let body: JSONTree = ["type": "TEXT", "text": .text(String(repeating: "x", count: 32_000))]
                ids.append(try await run.done("POST", ["rooms", room, "messages"], body)["messageId"] ?? .null)
            }
            func combine(_ count: Int) -> JSONTree {
                [
                    "room": .text(room), "clientId": .text("combine-\(count)"), "type": "COMBINE", "title": "t",
                    "summary": "s", "messageIds": .array(Array(ids.prefix(count))),
                ]
            }
            try expect(try await client.refusal("send", combine(9)), code: 413)
            let ack = try await client.ask("send", combine(7))
            let copies = try await client.ask(
                "combined", ["room": .text(room), "messageId": ack["messageId"] ?? .null])
            try expect(copies["messages"]?.items.count == 7, "\(copies["messages"]?.items.count ?? 0) copies came")
        },
        .init("2 History", "a COMBINE in history comes without its copies") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            let id = try await client.send(room, "copied")["messageId"] ?? .null
            try await client.ask(
                "send",
                [
                    "room": .text(room), "clientId": "c", "type": "COMBINE", "title": "t", "summary": "s",
                    "messageIds": [id],
                ])
            let page = try await client.ask("history", ["room": .text(room), "types": ["COMBINE"]])
            try expect(page["messages"]?.items.first?["title"], is: "t", "its title")
            try expect(!page.line.contains("copied"), "it has the copy: \(page.line)")
        },
    ]
}
