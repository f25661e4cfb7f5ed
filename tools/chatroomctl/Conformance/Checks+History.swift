import ControlClient

extension ConformanceCheck {
    private static func page(_ room: String, _ more: JSONTree) -> JSONTree {
        (["room": .text(room), "types": ["TEXT"]] as JSONTree).adding(more)
    }

    static let history: [ConformanceCheck] = [
        .init("2 History", "DESC is newest first, ASC oldest first; more is false on an exact last page") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            for text in ["1", "2", "3"] { try await client.send(room, text) }
            func texts(_ more: JSONTree) async throws -> ([String], Bool?) {
                let answer = try await client.ask("history", page(room, more))
                return (answer["messages"]?.items.compactMap { $0["text"]?.text } ?? [], answer["more"]?.boolean)
            }
            try expect(try await texts([:]) == (["3", "2", "1"], false), "the default order")
            try expect(try await texts(["order": "ASC", "limit": 2]) == (["1", "2"], true), "ASC, limit 2")
            try expect(try await texts(["order": "ASC", "limit": 3]) == (["1", "2", "3"], false), "ASC, limit 3")
            try expect(try await texts(["order": "ASC", "afterSeq": 1]).0 == ["2", "3"], "afterSeq excludes itself")
            try expect(try await texts(["beforeSeq": 3]).0 == ["2", "1"], "beforeSeq excludes itself")
        },
        .init("2 History", "startTime: DESC at or before it, ASC at or after it") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            try await client.send(room, "1")
            // Each message gets a time of its own.
            try await Task.sleep(for: .milliseconds(5))
            let time = try await client.send(room, "2")["time"] ?? .null
            try await Task.sleep(for: .milliseconds(5))
            try await client.send(room, "3")
            let before = try await client.ask("history", page(room, ["startTime": time]))
            try expect(before["messages"]?.items.compactMap { $0["text"]?.text } == ["2", "1"], "DESC: \(before.line)")
            let after = try await client.ask("history", page(room, ["startTime": time, "order": "ASC"]))
            try expect(after["messages"]?.items.compactMap { $0["text"]?.text } == ["2", "3"], "ASC: \(after.line)")
        },
        .init("2 History", "limit 1-100; 0 and 101 are refused (414)") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            for limit: JSONTree in [0, 101] {
                try expect(
                    try await client.refusal("history", ["room": .text(room), "limit": limit]), code: 414)
            }
            try await client.ask("history", ["room": .text(room), "limit": 100])
        },
    ]

    static let resuming: [ConformanceCheck] = [
        .init("2 Resume", "enter with since and epoch gives what was missed, and the live stream follows") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let sender = try await run.entered(room, run.name("ann"))
            let viewer = try await run.connected(run.name("bob"))
            let first = try await viewer.ask("enter", ["room": .text(room)])
            try await viewer.ask("exit", ["room": .text(room)])
            try await sender.send(room, "missed")
            let answer = try await viewer.ask(
                "enter", ["room": .text(room), "since": first["seq"] ?? .null, "epoch": first["epoch"] ?? .null])
            try expect(answer["recovered"], is: true, "recovered")
            try expect(answer["missed"]?.items.compactMap { $0["text"]?.text } == ["missed"], "missed: \(answer.line)")
            try await sender.send(room, "live")
            let live = try await viewer.message("live")
            try expect(live["seq"]?.integer == (answer["seq"]?.integer ?? -9) + 1, "the live stream begins elsewhere")
            try expect(!(await viewer.texts().contains("missed")), "what was missed came twice")
        },
        .init("2 Resume", "more than 100 missed: missedMore, the rest is in history") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let viewer = try await run.connected(run.name("bob"))
            let first = try await viewer.ask("enter", ["room": .text(room)])
            try await viewer.ask("exit", ["room": .text(room)])
            for number in 1...101 {
                try await run.done("POST", ["rooms", room, "messages"], ["type": "TEXT", "text": .text("m\(number)")])
            }
            let answer = try await viewer.ask(
                "enter", ["room": .text(room), "since": first["seq"] ?? .null, "epoch": first["epoch"] ?? .null])
            try expect(answer["recovered"], is: true, "recovered")
            try expect(answer["missedMore"], is: true, "missedMore")
            guard let missed = answer["missed"]?.items, missed.count <= 100, let last = missed.last?["seq"] else {
                throw Deviation("missed has \(answer["missed"]?.items.count ?? 0) messages")
            }
            let rest = try await viewer.ask("history", ["room": .text(room), "order": "ASC", "afterSeq": last])
            try expect(
                missed.count + (rest["messages"]?.items.count ?? 0) == 101, "missed and history do not add up to 101")
        },
        .init("2 Resume", "recovered is false with another epoch, or since beyond the room's seq") { run in
            let room = try await run.room()
            let client = try await run.connected(run.name("ann"))
            let first = try await client.ask("enter", ["room": .text(room)])
            let other = try await client.ask("enter", ["room": .text(room), "since": 0, "epoch": "another"])
            try expect(other["recovered"], is: false, "recovered with another epoch")
            let beyond = try await client.ask(
                "enter", ["room": .text(room), "since": 1_000_000, "epoch": first["epoch"] ?? .null])
            try expect(beyond["recovered"], is: false, "recovered with a since beyond")
        },
        .init("2 Newest messages", "enter with history gives the newest, oldest first, and the live stream follows") {
            run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let sender = try await run.entered(room, run.name("ann"))
            for text in ["1", "2", "3"] { try await sender.send(room, text) }
            let gone = try await sender.send(room, "4")
            try await sender.ask("recall", ["room": .text(room), "messageId": gone["messageId"] ?? .null])
            let viewer = try await run.connected(run.name("bob"))
            let answer = try await viewer.ask("enter", ["room": .text(room), "history": 4])
            let missed = answer["missed"]?.items ?? []
            try expect(missed.compactMap { $0["seq"]?.integer } == [2, 3, 4, 5], "missed: \(answer.line)")
            try expect(missed.last?["seq"], is: answer["seq"], "the last seq of missed")
            try expect(missed.first { $0["seq"]?.integer == 4 }?["recalled"], is: true, "recalled")
            try expect(missed.first { $0["seq"]?.integer == 4 }?["text"], is: nil, "the text of a recalled message")
            try expect(answer["recovered"], is: nil, "recovered")
            try expect(answer["missedMore"], is: nil, "missedMore")
            try await sender.send(room, "live")
            try expect(try await viewer.message("live")["seq"], is: 6, "the live stream begins elsewhere")
            try expect(await viewer.texts() == ["live"], "what missed has came twice")
        },
        .init("2 Newest messages", "where recovered is false, missed has the newest that history asks for") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let client = try await run.entered(room, run.name("ann"))
            for text in ["1", "2", "3"] { try await client.send(room, text) }
            let lost = try await client.ask(
                "enter", ["room": .text(room), "since": 0, "epoch": "another", "history": 2])
            try expect(lost["recovered"], is: false, "recovered with another epoch")
            try expect(lost["missed"]?.items.compactMap { $0["text"]?.text } == ["2", "3"], "missed: \(lost.line)")
            let found = try await client.ask(
                "enter", ["room": .text(room), "since": 2, "epoch": lost["epoch"] ?? .null, "history": 3])
            try expect(found["missed"]?.items.compactMap { $0["text"]?.text } == ["3"], "missed: \(found.line)")
        },
        .init("2 Newest messages", "history up to 100; 101 is refused (414)") { run in
            let room = try await run.room()
            let client = try await run.connected(run.name("ann"))
            try expect(try await client.refusal("enter", ["room": .text(room), "history": 101]), code: 414)
            try await client.ask("enter", ["room": .text(room), "history": 100])
        },
        .init("2 Resume", "entering again by the same session answers like enter") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"), ["nick": "Old"])
            let again = try await client.ask("enter", ["room": .text(room), "nick": "New"])
            try expect(again["me"]?["nick"], is: "New", "me.nick")
            try expect(again["room"]?["online"], is: 1, "room.online")
        },
    ]
}
