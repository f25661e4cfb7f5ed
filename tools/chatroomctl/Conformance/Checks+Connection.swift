import ControlClient

/// The input that a connection takes, and the clients that may open one (PROTOCOL.md, "Connection").
extension ConformanceCheck {
    static let connection: [ConformanceCheck] = [
        .init("2", "a frame of exactly 1 MB is taken") { run in
            let client = try await run.connected(run.name("ann"))
            let ping = #"{"id":900,"ping":{}}"#
            await client.write(text: ping + String(repeating: " ", count: 1_048_576 - ping.utf8.count))
            try expect(try await client.reply(to: 900)["ping"] != nil, "it was refused")
        },
        .init("2", "in a row: nine malformed ones, a good one and nine more do not close") { run in
            let client = try await run.connected(run.name("ann"))
            for _ in 1...2 {
                for _ in 1...9 { await client.write(text: "no json") }
                try await client.ask("ping")
            }
        },
        .init("2 connect", "device is mobile, desktop, web or server, else web") { run in
            let user = run.name("ann")
            for device in ["mobile", "desktop", "web", "server", nil] {
                let fields: JSONTree = device.map { ["device": .text($0)] } ?? [:]
                let client = try await run.open()
                let answer = try await client.ask(
                    "connect", (["token": .text(try await run.token(user))] as JSONTree).adding(fields))
                let all = try await run.done("GET", ["users", user, "sessions"])["sessions"]?.items ?? []
                let own = all.first { $0["session"] == answer["session"] }
                try expect(own?["device"], is: .text(device ?? "web"), "the session's device")
                try expect(own?["user"], is: .text(user), "the session's user")
            }
            let client = try await run.open()
            let fields: JSONTree = ["token": .text(try await run.token(user)), "device": "fridge"]
            try expect(try await client.refusal("connect", fields), code: 414)
        },
        .init("2 connect", "heartbeatSeconds is 15") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            try expect(
                try await client.ask("connect", ["token": .text(token)])["heartbeatSeconds"], is: 15,
                "heartbeatSeconds")
        },
        .init("2 connect", "in one frame, an operation before connect is 401, and one behind it is not") { run in
            let client = try await run.open()
            let connect = JSONTree.object([
                "id": 2, "connect": ["token": .text(try await run.token(run.name("ann")))],
            ])
            await client.write(
                text: [#"{"id":1,"ping":{}}"#, connect.line, #"{"id":3,"ping":{}}"#].joined(separator: "\n"))
            try expect(try await client.reply(to: 1)["error"] ?? .null, code: 401)
            try expect(try await client.reply(to: 2)["connect"]?["session"] != nil, "connect was refused")
            try expect(try await client.reply(to: 3)["ping"]?["time"] != nil, "the ping behind it was refused")
        },
        .init("2", "online is told at most every 2 s", pace: .waiting) { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let viewer = try await run.entered(room, run.name("ann"))
            let before = await viewer.pushes("online").count
            let began = ContinuousClock.now
            for number in 1...20 {
                try await run.done("POST", ["rooms", room, "robots"], ["robots": [.text("robot-\(number)")]])
                try await Task.sleep(for: .milliseconds(200))
            }
            let told = await viewer.pushes("online").count - before
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(told >= 1, "it was not told")
            try expect(told <= Int(seconds / 2) + 1, "it was told \(told) times in \(seconds) s")
            try await viewer.push("online") { $0["online"] == 21 }
        },
    ]

    static let witnessed: [ConformanceCheck] = [
        .init("1", "message IDs, epochs, session IDs and cursors have at most 64 bytes", pace: .alone) { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            for number in 1...3 {
                try await client.ask("queueSet", ["room": .text(room), "key": .text("k\(number)"), "value": "v"])
                try await client.send(room, "m\(number)")
            }
            let robots: JSONTree = ["robots": ["robot-1", "robot-2"]]
            try await run.done("POST", ["rooms", room, "robots"], robots)
            let members = try await client.ask("members", ["room": .text(room), "kind": "TEMPORARY", "limit": 1])
            let queue = try await client.ask("queue", ["room": .text(room), "limit": 1])
            let rooms = try await run.done("GET", ["rooms"], query: [("limit", "1")])
            let audit = try await run.done("GET", ["audit"], query: [("limit", "1")])
            let sessions = try await run.done("GET", ["sessions"], query: [("limit", "1")])
            for (name, page) in [
                ("members", members), ("queue", queue), ("rooms", rooms), ("audit", audit), ("sessions", sessions),
            ] {
                // There is more of each than one, unless somebody else has just cleaned up.
                guard let next = page["next"] ?? (["rooms", "sessions"].contains(name) ? .text("-") : nil) else {
                    throw Deviation("\(name) has no next")
                }
                try expect(next.text?.isEmpty == false, "next of \(name) is \(next.line)")
            }
            // All that came to this run, for any check.
            let long = run.witness.longNames
            try expect(long.isEmpty, "longer are: \(long.joined(separator: ", "))")
        },
        .init("1", "absent optional fields are omitted: nothing that came to this run held null", pace: .alone) { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, "t")
            try await client.ask("history", ["room": .text(room)])
            try await run.done("GET", ["rooms", room])
            let nulls = run.witness.nulls
            try expect(nulls.isEmpty, "of \(run.witness.seen) items: \(nulls.joined(separator: "; "))")
        },
    ]
}
