import ChatModel
import OpenAPITestKit
import Testing

@testable import ServerAPI

@Suite struct RoomRoutesTests {
    private let r1 = FakeCluster.room("r1").info.id

    @Test func `creating a room passes every setting on and answers the room`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(
                "POST", "/v1/rooms",
                """
                {"id":"r1","creator":"ann","name":"Evening","announcement":"hi","ext":"e","broadcastUrl":"https://b",
                "entry":"INVITED","queueLevel":"OWNER","enterExitNotify":"NONE","slowModeSeconds":3,
                "idleCloseSeconds":60,"viewerBudget":20,"highPerSecond":50,"seatsPerUser":1,"historyDays":3650,"unknown":[1]}
                """, headers: ["Idempotency-Key": "k1"])
            #expect(answer.status == 200)
            #expect(answer.headers["content-type"] == "application/json")
            #expect(answer.headers["cache-control"] == "no-store")
            #expect(answer.json?["id"]?.text == "r1")
            #expect(answer.json?["online"]?.integer == 41)
            var set = RoomChanges()
            set.name = "Evening"
            set.announcement = "hi"
            set.ext = "e"
            set.broadcastUrl = "https://b"
            set.entry = .invited
            set.queueLevel = .owner
            set.enterExitNotify = EnterExitNotify.none
            set.slowModeSeconds = 3
            set.idleCloseSeconds = 60
            set.viewerBudget = 20
            (set.highPerSecond, set.seatsPerUser, set.historyDays) = (50, 1, 3650)
            let expected = FakeCluster.Call.perform(
                .createRoom(creator: FakeCluster.user("ann"), set: set), r1, .system, id: "k1")
            #expect(cluster.calls == [expected])
        }
    }

    @Test func `a room without an ID gets one that a repeated key finds again`() async throws {
        try await withServer { client, cluster in
            for key in ["k", "k", "other"] {
                let answer = try await client.call(
                    "POST", "/v1/rooms", #"{"creator":"ann"}"#, headers: ["Idempotency-Key": key])
                #expect(answer.status == 200)
            }
            for _ in 0..<2 { _ = try await client.call("POST", "/v1/rooms", #"{"creator":"ann"}"#) }
            let rooms = cluster.calls.compactMap { call -> RoomID? in
                guard case .perform(_, let room, _, _) = call else { return nil }
                return room
            }
            #expect(rooms.count == 5)
            #expect(rooms[0] == rooms[1])
            #expect(Set(rooms).count == 4)
        }
    }

    @Test func `reading, changing, closing, reopening and deleting name the room and pass the key on`() async throws {
        try await withServer { client, cluster in
            let headers = ["Idempotency-Key": "k"]
            let read = try await client.call("GET", "/v1/rooms/r1")
            #expect(read.status == 200)
            #expect(read.json?["leader"]?.text == "n1")
            let changed = try await client.call(
                "PATCH", "/v1/rooms/r1", #"{"name":"N","notify":false,"notifyExt":"x"}"#, headers: headers)
            #expect(changed.json?["id"]?.text == "r1")
            let closed = try await client.call(
                "POST", "/v1/rooms/r1/close", #"{"notifyExt":"bye","operator":"bob"}"#, headers: headers)
            #expect(closed.json == [:])
            #expect(try await client.call("POST", "/v1/rooms/r1/close").status == 200)
            #expect(try await client.call("POST", "/v1/rooms/r1/reopen", headers: headers).status == 200)
            #expect(try await client.call("DELETE", "/v1/rooms/r1", headers: headers).status == 200)
            var set = RoomChanges()
            set.name = "N"
            let bob = Actor.server(UserName(user: FakeCluster.user("bob"), nick: ""))
            #expect(
                cluster.calls == [
                    .perform(.updateRoom(set: set, NotifyOptions(notify: false, notifyExt: "x")), r1, .system, id: "k"),
                    .perform(.closeRoom(NotifyOptions(notifyExt: "bye")), r1, bob, id: "k"),
                    .perform(.closeRoom(NotifyOptions()), r1, .system, id: nil),
                    .perform(.reopenRoom, r1, .system, id: "k"),
                    .perform(.deleteRoom, r1, .system, id: "k"),
                ])
        }
    }

    @Test func `a deleted room is listed and had back, and now ends that`() async throws {
        try await withServer { client, cluster in
            #expect(try await client.call("DELETE", "/v1/rooms/r1?now=false").status == 200)
            #expect(try await client.call("DELETE", "/v1/rooms/r1?now=true").status == 200)
            let back = try await client.call("POST", "/v1/rooms/r1/undelete", headers: ["Idempotency-Key": "k"])
            #expect(back.status == 200 && back.json?["id"]?.text == "r1")
            let list = try await client.call("GET", "/v1/rooms?deleted=true&after=a&limit=7")
            let room = list.json?["rooms"]?.array?.first
            #expect(room?["id"]?.text == "gone" && room?["purgeAt"] != nil && room?["deletedAt"] != nil)
            for query in ["deleted=true&sort=online", "deleted=maybe"] {
                let refused = try await client.call("GET", "/v1/rooms?\(query)")
                #expect(refused.status == 400 && refused.error?["field"]?.text == "deleted", "\(query)")
            }
            #expect(try await client.call("DELETE", "/v1/rooms/r1?now=soon").status == 400)
            let performed = cluster.calls.compactMap { call -> CommandBody? in
                if case .perform(let body, _, .system, _) = call { body } else { nil }
            }
            #expect(performed == [.deleteRoom, .purgeRoom, .undeleteRoom])
            #expect(cluster.calls.contains(.deletedRooms(after: RoomID("a"), limit: 7)))
        }
    }

    @Test func `a key stands for one call: the same path with the same method`() async throws {
        try await withServer { client, cluster in
            let text = #"{"sender":"ann","type":"TEXT","text":"t"}"#
            let calls: [(String, String, String)] = [
                ("POST", "/v1/rooms", #"{"id":"r1","creator":"ann"}"#), ("PATCH", "/v1/rooms/r1", #"{"name":"n"}"#),
                ("DELETE", "/v1/rooms/r1", ""), ("POST", "/v1/rooms/r1/close", ""), ("POST", "/v1/rooms/r1/reopen", ""),
                ("PUT", "/v1/rooms/r1/members/bob/mute", #"{"enable":true}"#),
                ("PUT", "/v1/rooms/r1/members/eve/mute", #"{"enable":true}"#),
                ("POST", "/v1/rooms/r1/messages", text), ("POST", "/v1/rooms/r1/messages/m1/recall", ""),
                ("POST", "/v1/rooms/r1/messages/recall", #"{"user":"bob"}"#),
                ("DELETE", "/v1/rooms/r1/queue", ""), ("PUT", "/v1/rooms/r1/queue/seat", #"{"value":"v"}"#),
            ]
            for _ in 0..<2 {
                for (method, path, body) in calls {
                    let answer = try await client.call(method, path, body, headers: ["Idempotency-Key": "k"])
                    #expect(answer.status == 200, "\(method) \(path): \(answer.status)")
                }
            }
            let keys: [CallKey?] = calls.map { CallKey(call: "\($0.0) \($0.1)", text: "k") }
            #expect(cluster.callKeys == keys + keys)
            // A clientId does what the header does.
            let named = #"{"sender":"ann","type":"TEXT","text":"t","clientId":"k"}"#
            let sent = try await client.call("POST", "/v1/rooms/r1/messages", named)
            #expect(sent.status == 200)
            let last = try #require(cluster.callKeys.last)
            #expect(last == CallKey(call: "POST /v1/rooms/r1/messages", text: "ann\nk"), "other users have their own")
            let ofSystem = #"{"type":"TEXT","text":"t","clientId":"k"}"#
            _ = try await client.call("POST", "/v1/rooms/r1/messages", ofSystem)
            #expect(cluster.callKeys.last == CallKey(call: "POST /v1/rooms/r1/messages", text: "k"))
        }
    }

    @Test func `a key that belongs to another call is refused and not taken for done`() async throws {
        try await withServer { client, cluster in
            cluster.answer(with: .member(FakeCluster.member("ann")))
            for (method, path) in [
                ("POST", "/v1/rooms/r1/close"), ("POST", "/v1/rooms/r1/reopen"), ("DELETE", "/v1/rooms/r1"),
            ] {
                let answer = try await client.call(method, path, headers: ["Idempotency-Key": "k"])
                #expect(answer.status == 409, "\(method) \(path)")
                #expect(answer.error?["field"]?.text == "Idempotency-Key")
            }
        }
    }

    @Test(arguments: [
        ("name", 512, 413), ("announcement", 16_384, 413), ("ext", 4096, 413), ("broadcastUrl", 1024, 413),
        ("notifyExt", 2048, 413),
    ])
    func `a change of a room keeps within the length of each field`(field: String, bytes: Int, code: Int64) async throws
    {
        try await withServer { client, cluster in
            let fits = String(repeating: "n", count: bytes)
            #expect(try await client.call("PATCH", "/v1/rooms/r1", #"{"\#(field)":"\#(fits)"}"#).status == 200)
            let over = try await client.call("PATCH", "/v1/rooms/r1", #"{"\#(field)":"\#(fits)n"}"#)
            #expect(over.status == 413 && over.error?["code"]?.integer == code)
            #expect(over.error?["field"]?.text == field)
            #expect(cluster.calls.count == 1)
        }
    }

    @Test(arguments: [
        (#"{"entry":"SOME"}"#, "entry"), (#"{"queueLevel":"any"}"#, "queueLevel"),
        (#"{"enterExitNotify":1}"#, "enterExitNotify"),
        (#"{"slowModeSeconds":-1}"#, "slowModeSeconds"), (#"{"viewerBudget":0}"#, "viewerBudget"),
        (#"{"highPerSecond":0}"#, "highPerSecond"), (#"{"highPerSecond":51}"#, "highPerSecond"),
        (#"{"historyDays":0}"#, "historyDays"), (#"{"historyDays":3651}"#, "historyDays"),
        (#"{"seatsPerUser":-1}"#, "seatsPerUser"), (#"{"seatsPerUser":1000001}"#, "seatsPerUser"),
        (#"{"idleCloseSeconds":-1}"#, "idleCloseSeconds"), (#"{"operator":"a b"}"#, "operator"),
    ])
    func `a bad field of a change is refused by name`(body: String, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("PATCH", "/v1/rooms/r1", body)
            #expect(answer.status == 400 && answer.error?["code"]?.integer == 414)
            #expect(answer.error?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `a change of nothing is none, and a creator can't be changed`() async throws {
        try await withServer { client, cluster in
            let unknown = try await client.call("PATCH", "/v1/rooms/r1", #"{"creator":"eve","closed":true}"#)
            #expect(unknown.status == 200)
            #expect(cluster.calls == [.perform(.updateRoom(set: RoomChanges(), NotifyOptions()), r1, .system, id: nil)])
            #expect(try await client.call("PATCH", "/v1/rooms/r1", "[]").status == 400)
            #expect(try await client.call("PATCH", "/v1/rooms/r1").status == 400)
        }
    }

    @Test func `rooms are listed by ID in pages or by people`() async throws {
        try await withServer { client, cluster in
            let page = try await client.call("GET", "/v1/rooms?after=a%23+b&limit=2")
            #expect(page.json?["rooms"]?.array?.count == 2)
            #expect(page.json?["next"]?.text == "b")
            #expect(try await client.call("GET", "/v1/rooms").status == 200)
            let busy = try await client.call("GET", "/v1/rooms?sort=online")
            #expect(busy.json?["rooms"]?.array?.first?["id"]?.text == "busy")
            #expect(busy.json?["next"]?.text == "7-abc")
            let last = try await client.call("GET", "/v1/rooms?sort=online&after=7-abc&limit=1")
            #expect(last.json?["next"] == nil)
            #expect(
                cluster.calls == [
                    .rooms(after: RoomID("a#+b"), limit: 2), .rooms(after: nil, limit: 50),
                    .roomsByOnline(after: nil, limit: 50), .roomsByOnline(after: "7-abc", limit: 1),
                ])
        }
    }

    @Test func `an address names the gateways of a room`() async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("GET", "/v1/rooms/r1/address?clientIp=10.0.0.1&clientType=web")
            #expect(answer.json?["gateways"] == .array([.text("ws://127.0.0.1:7400/v1/ws")]))
            #expect(answer.json?["ttlSeconds"]?.integer == 60)
            #expect(cluster.calls == [.gateways(r1)])
        }
    }

    @Test(arguments: [
        ("/v1/rooms?limit=0", "limit"), ("/v1/rooms?limit=x", "limit"), ("/v1/rooms?sort=name", "sort"),
        ("/v1/rooms?after=a%20b", "after"), ("/v1/rooms/a%20b", "room"),
        ("/v1/rooms/%2e%2e", "room"), ("/v1/rooms/", "room"), ("/v1/rooms/%zz", "room"),
        ("/v1/rooms/a%2Fb/address", "room"), ("/v1/rooms/%C3%A9", "room"), ("/v1/rooms?limit=1&limit=2", "limit"),
    ])
    func `a bad parameter is refused by name`(target: String, field: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("GET", target)
            #expect(answer.status == 400)
            #expect(answer.error?["code"]?.integer == 414)
            #expect(answer.error?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test(arguments: [
        (#"{"name":"x"}"#, 400, 414, "creator"), (#"{"creator":"a b"}"#, 400, 414, "creator"),
        (#"{"creator":"ann","id":"a/b"}"#, 400, 414, "id"), (#"{"creator":7}"#, 400, 414, "creator"),
        (#"{"creator":"ann","entry":"SOME"}"#, 400, 414, "entry"),
        (#"{"creator":"ann","slowModeSeconds":-1}"#, 400, 414, "slowModeSeconds"),
        (#"{"creator":"ann","slowModeSeconds":1e400}"#, 400, 414, "slowModeSeconds"),
        ("{\"creator\":\"ann\",\"name\":\"\(String(repeating: "n", count: 513))\"}", 413, 413, "name"),
    ])
    func `a bad field of a new room is refused by name`(body: String, status: Int, code: Int64, field: String)
        async throws
    {
        try await withServer { client, cluster in
            let answer = try await client.call("POST", "/v1/rooms", body)
            #expect(answer.status == status)
            #expect(answer.error?["code"]?.integer == code)
            #expect(answer.error?["field"]?.text == field)
            #expect(cluster.calls.isEmpty)
        }
    }
}
