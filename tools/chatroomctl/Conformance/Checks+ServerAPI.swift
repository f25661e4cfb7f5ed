import ControlClient
import FoundationEssentials

extension ConformanceCheck {
    static let serverAPI: [ConformanceCheck] = [
        .init("4 rooms", "create, read, change, list, close, reopen and delete a room; it exists once (409)") { run in
            let room = try await run.room(["name": "N", "slowModeSeconds": 1])
            try await run.refused("POST", ["rooms"], ["id": .text(room), "creator": "c"], status: 409, code: 409)
            let view = try await run.done("GET", ["rooms", room])
            for field in [
                "id", "name", "creator", "entry", "queueLevel", "enterExitNotify", "slowModeSeconds", "highPerSecond",
                "seatsPerUser", "muted", "closed", "online", "createdAt", "shard", "leader",
            ] { try expect(view[field] != nil, "there is no \(field)") }
            try expect(
                try await run.done("PATCH", ["rooms", room], ["name": "M"])["name"], is: "M", "the changed name")
            let list = try await run.done(
                "GET", ["rooms"], query: [("after", String(room.dropLast())), ("limit", "1")])
            try expect(list["rooms"]?.items.count == 1, "the list has no page: \(list.line)")
            try await run.done("POST", ["rooms", room, "close"])
            try expect(try await run.done("GET", ["rooms", room])["closed"], is: true, "closed")
            try await run.done("POST", ["rooms", room, "reopen"])
            try await run.done("DELETE", ["rooms", room])
            try await run.refused("GET", ["rooms", room], status: 404, code: 404)
            let deleted = try await run.done(
                "GET", ["rooms"], query: [("deleted", "true"), ("after", String(room.dropLast())), ("limit", "100")])
            let isListed = deleted["rooms"]?.items.contains { $0["id"]?.text == room && $0["purgeAt"] != nil } == true
            try expect(isListed, "the deleted room is not listed: \(deleted.line)")
            try await run.done("POST", ["rooms", room, "undelete"])
            try expect(try await run.done("GET", ["rooms", room])["closed"], is: true, "closed after undelete")
            try await run.done("DELETE", ["rooms", room], query: [("now", "true")])
            try await run.refused("POST", ["rooms", room, "undelete"], status: 404, code: 404)
        },
        .init("4 rooms", "an ID is generated when none is given") { run in
            let room = try await run.done("POST", ["rooms"], ["creator": "c"])["id"]?.text ?? ""
            try expect(!room.isEmpty, "there is none")
            try await run.done("DELETE", ["rooms", room])
        },
        .init("4", "a repeated Idempotency-Key does nothing twice and gives the first answer") { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            let key = ["Idempotency-Key": "once"]
            let body: JSONTree = ["type": "TEXT", "text": "t"]
            let first = try await run.api("POST", ["rooms", room, "messages"], body, headers: key)
            let second = try await run.api("POST", ["rooms", room, "messages"], body, headers: key)
            try expect(second.body, is: first.body, "the second answer")
            try expect(
                try await run.done("GET", ["rooms", room, "messages"])["messages"]?.items.count == 1,
                "it was kept twice")
        },
        .init("4", "without a key every call is 401; a wrong key too") { run in
            for headers in [[:], ["Authorization": "Bearer wrong"]] {
                let answer = try await run.plain("GET", "/v1/rooms", headers: headers)
                try expect(answer.status == 401, "answered \(answer.status)")
                try expect(answer.error, code: 401)
            }
        },
        .init("4", "errors of the body: not JSON 400, a wrong value 414 as HTTP 400, too long 413") { run in
            let room = try await run.room()
            try await run.refused(
                "POST", ["rooms", room, "messages"], ["type": "NONSENSE"], status: 400, code: 414)
            let long = String(repeating: "a", count: 32 * 1024 + 1)
            try await run.refused(
                "POST", ["rooms", room, "messages"], ["type": "TEXT", "text": .text(long)], status: 413, code: 413)
            try await run.refused("POST", ["rooms", room, "messages"], [1], status: 400, code: 400)
        },
        .init("4 messages", "send, read, list and recall messages; an unknown one is 404") { run in
            let room = try await run.room()
            let user = run.name("ann")
            let ack = try await run.done(
                "POST", ["rooms", room, "messages"], ["sender": .text(user), "type": "TEXT", "text": "t"])
            guard let id = ack["messageId"]?.text else { throw Deviation("the answer is \(ack.line)") }
            let message = try await run.done("GET", ["rooms", room, "messages", id])
            try expect(message["text"], is: "t", "text")
            try expect(message["from"]?["user"], is: .text(user), "from.user")
            try await run.done("POST", ["rooms", room, "messages", id, "recall"])
            try expect(
                try await run.done("GET", ["rooms", room, "messages", id])["recalled"], is: true, "recalled")
            try await run.refused("GET", ["rooms", room, "messages", "nope"], status: 404, code: 404)
        },
        .init("4 messages", "recall all of a user in one 323") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let ids = [try await client.send(room, "1"), try await client.send(room, "2")].compactMap {
                $0["messageId"]
            }
            try await run.done("POST", ["rooms", room, "messages", "recall"], ["user": .text(user)])
            let event = try await client.notification(323)
            try expect(Set(event["data"]?["messageIds"]?.items ?? []) == Set(ids), "data: \(event.line)")
        },
        .init("4 messages", "a message without sender is the system's: it has no from") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await run.done("POST", ["rooms", room, "messages"], ["type": "TIP", "text": "tip"])
            try expect(try await client.message("tip")["from"], is: nil, "from")
        },
        .init("4 barrage", "barrage from the server reaches the room") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            try await run.done("POST", ["rooms", room, "barrage"], ["text": "server"])
            try await client.push("barrage") { $0["items"]?.items.contains { $0["text"] == "server" } == true }
        },
        .init("4 address", "address answers gateways and ttlSeconds") { run in
            let answer = try await run.done("GET", ["rooms", try await run.room(), "address"])
            try expect(answer["gateways"]?.items.isEmpty == false, "there are no gateways")
            try expect((answer["ttlSeconds"]?.integer ?? 0) > 0, "there is no ttlSeconds")
        },
        .init("4", "rates do not hold for the server API: 60 messages at once are taken") { run in
            let room = try await run.room()
            let user = run.name("ann")
            for number in 1...60 {
                try await run.done(
                    "POST", ["rooms", room, "messages"],
                    ["sender": .text(user), "type": "TEXT", "text": .text("\(number)")])
            }
        },
    ]

    static let serverAPIMembers: [ConformanceCheck] = [
        .init("4 members", "role, mute, tempMute, blacklist and kick by the system: no operator is shown") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let member = ["rooms", room, "members", user]
            try await run.done("PUT", member + ["role"], ["role": "MANAGER"])
            try expect(try await client.notification(307)["operator"], is: nil, "operator of 307")
            try await run.done("PUT", member + ["role"], ["role": "GUEST"])
            try await client.notification(308)
            try await client.notification(310)
            try await run.done("PUT", member + ["mute"], ["enable": true])
            try await client.notification(305)
            try await run.done("PUT", member + ["tempMute"], ["seconds": 60])
            try await client.notification(314)
            try expect(try await run.done("GET", member)["tempMuted"], is: true, "tempMuted")
            try await run.done("POST", member + ["kick"], [:])
            try expect(try await client.push("kicked")["reason"], is: 2, "the reason")
            try await run.done("PUT", member + ["blacklist"], ["enable": true])
            try expect(try await run.done("GET", member)["blacklisted"], is: true, "blacklisted")
            try await run.done("PUT", ["rooms", room, "mute"], ["enable": true])
            try expect(try await run.done("GET", ["rooms", room])["muted"], is: true, "muted")
        },
        .init("4 members", "an operator is shown in the notification") { run in
            let (user, creator) = (run.name("ann"), run.name("creator"))
            let room = try await run.room(creator: creator)
            let client = try await run.entered(room, user)
            try await run.done(
                "PUT", ["rooms", room, "members", user, "mute"], ["enable": true, "operator": .text(creator)])
            try expect(try await client.notification(305)["operator"]?["user"], is: .text(creator), "operator.user")
        },
        .init("4 queue", "queue: put, read, patch, take, clear") { run in
            let room = try await run.room()
            let element = try await run.done("PUT", ["rooms", room, "queue", "k"], ["value": "v", "owner": "ann"])
            try expect((element["element"] ?? element)["owner"], is: "ann", "owner")
            try await run.done("PATCH", ["rooms", room, "queue"], ["values": ["k": "w", "z": "x"]])
            try expect(
                try await run.done("GET", ["rooms", room, "queue"])["elements"]?.items.first?["value"], is: "w", "value"
            )
            try await run.done("POST", ["rooms", room, "queue", "take"], ["key": "k"])
            try await run.done("DELETE", ["rooms", room, "queue"])
            try expect(
                try await run.done("GET", ["rooms", room, "queue"])["elements"]?.items.isEmpty == true,
                "it is not empty")
        },
        .init("4 robots", "robots are members: they count and are listed, and can be removed; 101 are refused") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            func robots(_ count: Int) -> JSONTree {
                .array((1...count).map { ["user": .text("robot-\($0)"), "nick": "R", "avatar": "a"] })
            }
            try await run.done("POST", ["rooms", room, "robots"], ["robots": robots(2)])
            try expect(try await client.ask("room", ["room": .text(room)])["room"]?["online"], is: 3, "online")
            try await run.done("DELETE", ["rooms", room, "robots"], ["robots": robots(2)])
            try expect(try await client.ask("room", ["room": .text(room)])["room"]?["online"], is: 1, "online then")
            try await run.refused("POST", ["rooms", room, "robots"], ["robots": robots(101)], status: 400, code: 414)
        },
        .init("4 users", "sessions of a user, and closing one") { run in
            let user = run.name("ann")
            let client = try await run.connected(user)
            let sessions = try await run.done("GET", ["users", user, "sessions"])
            guard case .object(let members) = sessions, let first = members.values.lazy.flatMap(\.items).first,
                let id = (first["session"] ?? first["id"])?.text
            else { throw Deviation("the answer is \(sessions.line)") }
            try await run.done("DELETE", ["sessions", id])
            _ = try await client.closing()
        },
    ]

    static let operating: [ConformanceCheck] = [
        .init("4", "healthz, readyz and metrics answer without authorization") { run in
            for path in ["/healthz", "/readyz", "/metrics"] {
                let answer = try await run.plain("GET", path)
                try expect(answer.status == 200, "\(path) was answered \(answer.status)")
            }
        },
        .init("4", "the cluster's health counts shards, nodes and versions") { run in
            let health = try await run.done("GET", ["cluster", "health"])
            let shards = health["shards"]?.integer ?? 0
            try expect(shards > 0, "the answer is \(health.line)")
            for name in ["withoutLeader", "underReplicated"] {
                let count = health[name]?.integer ?? -1
                try expect((0...shards).contains(count), "\(name): \(health.line)")
            }
            let nodes = health["nodes"]
            try expect(
                nodes?["alive"]?.integer ?? 0 > 0 && nodes?["dead"]?.integer != nil
                    && nodes?["versions"]?.items.isEmpty == false && health["featureLevel"]?.integer ?? 0 > 0,
                "the answer is \(health.line)")
        },
        .init("4 Metrics", "the stable metric names are there") { run in
            let text = try await run.plain("GET", "/metrics").body.text ?? ""
            let names = [
                "sessions", "rooms_active", "sends_total", "ack_seconds", "deliver_seconds", "dropped_total",
                "send_queue_bytes", "slow_sessions", "log_sync_seconds", "shard_leader", "shard_commit_lag",
                "leader_changes_total", "gossip_members", "webhook_lag_seconds", "disk_free_bytes",
                "token_refused_total", "origin_refused_total", "build_info", "connections_closed_total",
                "api_requests_total", "api_seconds", "sent_bytes_total",
            ]
            let process = ["cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"]
            let missing = (names.map { "chatroom_\($0)" } + process.map { "process_\($0)" }).filter {
                !text.contains("# TYPE \($0) ")
            }
            try expect(missing.isEmpty, "missing: \(missing.joined(separator: ", "))")
        },
        .init("4", "the OpenAPI 3.1 document names every call of the protocol") { run in
            let document = try await run.done("GET", ["openapi.json"])
            try expect(document["openapi"]?.text?.hasPrefix("3.1") == true, "it is not OpenAPI 3.1")
            let wanted = [
                "/v1/rooms", "/v1/rooms/{room}", "/v1/rooms/{room}/close", "/v1/rooms/{room}/reopen",
                "/v1/rooms/{room}/messages", "/v1/rooms/{room}/messages/{messageId}",
                "/v1/rooms/{room}/messages/{messageId}/recall", "/v1/rooms/{room}/messages/recall",
                "/v1/rooms/{room}/barrage", "/v1/rooms/{room}/members", "/v1/rooms/{room}/members/{user}",
                "/v1/rooms/{room}/members/{user}/role", "/v1/rooms/{room}/members/{user}/blacklist",
                "/v1/rooms/{room}/members/{user}/mute", "/v1/rooms/{room}/members/{user}/tempMute",
                "/v1/rooms/{room}/members/{user}/kick", "/v1/rooms/{room}/mute", "/v1/rooms/{room}/queue",
                "/v1/rooms/{room}/queue/{key}", "/v1/rooms/{room}/queue/take", "/v1/rooms/{room}/robots",
                "/v1/rooms/{room}/address", "/v1/rooms/{room}/explain", "/v1/users/{user}/token",
                "/v1/users/{user}/revoke", "/v1/users/{user}/offline", "/v1/users/{user}/messages",
                "/v1/users/{user}/sessions", "/v1/broadcast", "/v1/webhook", "/v1/moderation", "/v1/cluster",
                "/v1/cluster/health", "/v1/cluster/shards", "/v1/stats", "/v1/sessions", "/v1/sessions/{session}",
                "/v1/audit", "/v1/log",
                "/v1/cluster/nodes/{node}/drain", "/v1/cluster/nodes/{node}/remove",
                "/v1/cluster/shards/{shard}/transfer", "/v1/cluster/featureLevel", "/v1/backup",
            ]
            let missing = wanted.filter { document["paths"]?[$0] == nil }
            try expect(missing.isEmpty, "missing: \(missing.joined(separator: ", "))")
        },
        .init("4", "explain, stats, cluster, shards, sessions, audit, webhook and moderation can be read") { run in
            let room = try await run.room()
            for path in [
                ["rooms", room, "explain"], ["stats"], ["cluster"], ["cluster", "shards"], ["sessions"], ["audit"],
                ["webhook"], ["moderation"],
            ] { try await run.done("GET", path) }
        },
        .init("4", "cluster names its nodes; shards name leader, replicas, term and applied") { run in
            try expect(try await run.done("GET", ["cluster"])["nodes"]?.items.isEmpty == false, "there are no nodes")
            let shard = try await run.done("GET", ["cluster", "shards"])["shards"]?.items.first
            for field in ["shard", "leader", "replicas", "term", "applied"] {
                try expect(shard?[field] != nil, "a shard has no \(field)")
            }
        },
        .init(
            "4", "a word that is refused is answered 13009 (HTTP 422 with `moderate`), and GET shows no secret",
            pace: .alone
        ) { run in
            // One more word than is set, which nobody else sends, and only for the time of this check.
            let word = run.name("refused")
            let before = try await run.done("GET", ["moderation"])
            try expect(before["hook"]?["secret"], is: nil, "the hook's secret")
            try expect(try await run.done("GET", ["webhook"])["secret"], is: nil, "the webhook's secret")
            guard case .object(var settings) = before else { throw Deviation("the answer is \(before.line)") }
            settings["words"] = .array(
                (before["words"]?.items ?? []) + [["text": .text(word), "action": "REFUSE"]])
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            try await run.done("PUT", ["moderation"], .object(settings))
            do {
                let send: JSONTree = [
                    "room": .text(room), "clientId": "c", "type": "TEXT", "text": .text("a \(word) b"),
                ]
                try expect(try await client.refusal("send", send), code: 13009)
                try await run.refused(
                    "POST", ["rooms", room, "messages"],
                    ["type": "TEXT", "text": .text(word), "moderate": true], status: 422, code: 13009)
                try await run.done("POST", ["rooms", room, "messages"], ["type": "TEXT", "text": .text(word)])
            } catch {
                try await run.done("PUT", ["moderation"], before)
                throw error
            }
            try await run.done("PUT", ["moderation"], before)
        },
        .init("4", "a webhook or a hook without a usable URL is refused: 414") { run in
            try await run.refused("PUT", ["webhook"], ["url": "ftp://h", "secret": "s"], status: 400, code: 414)
            try await run.refused(
                "PUT", ["moderation"], ["hook": ["url": "ftp://h", "secret": "s"]], status: 400, code: 414)
        },
        .init("4", "an unknown path is 404, another method 404 or 405") { run in
            let answer = try await run.api("GET", ["no-such-call"])
            try expect(answer.status == 404, "answered \(answer.status)")
        },
    ]
}
