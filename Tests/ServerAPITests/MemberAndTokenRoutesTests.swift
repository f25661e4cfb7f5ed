import ChatModel
import OpenAPITestKit
import Testing

@testable import ServerAPI

@Suite struct MemberAndTokenRoutesTests {
    private let r1 = FakeCluster.room("r1").info.id

    @Test func `members are listed by kind in pages`() async throws {
        try await withServer { client, cluster in
            let page = try await client.call("GET", "/v1/rooms/r1/members?kind=BLACKLISTED&after=c0&limit=3")
            #expect(page.json?["members"]?.array?.first?["user"]?.text == "ann")
            #expect(page.json?["next"]?.text == "c1")
            #expect(try await client.call("GET", "/v1/rooms/r1/members").status == 200)
            #expect(
                cluster.calls == [
                    .members(r1, .blacklisted, after: "c0", limit: 3), .members(r1, .fixed, after: nil, limit: 50),
                ])
        }
    }

    @Test func `a cursor that the service does not know is refused`() async throws {
        try await withServer { client, cluster in
            cluster.fail(with: ChatError(.badParameter, "no such cursor", field: "after"))
            let unknown = try await client.call("GET", "/v1/rooms/r1/members?after=zzz")
            #expect(unknown.status == 400)
            #expect(unknown.error?["field"]?.text == "after")
            cluster.fail(with: nil)
            let long = try await client.call("GET", "/v1/rooms/r1/members?after=\(String(repeating: "z", count: 65))")
            #expect(long.error?["field"]?.text == "after")
        }
    }

    @Test func `an ID of the path that is too long is 413, and another that is none 414`() async throws {
        try await withServer { client, _ in
            let long = String(repeating: "x", count: 65)
            let calls = [
                "/v1/rooms/ID": "room", "/v1/users/ID": "user", "/v1/rooms/r1/members/ID": "user",
                "/v1/rooms/r1/messages/ID": "messageId",
            ]
            for (path, field) in calls {
                let path = path.split(separator: "ID", omittingEmptySubsequences: false)
                let refused = try await client.call("GET", path[0] + long)
                #expect(refused.status == 413 && refused.error?["field"]?.text == field, "\(path[0])")
                guard field != "messageId" else { continue }
                let none = try await client.call("GET", path[0] + "a%00b")
                #expect(none.status == 400 && none.error?["code"]?.integer == 414, "\(path[0])")
            }
        }
    }

    @Test func `one member is found by user`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("GET", "/v1/rooms/r1/members/ann%7Cx")
            #expect(answer.json?["tempMuteSeconds"]?.integer == 42)
            #expect(cluster.calls == [.member(FakeCluster.user("ann|x"), r1)])
            let bad = try await client.call("GET", "/v1/rooms/r1/members/a%00b")
            #expect(bad.error?["field"]?.text == "user")
        }
    }

    @Test func `a token is issued with what the body says of the user`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(
                "POST", "/v1/users/ann/token",
                #"{"ttlSeconds":60,"rooms":["r1"],"nick":"Ann","avatar":"https://a"}"#)
            #expect(answer.json == ["token": .text("e30.e30.x"), "expiresAt": .integer(1_700_000_100_000)])
            #expect(try await client.call("POST", "/v1/users/ann/token").status == 200)
            var request = TokenRequest(user: FakeCluster.user("ann"))
            let plain = request
            request.ttlSeconds = 60
            request.rooms = [r1]
            request.nick = "Ann"
            request.avatar = "https://a"
            #expect(cluster.calls == [.token(request), .token(plain)])
        }
    }

    @Test(arguments: [
        (#"{"ttlSeconds":0}"#, "ttlSeconds"), (#"{"ttlSeconds":9223372036854775807}"#, "ttlSeconds"),
        (#"{"rooms":["a b"]}"#, "rooms"), (#"{"rooms":"r1"}"#, "rooms"),
    ])
    func `a bad field of a token is refused by name`(body: String, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("POST", "/v1/users/ann/token", body)
            #expect(answer.error?["code"]?.integer == 414)
            #expect(answer.error?["field"]?.text?.hasPrefix(field) == true)
            #expect(cluster.calls.isEmpty)
        }
    }
}
