import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    static let users: [ConformanceCheck] = [
        .init("2 connect", "devices has this user's sessions, self marked; the others are told by push") { run in
            let user = run.name("ann")
            let token = JSONTree.text(try await run.token(user))
            let first = try await run.open()
            let own = try await first.ask("connect", ["token": token, "device": "web"])["devices"]?.items ?? []
            try expect(own.count == 1 && own.first?["self"]?.boolean == true, "\(own.map(\.line))")
            try expect(own.first?["device"], is: "web", "device")
            let second = try await run.open()
            let both = try await second.ask("connect", ["token": token, "device": "mobile"])["devices"]?.items ?? []
            try expect(both.map { $0["device"]?.text } == ["web", "mobile"], "\(both.map(\.line))")
            try expect(both.map { $0["self"]?.boolean } == [false, true], "\(both.map(\.line))")
            let told = try await first.push("devices") { $0["devices"]?.items.count == 2 }["devices"]?.items ?? []
            try expect(told.map { $0["self"]?.boolean } == [true, false], "\(told.map(\.line))")
            let listed = try await run.done("GET", ["users", user, "sessions"])["sessions"]?.items ?? []
            try expect(
                listed.map { $0["startedAt"] } == told.map { $0["connectedAt"] }, "\(listed.map(\.line))")
        },
        .init("2 App-wide sanctions", "a banned user is kicked with reason 7, closed with 4403; connect answers 403") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let ann = try await run.entered(room, user)
            let answer = try await run.done("PUT", ["users", user, "ban"], ["seconds": 600, "reason": "spam"])
            try expect(answer["banned"]?["reason"], is: "spam", "the answer")
            try expect(try await ann.push("kicked") { _ in true }["reason"], is: 7, "the reason")
            try expect(try await ann.closing() == 4403, "the close code")
            let again = try await run.open()
            let refusal = try await again.refusal("connect", ["token": .text(try await run.token(user))])
            try expect(refusal, code: 403)
            try expect(refusal["retryAfterMs"]?.integer ?? 0 > 500_000, "retryAfterMs: \(refusal.line)")
            try expect(try await again.closing() == 4403, "the close code of connect")
            try expect(try await run.done("GET", ["users", user])["banned"]?["reason"], is: "spam", "GET …/users")
            try await run.done("PUT", ["users", user, "ban"], ["seconds": 0])
            _ = try await run.entered(room, user)
        },
        .init("2 App-wide sanctions", "a muted one gets 13004 everywhere; GET /v1/users lists") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let ann = try await run.entered(room, user)
            try await run.done("PUT", ["users", user, "mute"], ["seconds": 600])
            try expect(try await ann.sendRefusal(room, "x", [:]), code: 13004)
            let set: JSONTree = ["room": .text(room), "key": "k", "value": "v"]
            try expect(try await ann.refusal("queueSet", set), code: 13004)
            try expect(try await ann.refusal("barrage", ["room": .text(room), "text": "x"]), code: 13004)
            let page = try await run.done("GET", ["users"], query: [("kind", "MUTED"), ("limit", "100")])
            let listed = page["users"]?.items.contains { $0["user"]?.text == user } == true
            try expect(listed || page["next"] != nil, "\(page.line)")
            try await run.done("PUT", ["users", user, "mute"], ["seconds": 0])
            try await ann.send(room, "y")
        },
    ]
}
