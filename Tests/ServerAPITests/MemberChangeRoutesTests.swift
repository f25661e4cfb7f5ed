import ChatModel
import OpenAPITestKit
import Testing

@testable import ServerAPI

@Suite struct MemberChangeRoutesTests {
    private let r1 = FakeCluster.room("r1").info.id
    private static let eve = FakeCluster.user("eve")
    private static let quiet = NotifyOptions(notify: false, notifyExt: "x")
    private static let ann = Actor.server(UserName(user: FakeCluster.user("ann"), nick: "Ann"))

    private static var unlocked: QueueWrite {
        var write = QueueWrite(key: "a", value: "v")
        (write.keepOwner, write.locked) = (true, false)
        return write
    }

    static let changes: [(String, String, String, CommandBody)] = [
        ("PUT", "members/eve/role", #""role":"MANAGER""#, .setRole(eve, .manager, quiet)),
        ("PUT", "members/eve/role", #""role":"GUEST""#, .setRole(eve, .guest, quiet)),
        ("PUT", "members/eve/blacklist", #""enable":true"#, .setBlacklist(eve, enable: true, quiet)),
        ("PUT", "members/eve/mute", #""enable":false"#, .setMute(eve, enable: false, quiet)),
        ("PUT", "members/eve/tempMute", #""seconds":2592000"#, .tempMute(eve, seconds: 2_592_000, quiet)),
        ("POST", "members/eve/kick", #""banSeconds":2592000"#, .kick(eve, banSeconds: 2_592_000, quiet)),
        ("POST", "messages/m/pin", #""enable":true"#, .pin(messageID: "m", enable: true, quiet)),
        (
            "POST", "polls", #""poll":"p","title":"t","options":["a","b"],"seconds":60"#,
            .openPoll(id: "p", PollDraft(title: "t", options: ["a", "b"], seconds: 60), quiet)
        ),
        ("POST", "polls/p/close", #""notify":false"#, .closePoll(id: "p", quiet)),
        ("PUT", "mute", #""enable":true"#, .muteRoom(enable: true, quiet)),
        (
            "PUT", "queue/a%2Fb", #""value":"v","owner":"eve","transient":true,"ifVersion":0"#,
            .queueSet(QueueWrite(key: "a/b", value: "v", owner: eve, transient: true, ifVersion: 0), quiet)
        ),
        ("PUT", "queue/a", #""value":"v","keepOwner":true,"locked":false"#, .queueSet(unlocked, quiet)),
        ("PATCH", "queue", #""values":{"a":"1"}"#, .queueSetMany([QueuePair(key: "a", value: "1")], quiet)),
        ("POST", "queue/take", #""key":"a""#, .queueTake(key: "a", quiet)),
        ("POST", "queue/take", #""key":null"#, .queueTake(key: nil, quiet)),
        ("DELETE", "queue", #""notify":false"#, .queueClear(quiet)),
    ]

    @Test(arguments: changes)
    func `a change becomes its command, in the operator's name, under its key`(
        method: String, path: String, fields: String, command: CommandBody
    ) async throws {
        try await withServer { client, cluster in
            let notify = fields.contains("notify") ? "" : #","notify":false"#
            let answer = try await client.call(
                method, "/v1/rooms/r1/\(path)",
                #"{\#(fields)\#(notify),"notifyExt":"x","operator":{"user":"ann","nick":"Ann"}}"#,
                headers: ["Idempotency-Key": "k"])
            #expect(answer.status == 200)
            #expect(cluster.calls == [.perform(command, r1, Self.ann, id: "k")])
        }
    }

    @Test(arguments: [
        ("POST", "members/eve/kick", CommandBody.kick(eve, banSeconds: nil, NotifyOptions())),
        ("POST", "queue/take", .queueTake(key: nil, NotifyOptions())),
        ("DELETE", "queue", .queueClear(NotifyOptions())),
    ])
    func `a call whose fields are all optional needs no body, and is the system's`(
        method: String, path: String, command: CommandBody
    ) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(method, "/v1/rooms/r1/\(path)")
            #expect(answer.status == 200)
            #expect(cluster.calls == [.perform(command, r1, .system, id: nil)])
        }
    }

    @Test func `a changed member, an element and missing keys are answered as the client protocol names them`()
        async throws
    {
        try await withServer { client, _ in
            let member = try await client.call("PUT", "/v1/rooms/r1/members/eve/mute", #"{"enable":true}"#)
            #expect(member.json?["member"]?["user"]?.text == "eve")
            let element = try await client.call("PUT", "/v1/rooms/r1/queue/seat", #"{"value":"v"}"#)
            #expect(element.json?["element"]?["key"]?.text == "seat")
            let missing = try await client.call("PATCH", "/v1/rooms/r1/queue", #"{"values":{"a":"1"}}"#)
            #expect(missing.json?["missing"]?.array?.first?.text == "a")
            let page = try await client.call("GET", "/v1/rooms/r1/queue?after=c&limit=3")
            #expect(page.json?["elements"]?.array?.first?["held"] == .boolean(true))
            #expect(page.json?["seq"]?.integer == 7 && page.json?["next"]?.text == "c1")
        }
    }

    @Test func `a page of the queue has 100 elements when nobody says otherwise`() async throws {
        try await withServer { client, cluster in
            _ = try await client.call("GET", "/v1/rooms/r1/queue")
            #expect(cluster.calls == [.queue(r1, after: nil, limit: 100)])
            #expect(try await client.call("GET", "/v1/rooms/r1/queue?limit=101").error?["field"]?.text == "limit")
        }
    }

    @Test func `reports come in pages, and a cursor over its limit is 413`() async throws {
        try await withServer { client, cluster in
            let page = try await client.call("GET", "/v1/rooms/r1/reports?after=a1&limit=3")
            #expect(cluster.calls == [.reports(r1, after: "a1", limit: 3)])
            #expect(
                String(decoding: page.body, as: UTF8.self)
                    == #"{"reports":[{"id":"10","messageId":"m","seq":7,"from":{"user":"bob","nick":"Bob"},"excerpt":"x","#
                    + #""reporter":{"user":"ann","nick":"Ann"},"reason":"spam","time":5}],"next":"10"}"#)
            _ = try await client.call("GET", "/v1/rooms/r1/reports")
            #expect(cluster.calls.last == .reports(r1, after: nil, limit: 50))
            for query in ["limit=0", "limit=101", "limit=x", "after=" + String(repeating: "a", count: 65)] {
                let refused = try await client.call("GET", "/v1/rooms/r1/reports?" + query)
                #expect(refused.status >= 400 && refused.error?["field"]?.text == String(query.prefix { $0 != "=" }))
            }
        }
    }

    @Test(arguments: [
        ("PUT", "members/eve/role", "{}", 414, "role"),
        ("PUT", "members/eve/role", #"{"role":"CREATOR"}"#, 414, "role"),
        ("PUT", "members/eve/role", #"{"role":null}"#, 414, "role"), ("PUT", "members/eve/mute", "{}", 414, "enable"),
        ("PUT", "members/eve/mute", #"{"enable":1}"#, 414, "enable"),
        ("PUT", "members/eve/tempMute", #"{"seconds":-1}"#, 414, "seconds"),
        ("PUT", "members/eve/tempMute", #"{"seconds":2592001}"#, 414, "seconds"),
        ("POST", "members/eve/kick", #"{"banSeconds":2592001}"#, 414, "banSeconds"),
        ("PUT", "members/e%20e/mute", #"{"enable":true}"#, 414, "user"),
        ("PUT", "mute", #"{"enable":true,"operator":"a b"}"#, 414, "operator"),
        ("PUT", "queue/\(String(repeating: "k", count: 33))", #"{"value":"v"}"#, 413, "key"),
        ("PUT", "queue/", #"{"value":"v"}"#, 414, "key"), ("PUT", "queue/a", "{}", 414, "value"),
        ("PUT", "queue/a", "{\"value\":\"\(String(repeating: "v", count: 4097))\"}", 413, "value"),
        ("PUT", "queue/a", #"{"value":"v","ifVersion":-1}"#, 414, "ifVersion"),
        ("PATCH", "queue", "{}", 414, "values"), ("PATCH", "queue", #"{"values":[]}"#, 414, "values"),
        ("POST", "queue/take", "{\"key\":\"\(String(repeating: "k", count: 129))\"}", 413, "key"),
        ("PUT", "mute", "{\"enable\":true,\"notifyExt\":\"\(String(repeating: "x", count: 2049))\"}", 413, "notifyExt"),
    ])
    func `a bad field is refused by name before anything is done`(
        method: String, path: String, body: String, code: Int64, field: String
    ) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(method, "/v1/rooms/r1/\(path)", body)
            #expect(answer.status == (code == 413 ? 413 : 400))
            #expect(answer.error?["code"]?.integer == code)
            #expect(answer.error?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `the result of another call under the same key is a conflict`() async throws {
        try await withServer { client, cluster in
            // The fake answers a kick with `done` and a role with a member, as a room that remembers would not.
            cluster.answer(with: .missing(["a"]))
            let kick = try await client.call("POST", "/v1/rooms/r1/members/eve/kick", headers: ["Idempotency-Key": "k"])
            #expect(kick.status == 409)
            #expect(kick.error?["field"]?.text == "Idempotency-Key")
            let role = try await client.call("PUT", "/v1/rooms/r1/members/eve/role", #"{"role":"GUEST"}"#)
            #expect(role.status == 409)
        }
    }
}
