import ControlClient
import FoundationEssentials
import Synchronization

/// Webhooks and the pre-send hook, with an app's server in this process (PROTOCOL.md, "Webhooks", "Moderation"). They
/// hold for the whole cluster, so nothing else runs beside them, and what was set before is set again.
extension ConformanceCheck {
    private static let secret = "conformance-secret"

    private static func isSigned(_ call: AppServer.Call) throws {
        let time = call.headers["x-chatroom-time"] ?? ""
        try expect(abs((Int64(time) ?? 0) - ConformanceRun.now) < 600_000, "X-Chatroom-Time is \(time)")
        let code = AuthenticationCode.hmacSHA256(key: Array(secret.utf8), Array("\(time).".utf8) + call.body)
        let wanted = "sha256=" + AuthenticationCode.hex(code)
        let signature = call.headers["x-chatroom-signature"] ?? "absent"
        try expect(signature == wanted, "X-Chatroom-Signature is \(signature), not \(wanted)")
    }

    /// The items about a room in a call, in their order.
    private static func items(_ call: AppServer.Call, of room: String) -> [JSONTree] {
        call.json["items"]?.items.filter { $0["room"]?.text == room } ?? []
    }

    /// The item about a message with that text.
    private static func text(_ text: String, in call: AppServer.Call, _ room: String) -> JSONTree? {
        items(call, of: room).first { $0["message"]?["text"]?.text == text }
    }

    /// The items about a room in the calls that were accepted.
    private static func accepted(_ calls: [AppServer.Call], of room: String) -> [JSONTree] {
        calls.filter { $0.status == 200 }.flatMap { items($0, of: room) }
    }

    static let callbacks: [ConformanceCheck] = [
        .init(
            "4 Webhooks",
            "kept messages come signed, with time and cursor; what is not accepted comes again, in seq order",
            pace: .alone
        ) { run in
            guard try await run.done("GET", ["webhook"])["url"] == "" else {
                throw NotChecked("a webhook is set, whose secret could not be set again")
            }
            let room = try await run.room(["enterExitNotify": "NONE"])
            let sender = try await run.entered(room, run.name("ann"))
            let refuses = Mutex(false)
            let app = AppServer(loop: run.loop) { _, _ in
                AppServer.Answer(status: refuses.withLock(\.self) ? 500 : 200)
            }
            let url = try await app.start()
            do {
                try await run.done("PUT", ["webhook"], ["url": .text(url), "secret": .text(secret)])
                // It begins with what is kept when the room's leader has heard of it, which may be on another node.
                let isHeard: @Sendable ([AppServer.Call]) -> Bool? = { calls in
                    calls.contains { !items($0, of: room).isEmpty } ? true : nil
                }
                _ = try await app.wait("the first batch", isHeard) {
                    try await sender.send(room, "probe")
                    try await Task.sleep(for: .milliseconds(300))
                }
                refuses.withLock { $0 = true }
                let seq = try await sender.send(room, "one")["seq"]?.integer ?? 0
                let first = try await app.wait("the batch of one message") { calls in
                    calls.first { text("one", in: $0, room) != nil }
                }
                try isSigned(first)
                try expect(first.json["cursor"]?.text?.isEmpty == false, "there is no cursor: \(first.json.line)")
                let item = text("one", in: first, room)
                for field in ["id", "room", "seq", "event", "time"] {
                    try expect(item?[field] != nil, "an item has no \(field): \(item?.line ?? "")")
                }
                try expect(item?["event"], is: "message", "event")
                try await sender.send(room, "two")
                try await sender.send(room, "hidden", ["webhook": false])
                try await run.done("PATCH", ["rooms", room], ["name": "N"])
                try await run.done("POST", ["rooms", room, "close"])
                try await run.done("POST", ["rooms", room, "reopen"])
                let again = try await app.wait("the repeat of what was not accepted") { calls in
                    calls.filter { text("one", in: $0, room) != nil }.dropFirst().first
                }
                try expect(text("one", in: again, room)?["id"], is: item?["id"], "the repeated item's id")
                refuses.withLock { $0 = false }
                let taken = try await app.wait("the reopening", limit: .seconds(60)) { calls in
                    let taken = accepted(calls, of: room)
                    return taken.contains { $0["event"] == "open" } ? taken : nil
                }
                // Accepted items may come again, too, but nothing may come before its predecessor.
                var known: Set<String> = []
                let all = taken.filter { known.insert($0["id"]?.text ?? "").inserted }
                let fresh = Array(all.drop { ($0["seq"]?.integer ?? 0) < seq })
                let seqs = fresh.compactMap { $0["seq"]?.integer }
                // One was not to be told.
                try expect(seqs == [seq, seq + 1, seq + 3, seq + 4], "the seqs from \(seq) on are \(seqs)")
                let events = fresh.compactMap { $0["event"]?.text }.filter { $0 != "enter" && $0 != "exit" }
                let wanted = ["message", "message", "notification", "notification", "close", "open"]
                try expect(events.sorted() == wanted.sorted(), "the events are \(events)")
                for call in await app.calls { try isSigned(call) }
                try expect(try await run.done("GET", ["webhook"])["secret"], is: nil, "the secret in GET")
            } catch {
                await stop(run, [app])
                throw error
            }
            await stop(run, [app])
        },
        .init(
            "4 Moderation", "the pre-send hook may ALLOW, REWRITE and REFUSE (13009); onFailure decides without answer",
            pace: .alone
        ) { run in
            let before = try await run.done("GET", ["moderation"])
            guard before["hook"] == nil else { throw NotChecked("a hook is set, whose secret could not be set again") }
            let room = try await run.room(["enterExitNotify": "NONE"])
            let app = AppServer(loop: run.loop) { call, _ in
                let text = call.json["message"]?["text"]?.text ?? ""
                if text.hasPrefix("silent") { return nil }
                let isRewritten = text.hasPrefix("rewrite")
                let body: JSONTree =
                    isRewritten
                    ? ["action": "REWRITE", "text": "mended"]
                    : ["action": text.hasPrefix("refuse") ? "REFUSE" : "ALLOW"]
                return AppServer.Answer(status: 200, body: body.line)
            }
            let url = try await app.start()
            let (one, two) = (
                try await run.entered(room, run.name("ann")), try await run.entered(room, run.name("bob"))
            )
            func set(_ onFailure: JSONTree, timeout: JSONTree) async throws {
                let hook: JSONTree = [
                    "url": .text(url), "secret": .text(secret), "timeoutMs": timeout, "onFailure": onFailure,
                ]
                try await run.done("PUT", ["moderation"], before.adding(["hook": hook]))
            }
            @Sendable func reply(_ client: ConformanceClient, _ text: String) async throws -> JSONTree {
                try await client.reply(to: client.begin("send", message(room, run.name("c"), text)))
            }
            do {
                try await set("REFUSE", timeout: 5000)
                // The leader's node may hear of it a moment later.
                let isAsked: @Sendable ([AppServer.Call]) -> Bool? = { $0.isEmpty ? nil : true }
                _ = try await app.wait("the hook's first question", isAsked) {
                    _ = try await reply(one, "probe")
                    try await Task.sleep(for: .milliseconds(200))
                }
                try expect(try await reply(one, "allow this")["send"] != nil, "ALLOW was refused")
                try await two.message("allow this")
                let asked = await app.calls.last { $0.json["message"]?["text"] == "allow this" }?.json
                try expect(asked?["room"], is: .text(room), "the room in the question")
                try expect(
                    asked?["from"]?["user"]?.text?.isEmpty == false, "from in the question: \(asked?.line ?? "")")
                try expect(try await reply(one, "rewrite this")["send"] != nil, "REWRITE was refused")
                try await two.message("mended")
                try expect(try await reply(one, "refuse this")["error"] ?? .null, code: 13009)
                try await set("REFUSE", timeout: 100)
                try expect(try await reply(one, "silent, refused")["error"] ?? .null, code: 13009)
                try await set("ALLOW", timeout: 100)
                let deadline = ContinuousClock.now + ConformanceClient.waitLimit
                while try await reply(two, "silent, allowed")["send"] == nil {
                    try expect(ContinuousClock.now < deadline, "onFailure ALLOW refuses")
                    try await Task.sleep(for: .milliseconds(300))
                }
                try await one.message("silent, allowed")
                let shown = await two.texts()
                let secretly = ["rewrite this", "refuse this", "silent, refused"].filter(shown.contains)
                try expect(secretly.isEmpty, "\(secretly) were shown")
            } catch {
                await app.stop()
                try await run.done("PUT", ["moderation"], before)
                throw error
            }
            await app.stop()
            try await run.done("PUT", ["moderation"], before)
        },
    ]

    static let words: [ConformanceCheck] = [
        .init(
            "4 Moderation", "words are replaced or refused (13009) in messages, barrage, nick, room name, announcement",
            pace: .alone
        ) { run in
            let (refused, replaced, creator) = (run.name("refused"), run.name("replaced"), run.name("creator"))
            let before = try await run.done("GET", ["moderation"])
            let room = try await run.room(["enterExitNotify": "NONE"], creator: creator)
            let (owner, viewer) = (try await run.entered(room, creator), try await run.entered(room, run.name("ann")))
            let words: [JSONTree] = [
                ["text": .text(refused), "action": "REFUSE"], ["text": .text(replaced), "action": "REPLACE"],
            ]
            try await run.done(
                "PUT", ["moderation"], before.adding(["words": .array((before["words"]?.items ?? []) + words)]))
            do {
                // Another node may hear of it a moment later.
                let deadline = ContinuousClock.now + ConformanceClient.waitLimit
                while try await viewer.reply(to: viewer.begin("send", message(room, run.name("c"), refused)))["error"]
                    == nil
                {
                    try expect(ContinuousClock.now < deadline, "a refused word is taken")
                    try await Task.sleep(for: .milliseconds(200))
                }
                let operations: [(String, (String) -> JSONTree)] = [
                    ("barrage", { ["text": .text("a \($0) b")] }), ("updateMe", { ["set": ["nick": .text($0)]] }),
                    ("updateRoom", { ["set": ["name": .text($0)]] }),
                    ("updateRoom", { ["set": ["announcement": .text("a \($0)")]] }),
                ]
                for (operation, fields) in operations {
                    let error = try await owner.refusal(operation, fields(refused).adding(["room": .text(room)]))
                    try expect(error, code: 13009)
                    try await owner.ask(operation, fields(replaced).adding(["room": .text(room)]))
                }
                try await viewer.ask("send", message(room, "replaced", "a \(replaced) b"))
                let push = try await owner.push("message") { $0["clientId"] == "replaced" }
                try expect(push["text"]?.text?.isEmpty == false, "the text is \(push.line)")
                let shown = await owner.items + viewer.items
                try expect(!shown.contains { $0.line.contains(refused) || $0.line.contains(replaced) }, "one was shown")
                let view = try await owner.ask("room", ["room": .text(room)])["room"]
                try expect(view?["name"]?.text?.isEmpty == false, "the name is \(view?["name"]?.line ?? "absent")")
            } catch {
                try await run.done("PUT", ["moderation"], before)
                throw error
            }
            try await run.done("PUT", ["moderation"], before)
        }
    ]

    private static func message(_ room: String, _ clientID: String, _ text: String) -> JSONTree {
        ["room": .text(room), "clientId": .text(clientID), "type": "TEXT", "text": .text(text)]
    }

    private static func stop(_ run: ConformanceRun, _ apps: [AppServer]) async {
        _ = try? await run.api("PUT", ["webhook"], ["url": ""])
        for app in apps { await app.stop() }
    }
}
