import ControlClient

extension ConformanceCheck {
    private static func set(_ room: String, _ key: String, value: String, more: JSONTree = [:]) -> JSONTree {
        (["room": .text(room), "key": .text(key), "value": .text(value)] as JSONTree).adding(more)
    }

    static let queue: [ConformanceCheck] = [
        .init("2 queue", "queueSet answers the element and shows 317 OFFER; again: UPDATE, same place, new owner") {
            run in
            let (ann, bob) = (run.name("ann"), run.name("bob"))
            let room = try await run.room()
            let (one, two) = (try await run.entered(room, ann), try await run.entered(room, bob))
            let element = try await one.ask("queueSet", set(room, "k1", value: "v1"))["element"]
            try expect(element?["key"], is: "k1", "key")
            try expect(element?["value"], is: "v1", "value")
            try expect(element?["owner"], is: .text(ann), "owner")
            try expect(element?["transient"], is: false, "transient")
            try expect(element?["version"]?.integer != nil, "there is no version")
            let offer = try await two.notification(317)
            try expect(offer["data"]?["change"], is: "OFFER", "data.change")
            try expect(offer["data"]?["key"], is: "k1", "data.key")
            try await one.ask("queueSet", set(room, "k2", value: "v2"))
            try expect(
                try await two.ask("queueSet", set(room, "k1", value: "w1"))["element"]?["owner"], is: .text(bob),
                "new owner")
            try await one.notification(317) { $0["data"]?["change"] == "UPDATE" }
            let all = try await one.ask("queue", ["room": .text(room)])
            try expect(all["elements"]?.items.compactMap { $0["key"]?.text } == ["k1", "k2"], "the order: \(all.line)")
            try expect(all["seq"]?.integer != nil, "there is no seq")
        },
        .init("2 queue", "queueTake takes the head or a key (317 POLL); an empty queue is 404") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            for key in ["a", "b", "c"] { try await client.ask("queueSet", set(room, key, value: key)) }
            try expect(
                try await client.ask("queueTake", ["room": .text(room), "key": "b"])["element"]?["key"], is: "b", "key")
            try await client.notification(317) { $0["data"]?["change"] == "POLL" && $0["data"]?["key"] == "b" }
            try expect(try await client.ask("queueTake", ["room": .text(room)])["element"]?["key"], is: "a", "the head")
            try await client.ask("queueTake", ["room": .text(room)])
            try expect(try await client.refusal("queueTake", ["room": .text(room)]), code: 404)
        },
        .init("2 queue", "a repeated queueTake with the same clientId takes one element") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            for key in ["a", "b"] { try await client.ask("queueSet", set(room, key, value: key)) }
            let fields: JSONTree = ["room": .text(room), "clientId": "take"]
            let first = try await client.ask("queueTake", fields)
            try expect(try await client.ask("queueTake", fields), is: first, "the second result")
            let all = try await client.ask("queue", ["room": .text(room)])
            try expect(all["elements"]?.items.count == 1, "\(all["elements"]?.items.count ?? 0) are left")
        },
        .init("2 queue", "ifVersion: another version is 409, 0 means new") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            let version = try await client.ask("queueSet", set(room, "k", value: "1", more: ["ifVersion": 0]))[
                "element"]?["version"]
            try expect(
                try await client.refusal("queueSet", set(room, "k", value: "2", more: ["ifVersion": 0])), code: 409)
            let next = try await client.ask(
                "queueSet", set(room, "k", value: "2", more: ["ifVersion": version ?? .null]))
            try expect(next["element"]?["version"] != version, "the version did not change")
            try expect(
                try await client.refusal("queueSet", set(room, "k", value: "3", more: ["ifVersion": version ?? .null])),
                code: 409)
        },
        .init("2 queue", "queueSetMany updates existing keys only and answers the missing ones; 320 BATCH_UPDATE") {
            run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await client.ask("queueSet", set(room, "a", value: "1"))
            let answer = try await client.ask("queueSetMany", ["room": .text(room), "values": ["a": "2", "z": "9"]])
            try expect(answer["missing"], is: ["z"], "missing")
            let event = try await client.notification(320)
            try expect(event["data"]?["change"], is: "BATCH_UPDATE", "data.change")
            try expect(event["data"]?["elements"]?.items.first?["value"], is: "2", "data.elements[0].value")
        },
        .init("2 queue", "queueClear shows 317 DROP; with queueLevel OWNER managers clear, guests don't (403)") { run in
            let creator = run.name("creator")
            let room = try await run.room(["queueLevel": "OWNER"], creator: creator)
            let (one, two) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            try await one.ask("queueSet", set(room, "k", value: "v"))
            try expect(try await two.refusal("queueSet", set(room, "k", value: "w")), code: 403)
            try expect(try await two.refusal("queueTake", ["room": .text(room), "key": "k"]), code: 403)
            try expect(try await one.refusal("queueClear", ["room": .text(room)]), code: 403)
            try await run.entered(room, creator).ask("queueClear", ["room": .text(room)])
            let event = try await one.notification(317) { $0["data"]?["change"] == "DROP" }
            try expect(event["data"], is: ["change": "DROP"], "data")
        },
        .init("2 queue", "queueLevel MANAGER keeps guests out (403)") { run in
            let creator = run.name("creator")
            let room = try await run.room(["queueLevel": "MANAGER"], creator: creator)
            let guest = try await run.entered(room, run.name("ann"))
            try expect(try await guest.refusal("queueSet", set(room, "k", value: "v")), code: 403)
            try await run.entered(room, creator).ask("queueSet", set(room, "k", value: "v"))
        },
        .init("2 queue", "key up to 32 bytes, value up to 4096; one more is 413") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            func letters(_ count: Int) -> String { String(repeating: "q", count: count) }
            try expect(try await client.refusal("queueSet", set(room, letters(33), value: "v")), code: 413)
            try expect(try await client.refusal("queueSet", set(room, "k", value: letters(4097))), code: 413)
            try await client.ask("queueSet", set(room, letters(32), value: letters(4096)))
        },
        .init("2 Seats", "transient elements go at once when their owner exits, in one 320 PARTCLEAR") { run in
            let room = try await run.room()
            let (owner, watcher) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            for key in ["seat-1", "seat-2"] {
                try await owner.ask("queueSet", set(room, key, value: "v", more: ["transient": true]))
            }
            try await owner.ask("queueSet", set(room, "song", value: "v"))
            try await owner.ask("exit", ["room": .text(room)])
            let event = try await watcher.notification(320)
            try expect(event["data"]?["change"], is: "PARTCLEAR", "data.change")
            try expect(event["data"]?["elements"]?.items.count == 2, "it names \(event["data"]?.line ?? "nothing")")
            let all = try await watcher.ask("queue", ["room": .text(room)])
            try expect(all["elements"]?.items.compactMap { $0["key"]?.text } == ["song"], "what is left: \(all.line)")
        },
        .init(
            "2 Seats", "a drop starts the grace: held meanwhile, kept if the owner is back, gone after it",
            pace: .waiting
        ) {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let watcher = try await run.entered(room, run.name("bob"))
            let first = try await run.entered(room, user)
            try await first.ask("queueSet", set(room, "seat", value: "v", more: ["transient": true]))
            await first.drop()
            _ = try await first.closing()
            func held() async throws -> Bool? {
                let page = try await watcher.ask("queue", ["room": .text(room)])
                return page["elements"]?.items.first?["held"]?.boolean
            }
            var seen: Bool?
            // Meanwhile the grace of 10 s passes, and the seat is gone.
            try await run.wait(atMost: .seconds(10)) {
                seen = try await held()
                return seen == true
            }
            try expect(seen == true, "held was never shown")
            let second = try await run.entered(room, user)
            try expect(try await held() != true, "held is shown though the owner is back")
            await second.drop()
            let event = try await watcher.push("message", limit: .seconds(25)) { $0["event"] == 320 }
            try expect(event["data"]?["change"], is: "PARTCLEAR", "data.change")
        },
        .init("2 enter", "withQueue gives the queue as of seq") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await client.ask("queueSet", set(room, "k", value: "v"))
            let other = try await run.connected(run.name("bob"))
            let answer = try await other.ask("enter", ["room": .text(room), "withQueue": true])
            try expect(answer["queue"]?.items.first?["key"], is: "k", "queue[0].key")
        },
    ]
}
