import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    private static func tap(_ room: String, _ key: String = "like", _ delta: Int64 = 1) -> JSONTree {
        ["room": .text(room), "key": .text(key), "delta": .integer(delta)]
    }

    static let tallies: [ConformanceCheck] = [
        .init("2 connect", "features lists tally") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let features =
                try await client.ask("connect", ["token": .text(token)])["features"]?.items.map(\.shown) ?? []
            try expect(features.contains("tally"), "the features are \(features)")
        },
        .init("2 Tallies", "every room has like; a tap with id is answered with the total, and all are told it") {
            run in
            let room = try await run.room()
            let (ann, bob) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            try expect(try await ann.ask("tally", ["room": .text(room), "key": "like"])["total"], is: 1, "the total")
            try expect(try await ann.ask("tally", tap(room, "like", 99))["total"], is: 100, "the total")
            for viewer in [ann, bob] {
                let push = try await viewer.push("tallies") { $0["totals"]?["like"]?.integer == 100 }
                try expect(push["room"], is: .text(room), "the room of the push")
            }
            let entered = try await run.connected(run.name("eve")).ask(
                "enter", ["room": .text(room), "withTallies": true])
            let like: JSONTree = ["key": "like", "total": 100, "closed": false]
            try expect(entered["tallies"], is: [like], "the tallies in the reply to enter")
            try expect(try await run.done("GET", ["rooms", room, "tallies"])["tallies"], is: [like], "the tallies")
        },
        .init("2 Tallies", "a tap without id has no reply and is counted once") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            await ann.write(text: (["tally": tap(room, "like", 7)] as JSONTree).line)
            _ = try await ann.push("tallies") { $0["totals"]?["like"]?.integer == 7 }
            await ann.write(text: (["tally": tap(room, "none")] as JSONTree).line)
            try expect(try await ann.ask("tally", tap(room))["total"], is: 8, "the total")
            let errors = await ann.items.filter { $0["error"] != nil }
            try expect(errors.isEmpty, "it was told \(errors.first?.line ?? "")")
        },
        .init("2 Tallies", "with clientId a repeat gets the first total and adds nothing") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            let fields: JSONTree = ["room": .text(room), "key": "like", "delta": 5, "clientId": "once"]
            for _ in 1...2 { try expect(try await ann.ask("tally", fields)["total"], is: 5, "the total") }
            try expect(try await ann.ask("tally", tap(room))["total"], is: 6, "the total")
        },
        .init("2 Tallies", "an unknown key is 404, a closed one 409, the 101st 414; wrong fields are 413 and 414") {
            run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            let path = ["rooms", room, "tallies"]
            try expect(try await ann.refusal("tally", tap(room, "wave")), code: 404)
            try await run.done("PUT", path + ["wave"], ["closed": true])
            try expect(try await ann.refusal("tally", tap(room, "wave")), code: 409)
            try await run.refused("POST", path + ["wave", "add"], ["delta": 1], status: 409, code: 409)
            try await run.refused("POST", path + ["none", "add"], ["delta": 1], status: 404, code: 404)
            for number in 1...99 { try await run.done("PUT", path + ["k\(number)"], [:]) }
            try await run.refused("PUT", path + ["more"], [:], status: 400, code: 414)
            try await run.done("DELETE", path + ["wave"])
            try await run.refused("DELETE", path + ["wave"], status: 404, code: 404)
            for delta in [0, -1, 101] as [Int64] {
                try expect(try await ann.refusal("tally", tap(room, "like", delta)), code: 414)
            }
            for key in ["", "a b", "\u{e4}"] { try expect(try await ann.refusal("tally", tap(room, key)), code: 414) }
            let long = String(repeating: "k", count: 33)
            try expect(try await ann.refusal("tally", tap(room, long)), code: 413)
            try await run.refused("PUT", path + ["t"], ["total": -1], status: 400, code: 414)
            try await run.refused("PUT", path + ["t"], ["by": "ME"], status: 400, code: 414)
        },
        .init("2 Tallies", "tallies by SERVER take only add, which counts once under its Idempotency-Key") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            let path = ["rooms", room, "tallies", "gifts"]
            let made = try await run.done("PUT", path, ["by": "SERVER", "total": 3])
            try expect(made, is: ["key": "gifts", "total": 3, "closed": false, "by": "SERVER"], "the tally")
            try expect(try await ann.refusal("tally", tap(room, "gifts")), code: 403)
            let key = ["Idempotency-Key": run.name("gift")]
            for _ in 1...2 {
                let answer = try await run.api(
                    "POST", path + ["add"], ["delta": 1_000_000_000], headers: key)
                try expect(answer.body["total"], is: 1_000_000_003, "the total")
            }
            try await run.refused("POST", path + ["add"], ["delta": 1_000_000_001], status: 400, code: 414)
            try await run.done("POST", path + ["add"], ["delta": -1_000_000_000])
            try await run.refused("POST", path + ["add"], ["delta": -4], status: 409, code: 409)
            try await run.done("PUT", path, ["total": 9_007_199_254_740_991])
            try await run.refused("POST", path + ["add"], ["delta": 1], status: 409, code: 409)
            try await run.refused("PUT", path, ["total": 9_007_199_254_740_992], status: 400, code: 414)
        },
        .init("2 Tallies", "who may not speak may not tap") { run in
            let (user, creator) = (run.name("ann"), run.name("owner"))
            let room = try await run.room(creator: creator)
            let (ann, owner) = (try await run.entered(room, user), try await run.entered(room, creator))
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": true])
            _ = try await ann.notification(305)
            try expect(try await ann.refusal("tally", tap(room)), code: 13004)
            await ann.write(text: (["tally": tap(room)] as JSONTree).line)
            let durable: JSONTree = ["room": .text(room), "key": "like", "clientId": "c"]
            try expect(try await ann.refusal("tally", durable), code: 13004)
            try await run.done("PUT", ["rooms", room, "members", user, "mute"], ["enable": false])
            _ = try await ann.notification(306)
            try await run.done("PUT", ["rooms", room, "mute"], ["enable": true])
            _ = try await ann.notification(318)
            try expect(try await ann.refusal("tally", tap(room)), code: 13006)
            try expect(try await owner.ask("tally", tap(room))["total"], is: 1, "the total")
            try expect(
                try await run.connected(run.name("out")).refusal("tally", tap(room)), code: 13007)
        },
        .init("2 Tallies", "a session has 1,000 taps a second, 416 beyond, a rate of their own") { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            var refusal: JSONTree?
            for _ in 1...15 where refusal == nil {
                let reply = try await ann.reply(to: ann.begin("tally", tap(room, "none", 100)))
                if reply["error"]?["code"]?.integer == 416 { refusal = reply["error"] }
            }
            // A slow answer to each gives the rate back meanwhile, so what is asked at once decides.
            if refusal == nil {
                var ids: [Int64] = []
                for _ in 1...15 { ids.append(await ann.begin("tally", tap(room, "like", 100))) }
                for id in ids {
                    let reply = try await ann.reply(to: id)
                    if reply["error"]?["code"]?.integer == 416 { refusal = reply["error"] }
                }
            }
            guard let refusal else { throw Deviation("1,500 taps at once were not refused") }
            try expect(refusal, code: 416, waits: true)
            try await ann.send(room, "the rate of changes is as it was")
        },
    ]
}
