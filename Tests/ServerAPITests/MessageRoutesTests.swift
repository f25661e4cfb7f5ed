import ChatModel
import OpenAPITestKit
import Testing
import Wire

@testable import ServerAPI

@Suite struct MessageRoutesTests {
    private let r1 = FakeCluster.room("r1").info.id

    @Test func `a message is posted in the name of its sender`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(
                "POST", "/v1/rooms/r1/messages",
                #"{"sender":"ann","type":"TEXT","text":"h\u00e9","priority":"HIGH","mentions":["bob"],"ext":"x"}"#,
                headers: ["Idempotency-Key": "k"])
            #expect(answer.status == 200)
            #expect(
                answer.json == [
                    "messageId": .text("m8"), "time": .integer(1_700_000_000_000), "seq": .integer(8),
                    "priority": .text("NORMAL"),
                ])
            var draft = MessageDraft(body: .text("h\u{e9}"))
            draft.priority = .high
            draft.mentions = [FakeCluster.user("bob")]
            draft.ext = "x"
            let ann = ServerSender(user: FakeCluster.user("ann"))
            #expect(cluster.calls == [.send(draft, from: ann, moderate: false, r1, id: "k")])
        }
    }

    @Test func `a sender may have a nick, and clientId does for a key`() async throws {
        try await withServer { client, cluster in
            let body = #"{"sender":{"user":"ann","nick":"Ann"},"type":"TIP","text":"t","clientId":"c","moderate":true}"#
            #expect(try await client.call("POST", "/v1/rooms/r1/messages", body).status == 200)
            _ = try await client.call("POST", "/v1/rooms/r1/messages", body, headers: ["Idempotency-Key": "k"])
            let draft = MessageDraft(body: .tip("t"))
            let ann = ServerSender(user: FakeCluster.user("ann"), profile: Profile(nick: "Ann"))
            #expect(cluster.calls == ["ann\nc", "k"].map { .send(draft, from: ann, moderate: true, r1, id: $0) })
        }
    }

    @Test func `a message without a sender is the system's, and one that is not kept answers after`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(
                "POST", "/v1/rooms/r1/messages", #"{"type":"COMMAND","payload":"AQI="}"#)
            #expect(answer.json?["after"]?.integer == 7)
            #expect(answer.json?["seq"] == nil)
            #expect(
                cluster.calls == [
                    .send(MessageDraft(body: .command(payload: [1, 2])), from: nil, moderate: false, r1, id: nil)
                ])
        }
    }

    @Test(arguments: [
        (#"{"type":"TEXT"}"#, 414, "text"), (#"{"text":"x"}"#, 414, "type"),
        (#"{"type":"SHOUT","text":"x"}"#, 414, "type"),
        (#"{"type":"NOTIFICATION","event":311}"#, 414, "type"),
        (#"{"type":"TEXT","text":"x","sender":""}"#, 414, "sender"),
        (#"{"type":"COMMAND","payload":"%%"}"#, 414, "payload"),
        (#"{"type":"CUSTOM","content":"c","subtype":201}"#, 414, "subtype"),
        ("{\"type\":\"TEXT\",\"text\":\"\(String(repeating: "x", count: 32 * 1024 + 1))\"}", 413, "text"),
    ])
    func `a bad field of a message is refused by name`(body: String, code: Int64, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("POST", "/v1/rooms/r1/messages", body)
            #expect(answer.error?["code"]?.integer == code)
            #expect(answer.error?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `history takes every parameter`() async throws {
        try await withServer { client, cluster in
            let page = try await client.call(
                "GET",
                "/v1/rooms/r1/messages?startTime=5&limit=100&order=ASC&types=TEXT,NOTIFICATION&beforeSeq=9&afterSeq=2")
            #expect(page.json?["messages"]?.array?.count == FakeCluster.messages(r1).count)
            #expect(page.json?["more"] == .boolean(true))
            var query = HistoryRequest()
            query.startTime = Timestamp(5)
            query.limit = 100
            query.ascending = true
            query.types = [.text, .notification]
            query.beforeSeq = 9
            query.afterSeq = 2
            #expect(cluster.calls == [.history(r1, query)])
            #expect(try await client.call("GET", "/v1/rooms/r1/messages").status == 200)
            #expect(cluster.calls.last == .history(r1, HistoryRequest()))
        }
    }

    @Test(arguments: [
        ("startTime=-1", "startTime"), ("startTime=9223372036854775808", "startTime"), ("order=asc", "order"),
        ("types=TEXT,", "types"), ("types=text", "types"), ("beforeSeq=-1", "beforeSeq"),
        ("afterSeq=18446744073709551616", "afterSeq"), ("limit=101", "limit"),
    ])
    func `a bad parameter of history is refused by name`(query: String, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("GET", "/v1/rooms/r1/messages?\(query)")
            #expect(answer.error?["code"]?.integer == 414)
            #expect(answer.error?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `one message is found by its ID`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("GET", "/v1/rooms/r1/messages/1.2%2F3")
            #expect(answer.json?["messageId"]?.text == "m1")
            #expect(cluster.calls == [.message("1.2/3", r1)])
            let long = try await client.call("GET", "/v1/rooms/r1/messages/\(String(repeating: "m", count: 65))")
            #expect(long.error?["field"]?.text == "messageId")
        }
    }

    @Test func `barrage carries its sender, its look and the time`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(
                "POST", "/v1/rooms/r1/barrage",
                #"{"sender":"ann","text":"wow","ext":"e","style":"red","priority":"LOW"}"#)
            #expect(answer.status == 200)
            #expect(answer.json == ["accepted": .boolean(true)])
            let from = Sender(user: FakeCluster.user("ann"), profile: Profile(), role: .guest)
            var item = BarrageItem(from: from, text: "wow", time: Timestamp(1_700_000_000_123))
            item.ext = "e"
            item.style = "red"
            item.priority = .low
            #expect(cluster.calls == [.barrage(item, r1)])
            let long = try await client.call(
                "POST", "/v1/rooms/r1/barrage", "{\"text\":\"\(String(repeating: "w", count: 5121))\"}")
            #expect(long.status == 413)
            #expect(long.error?["field"]?.text == "text")
        }
    }

    @Test func `a search takes its parameters, and refuses those that are wrong`() async throws {
        try await withServer { client, cluster in
            let all = "text=%E5%B0%8Fx&user=bob&types=TEXT,FILE&startTime=5&endTime=9&limit=3&after=12"
            let page = try await client.call("GET", "/v1/rooms/r1/search?\(all)")
            #expect(page.status == 200 && page.json?["next"]?.text == "7")
            let plain = try await client.call("GET", "/v1/rooms/r1/search?text=a")
            #expect(plain.status == 200)
            #expect(
                cluster.calls == [
                    .search(
                        SearchRequest(
                            room: r1, text: "小x", user: FakeCluster.user("bob"), types: [.text, .file],
                            startTime: Timestamp(5), endTime: Timestamp(9), limit: 3, after: "12")),
                    .search(SearchRequest(room: r1, text: "a")),
                ])
            for (query, status, field) in [
                ("", 414, "text"), ("text=", 414, "text"), ("text=a&limit=0", 414, "limit"),
                ("text=a&limit=101", 414, "limit"), ("text=a&user=%20", 414, "user"), ("text=a&types=X", 414, "types"),
                ("text=a&startTime=-1", 414, "startTime"), ("text=a&endTime=x", 414, "endTime"),
                ("text=\(String(repeating: "x", count: 65))", 413, "text"),
                ("text=\(String(repeating: "x", count: 257))", 413, "text"),
                ("text=a&after=\(String(repeating: "1", count: 65))", 414, "after"),
            ] {
                let refused = try await client.call("GET", "/v1/rooms/r1/search?\(query)")
                #expect(refused.error?["code"]?.integer == Int64(status), "\(query)")
                #expect(refused.error?["field"]?.text == field, "\(query)")
            }
        }
    }

    @Test func `what a manager decides about a held message becomes its command`() async throws {
        try await withServer { client, cluster in
            let page = try await client.call("GET", "/v1/rooms/r1/held?after=c&limit=5")
            #expect(page.status == 200 && page.json?["next"]?.text == "c1")
            #expect(page.json?["messages"]?.array?.first?["seq"] == nil)
            let allowed = try await client.call(
                "POST", "/v1/rooms/r1/held/a.1/allow", headers: ["Idempotency-Key": "k"])
            #expect(allowed.status == 200 && allowed.json?["message"]?["seq"] != nil)
            let denied = try await client.call("POST", "/v1/rooms/r1/held/a.1/deny", #"{"reason":"rude"}"#)
            #expect(denied.status == 200 && denied.json?["message"]?["seq"] == nil)
            #expect(
                cluster.calls == [
                    .held(r1, after: "c", limit: 5),
                    .perform(.decideHeld(heldID: "a.1", HeldDecision(isAllowed: true)), r1, .system, id: "k"),
                    .perform(
                        .decideHeld(heldID: "a.1", HeldDecision(isAllowed: false, reason: "rude")), r1, .system, id: nil
                    ),
                ])
            let long = try await client.call(
                "POST", "/v1/rooms/r1/held/a.1/deny", "{\"reason\":\"\(String(repeating: "w", count: 257))\"}")
            #expect(long.status == 413 && long.error?["field"]?.text == "reason")
            cluster.answer(with: .held(heldID: "a.1"))
            let held = try await client.call("POST", "/v1/rooms/r1/messages", #"{"type":"TEXT","text":"x"}"#)
            #expect(held.status == 200)
        }
    }
}
