import ControlClient

/// Kicks, closings and other ends of a stay, and what their notifications tell (PROTOCOL.md, "Kick and blacklist").
extension ConformanceCheck {
    private static func change(_ room: String, _ user: String, _ more: JSONTree = [:]) -> JSONTree {
        (["room": .text(room), "user": .text(user)] as JSONTree).adding(more)
    }

    /// The events of the notifications that have come so far.
    private static func events(_ client: ConformanceClient) async -> [Int64] {
        await client.pushes("message").compactMap { $0["event"]?.integer }
    }

    static let expulsions: [ConformanceCheck] = [
        .init("2 Kick and blacklist", "a blacklisting is one 303, no 302 and no 313; kicked has ext") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let (owner, client) = (try await run.entered(room, creator), try await run.entered(room, user))
            try await owner.ask("setBlacklist", change(room, user, ["enable": true, "notifyExt": "why"]))
            let kicked = try await client.push("kicked")
            try expect(kicked["room"], is: .text(room), "the room")
            try expect(kicked["ext"], is: "why", "ext")
            try expect(try await owner.notification(303)["notifyExt"], is: "why", "notifyExt of 303")
            try await owner.send(room, "after")
            try await owner.message("after")
            let events = await events(owner)
            try expect(!events.contains(302) && !events.contains(313), "the events are \(events)")
            try expect(events.filter { $0 == 303 }.count == 1, "the events are \(events)")
        },
        .init("2 Closing", "a closing shows one 311 and no 302, kicked has ext, and 311 is in history after reopening")
        {
            run in
            let room = try await run.room()
            let (one, two) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            try await run.done("POST", ["rooms", room, "close"], ["notifyExt": "over"])
            for client in [one, two] {
                let kicked = try await client.push("kicked")
                try expect(kicked["reason"], is: 1, "the reason")
                try expect(kicked["ext"], is: "over", "ext")
            }
            try await run.done("POST", ["rooms", room, "reopen"])
            let answer = try await one.ask("enter", ["room": .text(room)])
            let page = try await one.ask("history", ["room": .text(room), "types": ["NOTIFICATION"]])
            let closed = page["messages"]?.items.filter { $0["event"] == 311 } ?? []
            try expect(closed.count == 1, "history is \(page.line)")
            try expect(closed.first?["notifyExt"], is: "over", "notifyExt of 311")
            try expect((closed.first?["seq"]?.integer ?? .max) <= (answer["seq"]?.integer ?? 0), "the seq of 311")
            for client in [one, two] {
                let events = await events(client)
                try expect(!events.contains(302), "the events are \(events)")
            }
        },
        .init("2 Closing", "deleting removes a room and its history: made again, it is empty and of another epoch") {
            run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, "gone")
            let before = try await client.ask("enter", ["room": .text(room)])
            try await run.done("DELETE", ["rooms", room])
            try expect(try await client.push("kicked")["reason"], is: 1, "the reason")
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 404)
            try await run.done("POST", ["rooms"], ["id": .text(room), "creator": "c", "enterExitNotify": "NONE"])
            let after = try await client.ask(
                "enter", ["room": .text(room), "since": before["seq"] ?? .null, "epoch": before["epoch"] ?? .null])
            try expect(after["epoch"] != before["epoch"], "the epoch is the same")
            try expect(after["recovered"], is: false, "recovered")
            try expect(after["seq"], is: 0, "seq")
            let page = try await client.ask("history", ["room": .text(room)])
            try expect(page["messages"]?.items.isEmpty == true, "history is \(page.line)")
            try expect(try await client.send(room, "first")["seq"], is: 1, "the first seq")
        },
        .init("2 Closing", "with idleCloseSeconds a room in which nobody is any more closes by itself", pace: .waiting)
        {
            run in
            let room = try await run.room(["idleCloseSeconds": 1])
            let client = try await run.entered(room, run.name("ann"))
            // The wait shows that it stays while somebody is in it.
            try await Task.sleep(for: .seconds(3))
            try expect(try await run.done("GET", ["rooms", room])["closed"], is: false, "closed with one in it")
            try await client.ask("exit", ["room": .text(room)])
            let deadline = ContinuousClock.now + .seconds(30)
            while try await run.done("GET", ["rooms", room])["closed"] != true {
                try expect(ContinuousClock.now < deadline, "it is open 30 s after the last one has gone")
                try await Task.sleep(for: .milliseconds(200))
            }
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 13002)
        },
        .init("2 Codes", "309, 310, 307, 308, 313 and 314 tell operator {user, nick} and targets") { run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator, ["nick": "Host"])
            _ = try await run.entered(room, user, ["nick": "Ann"])
            let changes: [(String, JSONTree, [Int64])] = [
                ("setMember", ["enable": true], [309]), ("setMember", ["enable": false], [310]),
                ("setManager", ["enable": true], [307]), ("setManager", ["enable": false], [308]),
                ("setMute", ["enable": true], [305]), ("setMute", ["enable": false], [306]),
                ("tempMute", ["seconds": 60], [314]), ("tempMute", ["seconds": 0], [315]), ("kick", [:], [313]),
                ("setBlacklist", ["enable": true], [303]), ("setBlacklist", ["enable": false], [304]),
            ]
            for (operation, fields, wanted) in changes {
                try await owner.ask(operation, change(room, user, fields))
                for event in wanted {
                    let push = try await owner.notification(event)
                    try expect(push["operator"], is: ["user": .text(creator), "nick": "Host"], "operator of \(event)")
                    // The room keeps no nick of a guest who has gone.
                    let isGone = event == 303 || event == 304
                    try expect(push["targets"]?.items.count == 1, "targets of \(event) are \(push.line)")
                    let target = push["targets"]?.items.first
                    try expect(target?["user"], is: .text(user), "targets[0].user of \(event)")
                    if !isGone { try expect(target?["nick"], is: "Ann", "targets[0].nick of \(event)") }
                    try expect(push["seq"]?.integer != nil, "\(event) is not kept")
                }
            }
        },
        .init("2 Codes", "317, 320, 316, 312, 318 and 319 tell who did it in operator") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator, ["nick": "Host"])
            let changes: [(String, JSONTree, Int64)] = [
                ("queueSet", ["key": "k", "value": "v"], 317), ("queueSetMany", ["values": ["k": "w"]], 320),
                ("muteRoom", ["enable": true], 318), ("muteRoom", ["enable": false], 319),
                ("updateRoom", ["set": ["name": "N"]], 312), ("updateMe", ["set": ["ext": "e"]], 316),
            ]
            for (operation, fields, event) in changes {
                try await owner.ask(operation, fields.adding(["room": .text(room)]))
                let push = try await owner.notification(event)
                // A user who changes its own info is the target, too.
                let named = push["operator"] ?? (event == 316 ? push["targets"]?.items.first : nil)
                try expect(named, is: ["user": .text(creator), "nick": "Host"], "operator of \(event)")
            }
        },
        .init("2 Codes", "enterExitNotify FIXED_ONLY shows 301 and 302 of fixed members and of no guest") { run in
            let (fixed, room) = (run.name("fixed"), try await run.room(["enterExitNotify": "FIXED_ONLY"]))
            try await run.done("PUT", ["rooms", room, "members", fixed, "role"], ["role": "NORMAL"])
            let watcher = try await run.entered(room, run.name("ann"))
            for user in [run.name("guest"), fixed] {
                let client = try await run.entered(room, user)
                try await client.ask("exit", ["room": .text(room)])
            }
            for event: Int64 in [301, 302] {
                let push = try await watcher.notification(event)
                try expect(push["targets"]?.items.first?["user"], is: .text(fixed), "who \(event) is about")
            }
            let all = await events(watcher).filter { [301, 302].contains($0) }
            try expect(all == [301, 302], "the events are \(all)")
        },
        .init("4 members", "the system, without operator, acts on every rank: on managers and on the creator") { run in
            let (creator, manager) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            try await run.done("PUT", ["rooms", room, "members", manager, "role"], ["role": "MANAGER"])
            let watcher = try await run.entered(room, run.name("bob"))
            for user in [manager, creator] {
                let client = try await run.entered(room, user)
                try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": true])
                try expect(try await client.sendRefusal(room), code: 13004)
                try await run.done("POST", ["rooms", room, "members", user, "kick"], [:])
                try expect(try await client.push("kicked")["reason"], is: 2, "the reason")
                let push = try await watcher.notification(313) { $0["targets"]?.items.first?["user"]?.text == user }
                try expect(push["operator"], is: nil, "operator of 313")
            }
        },
    ]
}
