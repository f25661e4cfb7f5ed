import ControlClient
import FoundationEssentials
import HTTPWebSocket
import Wire

/// The cluster as a whole: the same from every node, and what operators are told (PROTOCOL.md, "Server API").
extension ConformanceCheck {
    static let wholeCluster: [ConformanceCheck] = [
        .init("4", "any node answers for the whole cluster: all give the same, and what one changes all show") { run in
            guard run.nodes.count > 1 else { throw NotChecked("only one node is known") }
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let id = try await client.send(room, "one")["messageId"]?.text ?? ""
            try await client.ask("queueSet", ["room": .text(room), "key": "k", "value": "v"])
            let paths: [([String], [(String, String?)])] = [
                (["rooms", room], []), (["rooms", room, "messages"], []), (["rooms", room, "messages", id], []),
                (["rooms", room, "queue"], []), (["rooms", room, "members"], [("kind", "TEMPORARY")]),
                (["rooms", room, "members", user], []), (["users", user, "sessions"], []), (["webhook"], []),
                (["moderation"], []),
            ]
            for (path, query) in paths {
                let first = try await run.done("GET", path, query: query)
                for node in run.nodes.dropFirst() {
                    let other = try await run.done("GET", path, query: query, at: node.api)
                    try expect(other, is: first, "\(path.joined(separator: "/")) at \(node.api)")
                }
            }
            func ids(_ path: [String], _ list: String, _ member: String, at api: String) async throws -> Set<String> {
                Set(try await run.done("GET", path, at: api)[list]?.items.compactMap { $0[member]?.shown } ?? [])
            }
            for node in run.nodes {
                let known = try await ids(["cluster"], "nodes", "id", at: node.api)
                try expect(known.count >= run.nodes.count, "\(node.api) knows the nodes \(known.sorted())")
                let shards = try await ids(["cluster", "shards"], "shards", "shard", at: node.api)
                let here = try await ids(["cluster", "shards"], "shards", "shard", at: run.nodes[0].api)
                try expect(shards == here, "\(node.api) knows other shards")
                try await run.done("PATCH", ["rooms", room], ["name": .text(node.api)], at: node.api)
                for reader in run.nodes {
                    let name = try await run.done("GET", ["rooms", room], at: reader.api)["name"]
                    try expect(name, is: .text(node.api), "the name at \(reader.api)")
                }
                let body: JSONTree = ["type": "TEXT", "text": .text("by \(node.api)")]
                try await run.done("POST", ["rooms", room, "messages"], body, at: node.api)
                try await client.message("by \(node.api)")
                let token = try await run.done("POST", ["users", user, "token"], at: node.api)["token"]
                try expect(token?.text?.isEmpty == false, "\(node.api) issues no token")
            }
        },
        .init("2", "a room is the same from every node: what is sent at one is shown at all") { run in
            guard run.nodes.count > 1 else { throw NotChecked("only one node is known") }
            let room = try await run.room(["enterExitNotify": "NONE"])
            var clients: [ConformanceClient] = []
            for node in run.nodes.indices {
                let client = try await run.connected(run.name("user\(node)"), node: node)
                try await client.ask("enter", ["room": .text(room)])
                clients.append(client)
            }
            for (number, client) in clients.enumerated() { try await client.send(room, "m\(number)") }
            for client in clients {
                try await client.message("m\(clients.count - 1)")
                let seqs = await client.pushes("message").compactMap { $0["seq"]?.integer }
                try expect(seqs == Array(1...Int64(clients.count)), "the seqs are \(seqs)")
            }
        },
        .init("4 users", "a direct message reaches all sessions of the user, and the answer says how many") { run in
            let user = run.name("ann")
            let clients = [try await run.connected(user), try await run.connected(user)]
            let answer = try await run.done("POST", ["users", user, "messages"], ["type": "TEXT", "text": "psst"])
            try expect(answer["sessions"], is: 2, "sessions")
            for client in clients { try await client.push("direct") { $0["text"] == "psst" } }
            let none = try await run.done(
                "POST", ["users", run.name("away"), "messages"], ["type": "TEXT", "text": "psst"])
            try expect(none["sessions"], is: 0, "sessions of who is away")
        },
        .init("4", "stats tells how many sessions, rooms and people there are") { run in
            let room = try await run.room()
            let client = try await run.entered(room, run.name("ann"))
            // Nodes tell each other a moment later.
            let deadline = ContinuousClock.now + ConformanceClient.waitLimit
            while true {
                let stats = try await run.done("GET", ["stats"])
                for field in ["time", "sessions", "rooms", "online"] {
                    try expect(stats[field]?.integer != nil, "there is no \(field): \(stats.line)")
                }
                let least = ["sessions", "rooms", "online"].map { stats[$0]?.integer ?? 0 }.min() ?? 0
                if least >= 1 { break }
                try expect(ContinuousClock.now < deadline, "it does not count what there is: \(stats.line)")
                try await Task.sleep(for: .milliseconds(100))
            }
            try await client.ask("ping")
        },
        .init("4", "audit tells who did what, when and from where: a change that was done, and one that was refused") {
            run in
            let room = try await run.room()
            let path = ["rooms", room, "queue", "audited"]
            try await run.done("PUT", path, ["value": "v"])
            try await run.refused("PUT", path, ["value": "w", "ifVersion": 0], status: 409, code: 409)
            let wanted = "/v1/" + path.joined(separator: "/")
            let items = try await audited(run, path: wanted, count: 2)
            for item in items {
                try expect(item["method"], is: "PUT", "method")
                try expect(item["administrator"]?.text?.isEmpty == false, "who did it is not told: \(item.line)")
                try expect(item["address"]?.text?.isEmpty == false, "from where is not told: \(item.line)")
                try expect(abs((item["time"]?.integer ?? 0) - ConformanceRun.now) < 600_000, "when: \(item.line)")
            }
            try expect(
                items.compactMap { $0["status"]?.integer } == [409, 200], "the statuses, newest first: \(items)")
            try expect(items.first?["error"], is: 409, "the error of the refused one")
            let query = [("room", room), ("action", "setQueueElement"), ("actor", items[0]["administrator"]?.text)]
            let found = try await run.done("GET", ["audit"], query: query)["items"]?.items ?? []
            try expect(
                found.compactMap { $0["status"]?.integer } == [409, 200], "found by room, action and actor: \(found)")
            let line = items.map(\.line).joined()
            try expect(!line.contains(try run.adminKey), "it has the key itself")
        },
        .init("4", "PUT log answers the level that it has set; one that there is not is 414", pace: .alone) { run in
            try await run.refused("PUT", ["log"], ["level": "loud"], status: 400, code: 414)
            try expect(try await run.done("PUT", ["log"], ["level": "info"])["level"], is: "info", "level")
        },
        .init("4", "a shard's leader is one of its replicas, and all are nodes of the cluster") { run in
            let nodes = Set(try await run.done("GET", ["cluster"])["nodes"]?.items.compactMap { $0["id"]?.text } ?? [])
            let shards = try await run.done("GET", ["cluster", "shards"])["shards"]?.items ?? []
            try expect(!shards.isEmpty, "there are no shards")
            for shard in shards {
                let replicas = Set(shard["replicas"]?.items.compactMap(\.text) ?? [])
                try expect(!replicas.isEmpty && replicas.isSubset(of: nodes), "a shard is \(shard.line)")
                // While one is elected there is none.
                if let leader = shard["leader"]?.text {
                    try expect(replicas.contains(leader), "a shard is \(shard.line)")
                }
            }
        },
        .init("4 Metrics", "build_info tells the version, connections_closed_total the codes") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(.binary, [1])
            _ = try await client.closing()
            let text = try await run.plain("GET", "/metrics").body.text ?? ""
            let lines = text.split(separator: "\n")
            try expect(
                lines.contains { $0.hasPrefix("chatroom_build_info{") && $0.contains(#"version=""#) },
                "there is no chatroom_build_info{version}")
            try expect(
                lines.contains { $0.hasPrefix("chatroom_connections_closed_total{") && $0.contains(#"code="1003""#) },
                "there is no chatroom_connections_closed_total{code=\"1003\"}")
            for name in ["sends_total{result=", "dropped_total{", "gossip_members{state="] {
                try expect(lines.contains { $0.hasPrefix("chatroom_" + name) }, "there is no chatroom_\(name)…}")
            }
        },
    ]

    /// The newest entries of the audit about a path.
    static func audited(_ run: ConformanceRun, path: String, count: Int) async throws -> [JSONTree] {
        let deadline = ContinuousClock.now + ConformanceClient.waitLimit
        while true {
            let page = try await run.done("GET", ["audit"], query: [("limit", "100")])
            let items = page["items"]?.items.filter { $0["path"]?.text == path } ?? []
            if items.count >= count { return items }
            guard ContinuousClock.now < deadline else {
                throw Deviation("\(items.count) of \(count) calls of \(path) are in the audit")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
