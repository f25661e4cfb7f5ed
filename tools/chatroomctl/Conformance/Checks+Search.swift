import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    static let search: [ConformanceCheck] = [
        .init("2 connect", "features lists search") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let features =
                try await client.ask("connect", ["token": .text(token)])["features"]?.items.map(\.shown) ?? []
            try expect(features.contains("search"), "the features are \(features)")
        },
        .init(
            "2 Search", "a manager finds beginnings of words in any case, and single Chinese characters, newest first"
        ) { run in
            let creator = run.name("owner")
            let room = try await run.room(["enterExitNotify": "NONE"], creator: creator)
            let owner = try await run.entered(room, creator)
            let ann = try await run.entered(room, run.name("ann"))
            for text in ["Café au lait", "小白来了", "decaf"] { _ = try await ann.send(room, text) }
            let last = try await ann.send(room, "CAFETERIA")
            func found(_ text: String) async throws -> [String] {
                let page = try await run.done("GET", ["rooms", room, "search"], query: [("text", text)])
                return (page["messages"]?.items ?? []).map { $0["text"]?.text ?? "" }
            }
            try expect(try await found("cafe") == ["CAFETERIA", "Café au lait"], "cafe")
            try expect(try await found("白来") == ["小白来了"], "白来")
            try expect(try await found("caf la") == ["Café au lait"], "caf la")
            try expect(try await found("af").isEmpty, "af")
            let page = try await owner.ask("search", ["room": .text(room), "text": "caf", "limit": 1])
            try expect(page["messages"]?.items.first?["messageId"], is: last["messageId"], "the newest")
            let next = page["next"] ?? .null
            let rest = try await owner.ask("search", ["room": .text(room), "text": "caf", "after": next])
            try expect(rest["messages"]?.items.map { $0["text"]?.text ?? "" } == ["Café au lait"], "the rest")
            _ = try await ann.ask(
                "recall", ["room": .text(room), "messageId": last["messageId"] ?? .null])
            try expect(try await found("cafeteria").isEmpty, "a recalled message was found")
        },
        .init("2 Search", "for managers only, two a second; 414 for nothing to look for, 413 for a long text") { run in
            let creator = run.name("owner")
            let room = try await run.room(creator: creator)
            let ann = try await run.entered(room, run.name("ann"))
            try expect(try await ann.refusal("search", ["room": .text(room), "text": "x"]), code: 403)
            let texts: [(JSONTree, Int64)] = [
                (["text": ""], 414), (["text": "..."], 414), ([:], 414), (["text": 5], 414),
                (["text": .text(String(repeating: "x", count: 65))], 413),
                (["text": .text(String(repeating: "x", count: 257))], 413),
                (["text": "x", "limit": 0], 414), (["text": "x", "limit": 101], 414),
                (["text": "x", "startTime": -1], 414), (["text": "x", "types": ["NONE"]], 414),
                (["text": "x", "user": ""], 414), (["text": "x", "after": "x"], 414),
            ]
            // A session for each two, because of the rate.
            for (fields, code) in texts {
                let owner = try await run.entered(room, creator)
                try expect(
                    try await owner.refusal("search", (["room": .text(room)] as JSONTree).adding(fields)), code: code)
            }
        },
    ]
}
