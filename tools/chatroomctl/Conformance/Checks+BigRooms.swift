import ControlClient
import FoundationEssentials

/// Rooms with many people and much traffic, seats, and pages.
extension ConformanceCheck {
    /// A room with more than 1,000 people, of whom all are robots.
    private static func bigRoom(_ run: ConformanceRun, creator: String? = nil) async throws -> String {
        let room = try await run.room(creator: creator)
        for part in 0..<11 {
            let robots: [JSONTree] = (1...100).map { .text("robot-\(part * 100 + $0)") }
            try await run.done("POST", ["rooms", room, "robots"], ["robots": .array(robots)])
        }
        return room
    }

    static let bigRooms: [ConformanceCheck] = [
        .init(
            "2 Viewer budget", "above 1,000 online what the budget leaves out is told by gap (BUDGET), none is missing"
        ) { run in
            let room = try await bigRoom(run)
            let viewer = try await run.connected(run.name("ann"))
            let first = try await viewer.ask("enter", ["room": .text(room)])["seq"]?.integer ?? 0
            try await withThrowingTaskGroup(of: Void.self) { group in
                for part in 0..<8 {
                    group.addTask {
                        for number in 1...50 {
                            try await run.done(
                                "POST", ["rooms", room, "messages"],
                                ["type": "TEXT", "text": .text("m-\(part)-\(number)")])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let last = try await run.done("GET", ["rooms", room, "messages"], query: [("limit", "1")])
            let end = last["messages"]?.items.first?["seq"]?.integer ?? 0
            var known: Set<Int64> = []
            try await run.wait {
                known = Set(await viewer.pushes("message").compactMap { $0["seq"]?.integer })
                for gap in await viewer.pushes("gap") {
                    for range in gap["ranges"]?.items ?? [] {
                        guard let from = range.items.first?.integer, let to = range.items.last?.integer, from <= to
                        else { throw Deviation("a range is \(range.line)") }
                        known.formUnion(from...to)
                    }
                }
                return known.isSuperset(of: (first + 1)...end)
            }
            let missing = ((first + 1)...end).filter { !known.contains($0) }
            try expect(missing.isEmpty, "\(missing.count) seqs were neither shown nor in a gap: \(missing.prefix(5))")
            for gap in await viewer.pushes("gap") { try expect(gap["cause"], is: "BUDGET", "the cause") }
        },
        .init("2 Codes", "above 1,000 online enters and exits of guests become one 350 a second") { run in
            let room = try await bigRoom(run)
            let watcher = try await run.entered(room, run.name("ann"))
            let guest = run.name("bob")
            _ = try await run.entered(room, guest)
            let digest = try await watcher.notification(350)
            try expect((digest["data"]?["online"]?.integer ?? 0) > 1000, "data.online: \(digest.line)")
            try expect(digest["data"]?["entered"]?.integer != nil, "there is no data.entered")
            try expect(digest["seq"] == nil && digest["after"]?.integer != nil, "it is \(digest.line)")
            let enters = await watcher.pushes("message").filter {
                $0["event"] == 301 && $0["targets"]?.items.first?["user"]?.text == guest
            }
            try expect(enters.isEmpty, "a guest's 301 was shown")
        },
        .init("2 Barrage", "equal texts of a window come as one item with a count; one's own are all counted") { run in
            let room = try await run.room()
            let sender = try await run.entered(room, run.name("ann"))
            let viewer = try await run.entered(room, run.name("bob"))
            let line = JSONTree.object(["barrage": ["room": .text(room), "text": "same"]]).line
            await sender.write(text: Array(repeating: line, count: 40).joined(separator: "\n"))
            func count(_ client: ConformanceClient) async -> Int64 {
                await client.pushes("barrage").flatMap { $0["items"]?.items ?? [] }
                    .filter { $0["text"]?.text == "same" }.reduce(0) { $0 + ($1["count"]?.integer ?? 1) }
            }
            try await run.wait { await count(viewer) >= 40 }
            let items = await viewer.pushes("barrage").flatMap { $0["items"]?.items ?? [] }
            let told = await count(viewer)
            try expect(told == 40, "the viewer was told of \(told) of 40")
            try expect(items.count < 40, "they came as \(items.count) items")
            try await run.wait { await count(sender) >= 40 }
            let own = await count(sender)
            try expect(own == 40, "the sender was told of \(own) of its own 40")
        },
        .init("2 Barrage", "what a viewer is spared is told by skipped: shown and skipped make all") { run in
            let room = try await run.room()
            let viewer = try await run.entered(room, run.name("bob"))
            var senders: [ConformanceClient] = []
            for number in 1...4 { senders.append(try await run.entered(room, run.name("s\(number)"))) }
            for (number, sender) in senders.enumerated() {
                let lines = (1...200).map {
                    JSONTree.object(["barrage": ["room": .text(room), "text": .text("b\(number)-\($0)")]]).line
                }
                await sender.write(text: lines.joined(separator: "\n"))
            }
            func told() async -> Int64 {
                let shown = await viewer.pushes("barrage").flatMap { $0["items"]?.items ?? [] }
                    .reduce(Int64(0)) { $0 + ($1["count"]?.integer ?? 1) }
                return await viewer.pushes("skipped").reduce(shown) { $0 + ($1["barrage"]?.integer ?? 0) }
            }
            try await run.wait { await told() >= 800 }
            let sum = await told()
            try expect(sum == 800, "\(sum) of 800 were shown or told as skipped")
        },
        .init("2 Priority", "HIGH holds for managers at most 10 times a second; then it counts as NORMAL") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let ids = [Int64](1001...1018)
            let frame = ids.map { id -> String in
                JSONTree.object([
                    "id": .integer(id),
                    "send": [
                        "room": .text(room), "clientId": .text("c\(id)"), "type": "TEXT", "text": "t",
                        "priority": "HIGH",
                    ],
                ]).line
            }
            await owner.write(text: frame.joined(separator: "\n"))
            var lowered = 0
            for id in ids where try await owner.reply(to: id)["send"]?["priority"] == "NORMAL" { lowered += 1 }
            // The second may end in between, and the next one has ten more.
            try expect((1...8).contains(lowered), "\(lowered) of 18 were lowered")
        },
        .init("2 Queue", "at most 1,000 elements in the queue") { run in
            let room = try await run.room()
            for number in 1...1000 {
                try await run.done("PUT", ["rooms", room, "queue", "k\(number)"], ["value": "v", "notify": false])
            }
            try await run.refused(
                "PUT", ["rooms", room, "queue", "one-more"], ["value": "v"], status: 400, code: 414)
            try await run.done("PUT", ["rooms", room, "queue", "k1"], ["value": "w"])
        },
    ]

    static let seats: [ConformanceCheck] = [
        .init("2 Seats", "a transient queueSet followed at once by exit frees the seat at once") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let watcher = try await run.entered(room, run.name("bob"))
            let client = try await run.entered(room, user)
            let sit: JSONTree = ["room": .text(room), "key": "seat", "value": "v", "transient": true]
            let frame = [
                JSONTree.object(["id": 900, "queueSet": sit]).line,
                JSONTree.object(["id": 901, "exit": ["room": .text(room)]]).line,
            ]
            let began = ContinuousClock.now
            await client.write(text: frame.joined(separator: "\n"))
            _ = try await client.reply(to: 901)
            try await watcher.notification(302) { $0["targets"]?.items.first?["user"]?.text == user }
            func elements() async throws -> Int {
                try await run.done("GET", ["rooms", room, "queue"])["elements"]?.items.count ?? 0
            }
            var left = 0
            // When the grace of 10 s passes, a seat is freed in any case.
            try await run.wait(atMost: .seconds(8)) {
                left = try await elements()
                return left == 0
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            try expect(left == 0 && seconds < 8, "after \(seconds) s \(left) seats are taken by who has gone")
        },
        .init("2 Seats", "a kick frees the seats at once, in one 320") { run in
            let (user, creator) = (run.name("ann"), run.name("creator"))
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            let client = try await run.entered(room, user)
            for key: JSONTree in ["seat-1", "seat-2"] {
                try await client.ask(
                    "queueSet", ["room": .text(room), "key": key, "value": "v", "transient": true])
            }
            try await owner.ask("kick", ["room": .text(room), "user": .text(user)])
            let event = try await owner.notification(320)
            try expect(event["data"]?["elements"]?.items.count == 2, "it names \(event["data"]?.line ?? "nothing")")
        },
        .init("2 Seats", "replacement by an own newer session keeps the seat") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let watcher = try await run.entered(room, run.name("bob"))
            let first = try await run.entered(room, user)
            try await first.ask("queueSet", ["room": .text(room), "key": "seat", "value": "v", "transient": true])
            _ = try await run.entered(room, user)
            try expect(try await first.push("kicked")["reason"], is: 3, "the reason")
            let page = try await watcher.ask("queue", ["room": .text(room)])
            try expect(page["elements"]?.items.count == 1, "the seat is gone")
        },
    ]

    static let pages: [ConformanceCheck] = [
        .init("2 queue", "after and limit page through the queue in order; next is absent on the last page") { run in
            let room = try await run.room()
            for number in 1...5 {
                try await run.done("PUT", ["rooms", room, "queue", "k\(number)"], ["value": "v"])
            }
            let client = try await run.entered(room, run.name("ann"))
            var (keys, after, pages) = ([String](), JSONTree?.none, 0)
            repeat {
                var fields: JSONTree = ["room": .text(room), "limit": 2]
                if let after { fields = fields.adding(["after": after]) }
                let page = try await client.ask("queue", fields)
                keys += page["elements"]?.items.compactMap { $0["key"]?.text } ?? []
                after = page["next"]
                pages += 1
            } while after != nil && pages < 10
            try expect(keys == ["k1", "k2", "k3", "k4", "k5"], "the keys are \(keys)")
        },
        .init("2 members", "after pages through the members; each comes once") { run in
            let room = try await run.room()
            let robots: [JSONTree] = (1...30).map { .text("robot-\($0)") }
            try await run.done("POST", ["rooms", room, "robots"], ["robots": .array(robots)])
            var (users, after, pages) = ([String](), String?.none, 0)
            repeat {
                var query: [(String, String?)] = [("kind", "TEMPORARY"), ("limit", "7")]
                if let after { query.append(("after", after)) }
                let page = try await run.done("GET", ["rooms", room, "members"], query: query)
                users += page["members"]?.items.compactMap { $0["user"]?.text } ?? []
                after = page["next"]?.text
                pages += 1
            } while after != nil && pages < 20
            try expect(
                users.count == 30 && Set(users).count == 30, "\(users.count) came, \(Set(users).count) different")
        },
        .init("2 History", "types filters; a recalled message keeps its place") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, "text")
            try await client.ask("send", ["room": .text(room), "clientId": "tip", "type": "TIP", "text": "tip"])
            let tips = try await client.ask("history", ["room": .text(room), "types": ["TIP"]])
            try expect(tips["messages"]?.items.compactMap { $0["text"]?.text } == ["tip"], "TIP: \(tips.line)")
        },
        .init("2", "no frame over 256 KB: what is more comes in several pages or events") { run in
            let creator = run.name("creator")
            let room = try await run.room(creator: creator)
            let value = String(repeating: "v", count: 4096)
            for number in 1...120 {
                try await run.done(
                    "PUT", ["rooms", room, "queue", "k\(number)"], ["value": .text(value), "notify": false])
            }
            let client = try await run.entered(room, creator)
            var (keys, after, pages) = ([String](), JSONTree?.none, 0)
            repeat {
                var fields: JSONTree = ["room": .text(room), "limit": 100]
                if let after { fields = fields.adding(["after": after]) }
                let page = try await client.ask("queue", fields)
                keys += page["elements"]?.items.compactMap { $0["key"]?.text } ?? []
                after = page["next"]
                pages += 1
            } while after != nil && pages < 30
            try expect(keys.count == 120, "\(keys.count) of 120 elements came")
            let longest = await client.longestFrame
            try expect(longest <= 262_144, "a frame had \(longest) bytes")
        },
    ]
}
