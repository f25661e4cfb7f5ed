import ControlClient
import FoundationEssentials

/// Held messages (PROTOCOL.md, "Held messages"). The words hold for the whole cluster, so nothing else runs beside these, and
/// what was set before is set again.
extension ConformanceCheck {
    /// A room with its creator and another user in it, where a word of its own holds messages.
    private struct Stage {
        var room: String
        var word: String
        var owner: ConformanceClient
        var ann: ConformanceClient

        /// Sends a text with the word.
        /// - Returns: the `heldId`.
        func hold(_ text: String, _ clientID: String) async throws -> String {
            let ack = try await ann.ask("send", ConformanceCheck.text(room, clientID, "\(word) \(text)"))
            guard let heldID = ack["heldId"]?.text else { throw Deviation("it was not held: \(ack.line)") }
            try expect(ack, is: ["heldId": .text(heldID)], "the ack")
            return heldID
        }

        func decide(_ heldID: String, _ fields: JSONTree) -> JSONTree {
            (["room": .text(room), "heldId": .text(heldID)] as JSONTree).adding(fields)
        }
    }

    private static func text(_ room: String, _ clientID: String, _ text: String) -> JSONTree {
        ["room": .text(room), "clientId": .text(clientID), "type": "TEXT", "text": .text(text)]
    }

    /// Runs with a word that holds, and with how that ends.
    private static func staged(
        _ run: ConformanceRun, _ settings: JSONTree = [:], _ body: (Stage) async throws -> Void
    ) async throws {
        let before = try await run.done("GET", ["moderation"])
        guard before["hook"] == nil else { throw NotChecked("a hook is set, whose secret could not be set again") }
        let (creator, word) = (run.name("owner"), run.name("iffy"))
        let room = try await run.room(["enterExitNotify": "NONE"], creator: creator)
        let stage = Stage(
            room: room, word: word, owner: try await run.entered(room, creator),
            ann: try await run.entered(room, run.name("ann")))
        let words = (before["words"]?.items ?? []) + [["text": .text(word), "action": "HOLD"]]
        do {
            try await run.done("PUT", ["moderation"], before.adding(settings).adding(["words": .array(words)]))
            // Another node may hear of it a moment later.
            let deadline = ContinuousClock.now + ConformanceClient.waitLimit
            while true {
                let probe = try await stage.ann.ask("send", text(room, run.name("c"), "\(word) probe"))
                if let heldID = probe["heldId"] {
                    let recalled: JSONTree = ["room": .text(room), "messageId": heldID]
                    _ = try await stage.ann.ask("recall", recalled)
                    break
                }
                try expect(ContinuousClock.now < deadline, "nothing is held")
                try await Task.sleep(for: .milliseconds(200))
            }
            try await body(stage)
        } catch {
            try await run.done("PUT", ["moderation"], before)
            throw error
        }
        try await run.done("PUT", ["moderation"], before)
    }

    static let held: [ConformanceCheck] = [
        .init("2 connect", "features lists held") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let features =
                try await client.ask("connect", ["token": .text(token)])["features"]?.items.map(\.shown) ?? []
            try expect(features.contains("held"), "the features are \(features)")
        },
        .init(
            "2 Held messages",
            "the ack has heldId alone; managers are told; allowed, it is a message under its clientId; the first wins",
            pace: .alone
        ) { run in
            try await staged(run) { stage in
                let clientID = run.name("c")
                let heldID = try await stage.hold("one", clientID)
                let push = try await stage.owner.push("held") { $0["message"]?["messageId"]?.text == heldID }
                try expect(push["room"], is: .text(stage.room), "the room of the push")
                try expect(push["message"]?["seq"], is: nil, "the seq of a held message")
                try expect(push["message"]?["clientId"], is: .text(clientID), "the clientId of a held message")
                let page = try await stage.owner.ask("held", ["room": .text(stage.room)])
                try expect(
                    page["messages"]?.items.map { $0["messageId"]?.text ?? "" } == [heldID], "the page is \(page.line)")
                try expect(try await stage.hold("one", clientID) == heldID, "a repeat has another heldId")
                let allowed = try await stage.owner.ask("held", stage.decide(heldID, ["allow": true]))["message"]
                try expect(allowed?["seq"]?.integer != nil, "what was allowed has no seq: \(allowed?.line ?? "")")
                let shown = try await stage.ann.message("\(stage.word) one")
                try expect(shown, is: allowed, "the message that is shown")
                try expect(shown["clientId"], is: .text(clientID), "its clientId")
                let again = try await stage.ann.ask("send", text(stage.room, clientID, "\(stage.word) one"))
                try expect(again["messageId"], is: shown["messageId"], "the repeat of the send")
                for fields in [["allow": true], ["deny": true]] as [JSONTree] {
                    try expect(try await stage.owner.refusal("held", stage.decide(heldID, fields)), code: 409)
                }
            }
        },
        .init(
            "2 Held messages", "denied or withdrawn it is gone: denied, and 13009 for a repeat; managers alone decide",
            pace: .alone
        ) { run in
            try await staged(run) { stage in
                let (first, second) = (run.name("c"), run.name("c"))
                let heldID = try await stage.hold("one", first)
                for fields in [["allow": true], ["deny": true]] as [JSONTree] {
                    try expect(try await stage.ann.refusal("held", stage.decide(heldID, fields)), code: 403)
                }
                try expect(try await stage.ann.refusal("held", ["room": .text(stage.room)]), code: 403)
                _ = try await stage.owner.ask("held", stage.decide(heldID, ["deny": true, "reason": "rude"]))
                let denied = try await stage.ann.push("denied") { $0["heldId"]?.text == heldID }
                let wanted: JSONTree = [
                    "room": .text(stage.room), "heldId": .text(heldID), "clientId": .text(first), "reason": "rude",
                ]
                try expect(denied, is: wanted, "the push denied")
                try expect(
                    try await stage.ann.refusal("send", text(stage.room, first, "\(stage.word) one")), code: 13009)
                let withdrawn = try await stage.hold("two", second)
                _ = try await stage.ann.ask("recall", ["room": .text(stage.room), "messageId": .text(withdrawn)])
                _ = try await stage.ann.push("denied") { $0["heldId"]?.text == withdrawn }
                try expect(try await stage.owner.refusal("held", stage.decide(withdrawn, ["allow": true])), code: 409)
            }
        },
        .init("2 Held messages", "a manager's mute, a kick and a closed room deny it", pace: .alone) { run in
            try await staged(run) { stage in
                let user = try await stage.owner.ask("held", ["room": .text(stage.room)])
                try expect(user["messages"]?.items.isEmpty == true, "the page is \(user.line)")
                let heldID = try await stage.hold("one", run.name("c"))
                let told = try await stage.owner.push("held") { $0["message"]?["messageId"]?.text == heldID }
                let sender = told["message"]?["from"]?["user"]?.text ?? ""
                try await run.done("PUT", ["rooms", stage.room, "members", sender, "mute"], ["enable": true])
                _ = try await stage.ann.push("denied") { $0["heldId"]?.text == heldID }
                try await run.done("PUT", ["rooms", stage.room, "members", sender, "mute"], ["enable": false])
                let second = try await stage.hold("two", run.name("c"))
                try await run.done("POST", ["rooms", stage.room, "close"])
                _ = try await stage.ann.push("denied") { $0["heldId"]?.text == second }
                try await run.refused("POST", ["rooms", stage.room, "held", second, "allow"], status: 409, code: 13002)
            }
        },
        .init("2 Held messages", "after holdSeconds onExpiry decides", pace: .alone) { run in
            try await staged(run, ["holdSeconds": 1, "onExpiry": "ALLOW"]) { stage in
                _ = try await stage.hold("late", run.name("c"))
                try await stage.owner.message("\(stage.word) late")
            }
            try await staged(run, ["holdSeconds": 1, "onExpiry": "DENY"]) { stage in
                let heldID = try await stage.hold("late", run.name("c"))
                _ = try await stage.ann.push("denied") { $0["heldId"]?.text == heldID }
            }
        },
        .init(
            "2 Held messages", "what can't wait counts as refused: unkept messages, barrage, amendments, nicks",
            pace: .alone
        ) { run in
            try await staged(run) { stage in
                let word: JSONTree = .text(stage.word)
                let unkept = text(stage.room, run.name("c"), stage.word).adding(["history": false])
                try expect(try await stage.ann.refusal("send", unkept), code: 13009)
                let sent = try await stage.ann.send(stage.room, "fine")
                let amend: JSONTree = [
                    "room": .text(stage.room), "messageId": sent["messageId"] ?? "", "set": ["text": word],
                ]
                try expect(try await stage.ann.refusal("amend", amend), code: 13009)
                let nick: JSONTree = ["room": .text(stage.room), "set": ["nick": word]]
                try expect(try await stage.ann.refusal("updateMe", nick), code: 13009)
                let barrage: JSONTree = ["room": .text(stage.room), "text": word]
                try expect(try await stage.ann.refusal("barrage", barrage), code: 13009)
            }
        },
        .init("2 Held messages", "wrong fields of held are 404, 413 and 414") { run in
            let creator = run.name("owner")
            let room = try await run.room(creator: creator)
            let owner = try await run.entered(room, creator)
            func refusal(_ fields: JSONTree) async throws -> JSONTree {
                try await owner.refusal("held", (["room": .text(room)] as JSONTree).adding(fields))
            }
            for fields in [
                ["allow": true], ["heldId": "x"], ["heldId": "x", "allow": true, "deny": true],
                ["heldId": "", "allow": true],
                ["limit": 0], ["limit": 101], ["after": "?"],
            ] as [JSONTree] { try expect(try await refusal(fields), code: 414) }
            try expect(try await refusal(["heldId": "x", "allow": true]), code: 404)
            let long: JSONTree = .text(String(repeating: "w", count: 257))
            try expect(try await refusal(["heldId": "x", "deny": true, "reason": long]), code: 413)
            try await run.refused("POST", ["rooms", room, "held", "x", "allow"], status: 404, code: 404)
            try await run.refused(
                "POST", ["rooms", room, "held", "x", "deny"], ["reason": long], status: 413, code: 413)
            for settings in [["holdSeconds": 0], ["holdSeconds": 86401], ["onExpiry": "HOLD"]] as [JSONTree] {
                try await run.refused("PUT", ["moderation"], settings, status: 400, code: 414)
            }
        },
    ]
}
