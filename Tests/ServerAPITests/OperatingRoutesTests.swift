import ChatModel
import Foundation
import Synchronization
import OpenAPITestKit
import Testing
import Wire

@testable import ServerAPI

@Suite struct OperatingRoutesTests {
    @Test func `a key of a call without a room gives the first answer, and a refused try does not use it up`()
        async throws
    {
        try await withServer { client, cluster in
            let key = ["Idempotency-Key": "k"]
            let body = #"{"type":"TEXT","text":"x"}"#
            cluster.fail(with: ChatError(.unavailable, "not now"))
            #expect(try await client.call("POST", "/v1/broadcast", body, headers: key).status == 503)
            cluster.fail(with: nil)
            let first = try await client.call("POST", "/v1/broadcast", body, headers: key)
            let second = try await client.call("POST", "/v1/broadcast", body, headers: key)
            #expect(first.status == 200 && second.status == 200 && first.body == second.body)
            // Elsewhere the key is another one.
            #expect(try await client.call("POST", "/v1/users/ann/messages", body, headers: key).status == 200)
            #expect(cluster.calls.count == 3)
        }
    }

    @Test func `the clientId of a direct message does what the key does`() async throws {
        try await withServer { client, cluster in
            let body = #"{"type":"TEXT","text":"x","clientId":"c"}"#
            let first = try await client.call("POST", "/v1/users/ann/messages", body)
            let second = try await client.call("POST", "/v1/users/ann/messages", body)
            #expect(first.body == second.body && cluster.calls.count == 1)
        }
    }

    @Test func `a call that has begun and whose end is unknown is 409`() async throws {
        try await withServer { client, cluster in
            _ = try await cluster.begin(call: "POST /v1/users/ann/offline\nk")
            let answer = try await client.call("POST", "/v1/users/ann/offline", headers: ["Idempotency-Key": "k"])
            #expect(answer.status == 409 && cluster.calls.isEmpty)
        }
    }

    @Test(arguments: [
        (#"{"type":"TEXT","text":"x","to":["bob"]}"#, "to"),
        (#"{"type":"COMBINE","title":"t","summary":"s","messageIds":["m"]}"#, "type"),
        (#"{"type":"NOTIFICATION"}"#, "type"), (#"{"type":"TEXT"}"#, "text"),
    ])
    func `what only a room can show is refused`(body: String, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("POST", "/v1/broadcast", body)
            #expect(answer.status == 400 && answer.error?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `the audit has changing calls with their outcome, without queries, and no reading ones`() async throws {
        try await withServer { client, cluster in
            _ = try await client.call("GET", "/v1/stats")
            _ = try await client.call("POST", "/v1/users/ann/offline?token=secret")
            _ = try await client.call("POST", "/v1/broadcast", "{")
            _ = try await client.call("DELETE", "/v1/sessions/gone")
            _ = try await client.call("PUT", "/v1/log", #"{"level":"info"}"#, bearer: "wrong")
            _ = try await client.call("PUT", "/nothing")
            let items = cluster.state.withLock { $0.audited }
            #expect(items.map(\.status) == [200, 400, 404, 401, 404])
            #expect(items.map(\.error) == [nil, 400, 404, 401, 404])
            #expect(items.map(\.administrator) == ["root", "root", "root", nil, nil])
            #expect(items.first?.path == "/v1/users/ann/offline" && items.first?.address == "127.0.0.1")
            #expect(items.allSatisfy { $0.time == Timestamp(1_700_000_000_123) })
            #expect(items.map(\.action) == ["forceOffline", "broadcast", "endSession", "setLogLevel", nil])
        }
    }

    @Test func `the audit has the room of a call, also of one that makes it`() async throws {
        try await withServer { client, cluster in
            _ = try await client.call("POST", "/v1/rooms", #"{"id":"a","creator":"o"}"#)
            _ = try await client.call("POST", "/v1/rooms/b/close", bearer: "wrong")
            _ = try await client.call("POST", "/v1/rooms/%20/close")
            let items = cluster.state.withLock { $0.audited }
            #expect(items.map(\.room) == ["a", "b", nil])
            #expect(items.map(\.action) == ["createRoom", "closeRoom", "closeRoom"])
        }
    }

    @Test func `a signed request is checked with its whole content`() async throws {
        try await withServer { client, cluster in
            var headers = [
                "X-Chatroom-Key": "k", "X-Chatroom-Time": "1", "X-Chatroom-Nonce": "n", "X-Chatroom-Signature": "kk",
            ]
            let body = #"{"level":"info"}"#
            let good = try await client.call("PUT", "/v1/log?a=1", body, headers: headers, bearer: nil)
            #expect(good.status == 200)
            #expect(cluster.calls.first == .operating("signed PUT /v1/log a=1 \(body.utf8.count)"))
            headers["X-Chatroom-Signature"] = "x"
            #expect(try await client.call("GET", "/v1/stats", headers: headers, bearer: nil).status == 401)
            headers["X-Chatroom-Nonce"] = nil
            #expect(try await client.call("GET", "/v1/stats", headers: headers, bearer: nil).status == 401)
        }
    }

    @Test func `a page of the audit is full to the last, and slow has no cursor`() async throws {
        try await withServer { client, cluster in
            let page = try await client.call("GET", "/v1/audit?limit=3&after=7.n2&room=r&action=deleteRoom")
            #expect(page.json?["items"]?.array?.count == 3)
            #expect(page.json?["next"]?.text == "998.n1")
            #expect(cluster.calls == [.operating("audit before 7.n2 limit 4 of - r deleteRoom")])
            #expect(try await client.call("GET", "/v1/audit?after=7").status == 400)
            #expect(try await client.call("GET", "/v1/audit?action=nothing").status == 400)
            #expect(try await client.call("GET", "/v1/sessions?slow=true&after=s").status == 400)
            #expect(try await client.call("GET", "/v1/sessions?slow=maybe").status == 400)
        }
    }

    @Test func `sessions go on behind the ID of a session, and behind nothing else`() async throws {
        try await withServer { client, cluster in
            let secret = String(repeating: "aZ0_", count: SessionID.secretBytes / 4)
            #expect(try await client.call("GET", "/v1/sessions?after=\(secret)-n1").status == 200)
            let calls = cluster.calls
            for cursor in ["nonsense", "s", secret, "\(secret)-", "\(secret)1-n1", "\(secret.dropLast())!-n1"] {
                let refused = try await client.call("GET", "/v1/sessions?after=\(cursor)")
                #expect(refused.status == 400 && refused.error?["field"]?.text == "after", "\(cursor)")
                #expect(refused.error?["code"]?.integer == 414, "\(cursor)")
            }
            #expect(cluster.calls == calls)
        }
    }

    @Test func `nodes are drained and removed, shards handed over, and all of it copied, once per key`() async throws {
        try await withServer { client, cluster in
            #expect(try await client.call("POST", "/v1/cluster/nodes/n2/drain").status == 200)
            #expect(try await client.call("POST", "/v1/cluster/nodes/n2/remove").status == 200)
            #expect(try await client.call("POST", "/v1/cluster/nodes/gone/remove").status == 404)
            #expect(try await client.call("POST", "/v1/cluster/nodes/n2/readmit").status == 200)
            let body = #"{"to":"n2"}"#
            #expect(try await client.call("POST", "/v1/cluster/shards/65535/transfer", body).status == 200)
            let key = ["Idempotency-Key": "b"]
            let backup = try await client.call("POST", "/v1/backup", headers: key)
            #expect(backup.json?["copies"]?.array?.first?["directory"]?.text == "/backup/5")
            #expect(try await client.call("POST", "/v1/backup", headers: key).body == backup.body)
            #expect(
                cluster.calls == [
                    .operating("drain n2"), .operating("remove n2"), .operating("remove gone"),
                    .operating("readmit n2"),
                    .operating("transfer 65535 to n2"), .operating("backup"),
                ])
        }
    }

    @Test func `the cluster's health is told in numbers, the zeros too`() async throws {
        try await withServer { client, _ in
            let answer = try await client.call("GET", "/v1/cluster/health")
            #expect(answer.status == 200)
            let expected =
                #"{"shards":16,"withoutLeader":2,"underReplicated":0,"#
                + #""nodes":{"alive":0,"dead":0,"versions":["0.9.0"]},"featureLevel":1}"#
            #expect(String(decoding: answer.body, as: UTF8.self) == expected)
            #expect(try await client.call("GET", "/v1/cluster/health", bearer: nil).status == 401)
        }
    }

    @Test(arguments: [
        ("/v1/cluster/nodes/a%20b/drain", "", "node"), ("/v1/cluster/nodes/a%20b/remove", "", "node"),
        ("/v1/cluster/shards/65536/transfer", #"{"to":"n2"}"#, "shard"),
        ("/v1/cluster/shards/x/transfer", #"{"to":"n2"}"#, "shard"), ("/v1/cluster/shards/0/transfer", "{}", "to"),
    ])
    func `what names no node or no shard is refused with the field`(path: String, body: String, field: String)
        async throws
    {
        try await withServer { client, cluster in
            let answer = try await client.call("POST", path, body)
            #expect(answer.status == 400)
            #expect(answer.json?["error"]?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }
}
