import ControlClient

/// A connection that breaks, and what the room keeps of it (PROTOCOL.md, "Resume" and "Seats").
extension ConformanceCheck {
    private static func isAbout(_ user: String, _ events: [Int64]) -> @Sendable (JSONTree) -> Bool {
        { push in
            events.contains(push["event"]?.integer ?? 0) && push["targets"]?.items.first?["user"]?.text == user
        }
    }

    private static func seat(_ room: String) -> JSONTree {
        ["room": .text(room), "key": "seat", "value": "v", "transient": true]
    }

    static let drops: [ConformanceCheck] = [
        .init(
            "2 Resume", "who is back within the grace: no 301, no 302, online and the seat as before, also after it",
            pace: .waiting
        ) { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let watcher = try await run.entered(room, run.name("bob"))
            let old = try await run.open()
            let token = try await run.token(user)
            let session = try await old.ask("connect", ["token": .text(token)])["session"] ?? .null
            let first = try await old.ask("enter", ["room": .text(room)])
            try await old.ask("queueSet", seat(room))
            try await watcher.push("message", isAbout(user, [301]))
            await old.drop()
            _ = try await old.closing()
            // The wait shows that the drop alone changes nothing.
            try await Task.sleep(for: .seconds(2))
            try expect(
                try await watcher.ask("room", ["room": .text(room)])["room"]?["online"], is: 2, "online meanwhile")
            let new = try await run.open()
            let answer = try await new.ask("connect", ["token": .text(token), "session": session])
            try expect(answer["resumed"], is: true, "resumed")
            try await watcher.send(room, "missed")
            let since: JSONTree = ["since": first["seq"] ?? .null, "epoch": first["epoch"] ?? .null]
            let entered = try await new.ask("enter", since.adding(["room": .text(room)]))
            try expect(entered["recovered"], is: true, "recovered")
            try expect(entered["missed"]?.items.contains { $0["text"] == "missed" } == true, "\(entered.line)")
            // The grace of the drop would have passed by then: the wait shows that nothing comes of it.
            try await Task.sleep(for: .seconds(11))
            try await watcher.send(room, "after")
            try await watcher.message("after")
            let about = await watcher.pushes("message").filter(isAbout(user, [301, 302]))
            try expect(about.count == 1, "\(about.count) of 301 and 302 were shown")
            let view = try await watcher.ask("room", ["room": .text(room)])["room"]
            try expect(view?["online"], is: 2, "online")
            let queue = try await watcher.ask("queue", ["room": .text(room)])["elements"]?.items
            try expect(queue?.first?["owner"], is: .text(user), "the seat's owner")
        },
        .init("2 Resume", "a drop becomes an exit (302) when the grace of 10 s has passed", pace: .waiting) { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let watcher = try await run.entered(room, run.name("bob"))
            let client = try await run.entered(room, user)
            try await client.ask("queueSet", seat(room))
            let began = ContinuousClock.now
            await client.drop()
            try await watcher.push("message", limit: .seconds(40), isAbout(user, [302]))
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(seconds >= 9.5, "302 came after \(seconds) s")
            try await watcher.notification(320)
            try expect(try await watcher.ask("room", ["room": .text(room)])["room"]?["online"], is: 1, "online")
        },
        .init("2 Resume", "a session that has ended just opens a new one, without resumed") { run in
            let user = run.name("ann")
            let token = try await run.token(user)
            let old = try await run.open()
            let session = try await old.ask("connect", ["token": .text(token)])["session"] ?? .null
            try await run.done("POST", ["users", user, "offline"])
            try expect(try await old.closing() == 4403, "the close code is another")
            let new = try await run.open()
            let answer = try await new.ask("connect", ["token": .text(token), "session": session])
            try expect(answer["resumed"], is: nil, "resumed")
            try expect(answer["session"] != session, "the session that was ended lives")
        },
        .init("2 Resume", "since 0 with the epoch, of a client that had received nothing yet, misses nothing") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let viewer = try await run.connected(run.name("bob"))
            let first = try await viewer.ask("enter", ["room": .text(room)])
            try expect(first["seq"], is: 0, "the seq of a room without messages")
            try await viewer.ask("exit", ["room": .text(room)])
            let sender = try await run.entered(room, run.name("ann"))
            for text in ["1", "2", "3"] { try await sender.send(room, text) }
            let answer = try await viewer.ask(
                "enter", ["room": .text(room), "since": 0, "epoch": first["epoch"] ?? .null])
            try expect(answer["recovered"], is: true, "recovered")
            try expect(
                answer["missed"]?.items.compactMap { $0["text"]?.text } == ["1", "2", "3"], "missed: \(answer.line)")
            try expect(answer["missedMore"] != true, "missedMore is said")
        },
        .init("2 Resume", "who has missed nothing is recovered with nothing missed") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, "seen")
            let first = try await client.ask("enter", ["room": .text(room)])
            let answer = try await client.ask(
                "enter", ["room": .text(room), "since": first["seq"] ?? .null, "epoch": first["epoch"] ?? .null])
            try expect(answer["recovered"], is: true, "recovered")
            try expect(answer["missed"]?.items.isEmpty ?? true, "missed: \(answer.line)")
        },
        .init("4 queue", "the owner of a transient element who is not here has the grace to enter", pace: .waiting) {
            run in
            let (here, away, room) = (run.name("here"), run.name("away"), try await run.room())
            for user in [here, away] {
                let body: JSONTree = ["value": "v", "owner": .text(user), "transient": true]
                try await run.done("PUT", ["rooms", room, "queue", user == here ? "kept" : "lost"], body)
            }
            let began = ContinuousClock.now
            let client = try await run.entered(room, here)
            func keys() async throws -> [String] {
                try await run.done("GET", ["rooms", room, "queue"])["elements"]?.items.compactMap { $0["key"]?.text }
                    ?? []
            }
            try expect(try await keys().sorted() == ["kept", "lost"], "one has gone at once")
            let event = try await client.push("message", limit: .seconds(40)) { $0["event"] == 320 }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(seconds >= 9, "it has gone after \(seconds) s")
            try expect(event["data"]?["change"], is: "PARTCLEAR", "data.change")
            let left = try await keys()
            try expect(left == ["kept"], "what is left is \(left)")
        },
    ]
}
