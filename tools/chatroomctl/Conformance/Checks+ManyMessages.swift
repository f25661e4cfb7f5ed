import ControlClient
import FoundationEssentials
import HTTPWebSocket
import Wire

/// Budgets and rates where much is sent at once (PROTOCOL.md, "Viewer budget", "Rates" and "Codes").
extension ConformanceCheck {
    /// Adds robots until more than 1,000 people are in a room.
    private static func fill(_ run: ConformanceRun, _ room: String) async throws {
        for part in 0..<11 {
            let robots: [JSONTree] = (1...100).map { .text("robot-\(part * 100 + $0)") }
            try await run.done("POST", ["rooms", room, "robots"], ["robots": .array(robots)])
        }
    }

    /// As many bytes of changes as are asked for, in one request.
    private static func values(_ room: String, _ count: Int, _ letter: String) -> JSONTree {
        let value = JSONTree.text(String(repeating: letter, count: 4000))
        let pairs = (1...count).map { ("k\($0)", value) }
        return ["room": .text(room), "values": .object(Dictionary(pairs) { first, _ in first })]
    }

    /// Sends a message. Its seq.
    private static func post(_ run: ConformanceRun, in room: String, _ more: JSONTree = [:]) async throws -> [Int64] {
        let body: JSONTree = ["type": "TEXT", "text": "t"]
        return [try await run.done("POST", ["rooms", room, "messages"], body.adding(more))["seq"]?.integer]
            .compactMap(\.self)
    }

    /// Sends so many messages, six at the same time.
    private static func post(_ run: ConformanceRun, _ count: Int, in room: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    for _ in 0..<(count / 6) { _ = try await post(run, in: room) }
                }
            }
            try await group.waitForAll()
        }
    }

    static let manyMessages: [ConformanceCheck] = [
        .init(
            "2 Viewer budget",
            "above 1,000 online the viewer's own, mentions, notifications and HIGH are never left out"
        ) { run in
            let (user, room) = (run.name("ann"), try await run.room(["enterExitNotify": "NONE"]))
            try await fill(run, room)
            let viewer = try await run.entered(room, user)
            let flood = Task { try await post(run, 300, in: room) }
            defer { flood.cancel() }
            var always: [Int64] = []
            for number in 1...8 {
                always += try await post(run, in: room, ["mentions": [.text(user)]])
                always += try await post(run, in: room, ["priority": "HIGH"])
                always += [try await viewer.send(room, "own-\(number)")["seq"]?.integer].compactMap(\.self)
                try await run.done("PATCH", ["rooms", room], ["name": .text("N\(number)")])
            }
            try await flood.value
            let last = try await post(run, in: room, ["mentions": [.text(user)]]).first ?? 0
            try await viewer.push("message") { $0["seq"]?.integer == last }
            let shown = Set(await viewer.pushes("message").compactMap { $0["seq"]?.integer })
            let missing = Set(always).subtracting(shown)
            try expect(always.count == 24, "\(always.count) of 24 have a seq")
            try expect(missing.isEmpty, "\(missing.count) of them were left out: \(missing.sorted().prefix(5))")
            let changes = await viewer.pushes("message").filter { $0["event"] == 312 }
            try expect(changes.count == 8, "\(changes.count) of 8 notifications were shown")
        },
        .init(
            "2 Viewer budget",
            "the sample is the same for all; gap (BUDGET) comes once a second, behind what it concerns"
        ) { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            try await fill(run, room)
            var viewers: [ConformanceClient] = []
            for place in 0..<3 {
                let viewer = try await run.connected(run.name("v\(place)"), node: place % run.nodes.count)
                try await viewer.ask("enter", ["room": .text(room)])
                viewers.append(viewer)
            }
            let began = ContinuousClock.now
            try await post(run, 300, in: room)
            let last = try await run.done("PATCH", ["rooms", room], ["name": "the end"])
            try expect(last["name"], is: "the end", "the name")
            var samples: [[Int64]] = []
            for viewer in viewers {
                let end = try await viewer.notification(312)["seq"]?.integer ?? 0
                var (shown, told, gaps) = ([Int64](), Int64(0), 0)
                for item in await viewer.items {
                    if let seq = item["message"]?["seq"]?.integer {
                        try expect(seq > told, "\(seq) came behind the gap that ends with \(told)")
                        try expect(seq > shown.last ?? 0, "\(seq) came behind \(shown.last ?? 0)")
                        shown.append(seq)
                    }
                    guard let gap = item["gap"] else { continue }
                    try expect(gap["cause"], is: "BUDGET", "the cause")
                    gaps += 1
                    told = gap["ranges"]?.items.last?.items.last?.integer ?? 0
                }
                let seconds = (ContinuousClock.now - began) / .seconds(1)
                try expect(Double(gaps) <= seconds + 2, "\(gaps) gaps came in \(seconds) s")
                try expect(Double(shown.count) <= 50 * (seconds + 2), "\(shown.count) were shown in \(seconds) s")
                samples.append(shown.filter { $0 < end })
            }
            try expect(Set(samples).count == 1, "three viewers saw \(samples.map(\.count)), which is not the same")
        },
        .init("2 Codes", "350 has at most 5 members, those with notifyExt first; fixed members come by name") { run in
            let room = try await run.room()
            try await fill(run, room)
            let (fixed, guest, quiet) = (run.name("fixed"), run.name("guest"), run.name("quiet"))
            try await run.done("PUT", ["rooms", room, "members", fixed, "role"], ["role": "NORMAL"])
            let watcher = try await run.entered(room, run.name("ann"))
            _ = try await run.entered(room, fixed)
            let entered = try await watcher.notification(301) { $0["targets"]?.items.first?["user"]?.text == fixed }
            try expect((entered["data"]?["online"]?.integer ?? 0) > 1000, "data.online of 301: \(entered.line)")
            _ = try await run.entered(room, quiet)
            _ = try await run.entered(room, guest, ["notifyExt": "hi", "nick": "G", "avatar": "a", "ext": "e"])
            // 100 robots come at once, so that there are more than five of whom one could tell.
            let robots: [JSONTree] = (1...100).map { .text("late-\($0)") }
            try await run.done("POST", ["rooms", room, "robots"], ["robots": .array(robots)])
            let wanted: JSONTree = [
                "user": .text(guest), "nick": "G", "avatar": "a", "ext": "e", "notifyExt": "hi",
            ]
            let digest = try await watcher.notification(350) { push in
                push["data"]?["members"]?.items.contains { $0["user"]?.text == guest } == true
            }
            try expect(digest["data"]?["members"]?.items.first, is: wanted, "the first member of 350")
            // The changes of the robots are told within a second or two.
            try await watcher.push("message") { ($0["data"]?["entered"]?.integer ?? 0) > 5 }
            for push in await watcher.pushes("message") where push["event"] == 350 {
                let members = push["data"]?["members"]?.items ?? []
                try expect(members.count <= 5, "350 has \(members.count) members")
                try expect(
                    push["data"]?["exited"]?.integer != nil && push["data"]?["online"]?.integer != nil,
                    "data of 350 is \(push["data"]?.line ?? "absent")")
                let hasExt = members.map { $0["notifyExt"] != nil }
                try expect(hasExt == hasExt.sorted { $0 && !$1 }, "those with notifyExt are not first: \(push.line)")
            }
        },
        .init(
            "2 Rates", "320 KB of changes come free every second: after 600 KB, 300 KB are refused, and taken 1 s later"
        ) { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            func frame(_ id: Int64, _ count: Int, _ letter: String) -> String {
                JSONTree.object(["id": .integer(id), "queueSetMany": values(room, count, letter)]).line
            }
            // In one write, so that nothing comes free meanwhile.
            await client.write(.text, Array((frame(900, 100, "a") + "\n" + frame(901, 50, "b")).utf8))
            await client.write(.text, Array(frame(902, 75, "c").utf8))
            for id: Int64 in [900, 901] {
                try expect(try await client.reply(to: id)["queueSetMany"] != nil, "600 KB were refused")
            }
            try expect(try await client.reply(to: 902)["error"] ?? .null, code: 416, waits: true)
            // Bytes come free with time alone.
            try await Task.sleep(for: .seconds(1))
            let reply = try await client.reply(to: client.begin("queueSetMany", values(room, 75, "d")))
            try expect(reply["queueSetMany"] != nil, "300 KB were refused 1 s later: \(reply.line)")
        },
        .init("2 Rates", "over all sessions of a user three times the bytes of one") { run in
            let user = run.name("ann")
            var clients: [(client: ConformanceClient, room: String)] = []
            for _ in 0..<6 {
                let room = try await run.room()
                clients.append((try await run.entered(room, user), room))
            }
            let began = ContinuousClock.now
            for (client, room) in clients {
                for (id, count) in [(Int64(900), 100), (901, 50)] {
                    let request = JSONTree.object(["id": .integer(id), "queueSetMany": values(room, count, "a")])
                    await client.write(text: request.line)
                }
            }
            // Values of 4,000 bytes: their KB are fewer than their thousands of bytes.
            var bytes = 0
            for (client, _) in clients {
                for (id, count) in [(Int64(900), 100), (901, 50)] {
                    let reply = try await client.reply(to: id)
                    if let error = reply["error"] {
                        try expect(error, code: 416, waits: true)
                    } else {
                        bytes += count * 4000
                    }
                }
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(
                Double(bytes) / 1024 <= 1920 + 960 * seconds, "\(bytes / 1024) KB were taken in \(seconds) s")
            try expect(bytes >= 1_200_000, "only \(bytes / 1024) KB were taken")
        },
        .init("2 Rates", "slow mode is one message per user: of another session of the same user it counts, too") {
            run in
            let (user, room) = (run.name("ann"), try await run.room(["slowModeSeconds": 600]))
            try await run.entered(room, user).send(room, "one")
            try expect(try await run.entered(room, user).sendRefusal(room), code: 416, waits: true)
        },
    ]
}
