import ControlClient

/// Messages of before (PROTOCOL.md, "Import").
extension ConformanceCheck {
    private static func text(_ time: Int64, _ text: String, by user: String? = nil, clientID: String? = nil) -> JSONTree
    {
        var members: [String: JSONTree] = ["time": .integer(time), "type": "TEXT", "text": .text(text)]
        if let user { members["from"] = ["user": .text(user)] }
        if let clientID { members["clientId"] = .text(clientID) }
        return .object(members)
    }

    private static func answer(_ imported: Int64, _ skipped: Int64, _ seq: Int64) -> JSONTree {
        ["imported": .integer(imported), "skipped": .integer(skipped), "seq": .integer(seq)]
    }

    static let imports: [ConformanceCheck] = [
        .init("4 History", "historyDays is 1 to 3650, set by the server API alone, and shown") { run in
            let room = try await run.room(["historyDays": 3650])
            let info = try await run.done("GET", ["rooms", room])
            try expect(info["historyDays"], is: 3650, "historyDays")
            for value in [0, -1, 3651] as [Int64] {
                try await run.refused(
                    "PATCH", ["rooms", room], ["historyDays": .integer(value)], status: 400, code: 414)
            }
            let changed = try await run.done("PATCH", ["rooms", room], ["historyDays": 1])
            try expect(changed["historyDays"], is: 1, "historyDays behind a change")
        },
        .init("4 Export", "a cursor or a time that is no number is 414, an unknown room 404") { run in
            let room = try await run.room()
            for (name, value) in [("after", "-1"), ("after", "x"), ("startTime", "-1"), ("endTime", "1.5")] {
                try await run.refused(
                    "GET", ["rooms", room, "export"], query: [(name, value)], status: 400, code: 414)
            }
            try await run.refused("GET", ["rooms", run.name("none"), "export"], status: 404, code: 404)
        },
        .init("4 import", "messages keep time and from, get new seqs, and are shown to nobody") { run in
            let (user, room) = (run.name("ann"), try await run.room(["enterExitNotify": "NONE"]))
            let viewer = try await run.entered(room, run.name("bob"))
            let time = ConformanceRun.now - 3_600_000
            let body: JSONTree = ["messages": [text(time, "one", by: user), text(time + 1, "two")]]
            let answered = try await run.done("POST", ["rooms", room, "import"], body)
            try expect(answered == answer(2, 0, 2), "the answer is \(answered.line)")
            let gap = try await viewer.push("gap") { $0["room"] == .text(room) }
            try expect(gap["cause"] == "BUDGET" && gap["ranges"] == [[1, 2]], "the gap is \(gap.line)")
            try await run.done("POST", ["rooms", room, "messages"], ["type": "TEXT", "text": "three"])
            let first = try await viewer.push("message") { _ in true }
            try expect(first["text"], is: "three", "the first push")
            try expect(first["seq"], is: 3, "its seq")
            let page = try await run.done("GET", ["rooms", room, "messages"], query: [("order", "ASC")])
            let all = page["messages"]?.items ?? []
            try expect(all.compactMap { $0["text"]?.text } == ["one", "two", "three"], "history is \(page.line)")
            try expect(all.prefix(2).compactMap { $0["time"]?.integer } == [time, time + 1], "times are \(page.line)")
            try expect(all[0]["from"]?["user"] == .text(user) && all[1]["from"] == nil, "senders are \(page.line)")
        },
        .init("4 import", "a time in the future, out of order, and what is never kept are 414, and nothing is done") {
            run in
            // The cluster's clock may be behind.
            let (room, now) = (try await run.room(), ConformanceRun.now - 60_000)
            let good = text(now - 1_000, "x")
            let wrong: [JSONTree] = [
                text(now + 7_200_000, "x"), text(now - 2_000, "x"), ["time": 1, "type": "TEXT"],
                ["time": .integer(now), "type": "COMMAND", "payload": "AA=="],
                ["time": .integer(now), "type": "TEXT", "recalled": true], ["type": "TEXT", "text": "x"],
            ]
            for one in wrong {
                try await run.refused(
                    "POST", ["rooms", room, "import"], ["messages": [good, one]], status: 400, code: 414)
            }
            try await run.refused("POST", ["rooms", room, "import"], ["messages": []], status: 400, code: 414)
            let many = JSONTree.array(Array(repeating: good, count: 101))
            try await run.refused("POST", ["rooms", room, "import"], ["messages": many], status: 400, code: 414)
            let long = text(now, String(repeating: "x", count: 32 << 10))
            let large = JSONTree.array(Array(repeating: long, count: 9))
            try await run.refused("POST", ["rooms", room, "import"], ["messages": large], status: 413, code: 413)
            let page = try await run.done("GET", ["rooms", room, "messages"], query: [("types", "TEXT")])
            try expect(page["messages"]?.items.isEmpty == true, "history is \(page.line)")
        },
        .init("4 import", "older than the room's newest message is 409; what the room knows by clientId is skipped") {
            run in
            let (user, room) = (run.name("ann"), try await run.room(["enterExitNotify": "NONE"]))
            let now = ConformanceRun.now - 60_000
            let known = text(now - 2_000, "x", by: user, clientID: "c")
            for count in [1, 0] as [Int64] {
                let answered = try await run.done("POST", ["rooms", room, "import"], ["messages": [known]])
                try expect(answered == answer(count, 1 - count, 1), "the answer is \(answered.line)")
            }
            try await run.refused(
                "POST", ["rooms", room, "import"], ["messages": [text(now - 3_000, "y")]], status: 409, code: 409)
        },
    ]
}
