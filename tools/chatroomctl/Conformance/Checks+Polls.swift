import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    private static func draft(_ room: String, _ poll: String = "p", _ more: [String: JSONTree] = [:]) -> JSONTree {
        var fields: [String: JSONTree] = [
            "room": .text(room), "poll": .text(poll), "title": "which?", "options": ["a", "b"], "seconds": 600,
        ]
        fields.merge(more) { $1 }
        return .object(fields)
    }

    private static func vote(_ room: String, _ option: Int64, _ poll: String = "p") -> JSONTree {
        ["room": .text(room), "poll": .text(poll), "option": .integer(option)]
    }

    static let polls: [ConformanceCheck] = [
        .init("2 Polls", "362 opens, 363 closes with the counts; one vote a user, again 409; counts come with tallies")
        {
            run in
            let creator = run.name("owner")
            let room = try await run.room(["enterExitNotify": "NONE"], creator: creator)
            let (owner, ann) = (try await run.entered(room, creator), try await run.entered(room, run.name("ann")))
            let opened = try await owner.ask("poll", draft(room))["poll"]
            try expect(opened?["counts"], is: [0, 0], "the counts")
            let told = try await ann.notification(362)
            try expect(told["operator"]?["user"], is: .text(creator), "the operator of 362")
            for field in ["poll", "title", "options", "counts", "closesAt", "mayChange"] {
                try expect(told["data"]?[field], is: opened?[field], field)
            }
            try expect(try await ann.ask("vote", vote(room, 1))["poll"]?["counts"], is: [0, 1], "the counts")
            try expect(try await ann.refusal("vote", vote(room, 0)), code: 409)
            _ = try await owner.push("tallies") { $0["totals"]?["poll:p:1"]?.integer == 1 }
            try expect(try await owner.ask("vote", vote(room, 0))["poll"]?["counts"], is: [1, 1], "the counts")
            try await owner.ask("poll", ["room": .text(room), "poll": "p", "close": true])
            try expect(try await ann.notification(363)["data"]?["counts"], is: [1, 1], "the counts of 363")
            try expect(try await run.connected(run.name("out")).refusal("vote", vote(room, 0)), code: 13007)
            try expect(try await ann.refusal("vote", vote(room, 0)), code: 409)
        },
        .init("2 Polls", "with mayChange a second vote moves the first; a repeat of a clientId changes nothing") {
            run in
            let creator = run.name("owner")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            try await owner.ask("poll", draft(room, "p", ["mayChange": true]))
            let first: JSONTree = ["room": .text(room), "poll": "p", "option": 0, "clientId": "c"]
            try await owner.ask("vote", first)
            try expect(try await owner.ask("vote", vote(room, 1))["poll"]?["counts"], is: [0, 1], "the counts")
            try expect(try await owner.ask("vote", first)["poll"]?["counts"], is: [1, 0], "the repeat")
            let polls = try await run.done("GET", ["rooms", room, "polls"])["polls"]?.items ?? []
            try expect(polls.first?["counts"], is: [0, 1], "the counts")
        },
        .init("2 Polls", "polls are for managers; wrong fields are 413 and 414, the sixth open poll is 409") { run in
            let creator = run.name("owner")
            let room = try await run.room(creator: creator)
            let (owner, ann) = (try await run.entered(room, creator), try await run.entered(room, run.name("ann")))
            try expect(try await ann.refusal("poll", draft(room)), code: 403)
            try expect(try await ann.refusal("vote", vote(room, 0)), code: 404)
            let eleven = JSONTree.array((1...11).map { .text("\($0)") })
            for wrong in [
                ["options": ["a"]], ["options": eleven], ["options": ["a", ""]], ["seconds": 0], ["seconds": 86_401],
                ["title": ""], ["poll": "a b"],
            ] as [[String: JSONTree]] {
                try expect(try await owner.refusal("poll", draft(room, "p", wrong)), code: 414)
            }
            for long in [
                ["title": .text(String(repeating: "t", count: 257))],
                ["options": ["a", .text(String(repeating: "o", count: 129))]],
                ["poll": .text(String(repeating: "p", count: 33))],
            ] as [[String: JSONTree]] {
                try expect(try await owner.refusal("poll", draft(room, "p", long)), code: 413)
            }
            for number in 1...5 { try await owner.ask("poll", draft(room, "p\(number)")) }
            try expect(try await owner.refusal("poll", draft(room, "p6")), code: 409)
            try expect(try await owner.refusal("vote", vote(room, 2, "p1")), code: 414)
            let closed = try await run.done("POST", ["rooms", room, "polls", "p1", "close"])["poll"]
            try expect(closed?["closed"], is: true, "closed")
            try await run.refused("POST", ["rooms", room, "polls", "p1", "close"], status: 409, code: 409)
            try await run.refused("POST", ["rooms", room, "polls", "none", "close"], status: 404, code: 404)
        },
        .init("2 Polls", "a poll closes by its time", pace: .waiting) { run in
            let room = try await run.room()
            let ann = try await run.entered(room, run.name("ann"))
            try await run.done(
                "POST", ["rooms", room, "polls"],
                ["poll": "p", "title": "t", "options": ["a", "b"], "seconds": 1])
            let told = try await ann.notification(363)
            try expect(told["data"]?["counts"], is: [0, 0], "the counts")
            try expect(told["operator"], is: nil, "the operator")
        },
    ]
}
