import ControlClient

/// One look at the cluster, as `top` shows it: a screen, however many shards and nodes there are.
struct TopText {
    /// The answers of the server API: `stats`, `cluster`, `cluster/shards`, `figures` and `rooms`.
    var stats, nodes, shards, figures, rooms: JSONTree
    /// Why the rooms could not be listed; nil where they were.
    var roomsComplaint: String?
    /// How many shards to name at most: those that lack something come first, then the busiest.
    var shardsMax: Int

    var json: JSONTree {
        .object([
            "stats": stats, "nodes": nodes["nodes"] ?? .array([]), "shards": shards["shards"] ?? .array([]),
            "figures": figures["nodes"] ?? .array([]), "rooms": rooms["rooms"] ?? .array([]),
        ])
    }

    /// - Parameter former: the look before and how many seconds ago it was: rates of shards are counted from it.
    func lines(since former: (look: TopText, seconds: Double)?) -> [String] {
        let counts = ["online", "rooms", "sessions", "slowSessions"]
        let header =
            TimeText.full(stats["time"]?.integer ?? 0) + "  "
            + counts.map { "\($0) \(stats[$0]?.shown ?? "0")" }.joined(separator: "  ")
        return [header, ""] + nodeTable.lines() + [""] + shardLines(since: former) + [""]
            + (roomsComplaint.map { ["no rooms are listed: \($0)"] } ?? roomTable.lines())
    }

    private var nodeTable: Table {
        var table = Table([
            "NODE", "STATE", "LEADS", "LAG", "SENDS/S", "DELIVERIES/S", "ACK P99", "CPU", "MEMORY", "UP",
        ])
        var told: [String: JSONTree] = [:]
        for figure in figures["nodes"]?.items ?? [] { told[figure["node"]?.shown ?? ""] = figure }
        let holders = NodeText.holders(shards)
        for node in nodes["nodes"]?.items ?? [] where isListed(node) {
            let name = node["id"]?.shown ?? ""
            let figure = told[name]
            table.add([
                name, state(of: node, holders: holders), node["leads"]?.shown ?? "",
                figure?["commitLag"]?.shown ?? "", figure?["sendsPerSecond"]?.shown ?? "",
                figure?["deliveriesPerSecond"]?.shown ?? "", figure?["ackP99Ms"].map { "\($0.shown) ms" } ?? "",
                figure?["cpuPercent"].map { "\($0.shown) %" } ?? "",
                figure?["memoryBytes"]?.integer.map { "\($0 / 1_000_000) MB" } ?? "",
                isAlive(node) ? uptime(since: node["startedAt"]?.integer) : "",
            ])
        }
        return table
    }

    private func state(of node: JSONTree, holders: Set<String>?) -> String {
        guard !NodeText.isDraining(node) else { return NodeText.state(of: node, holders: holders) }
        return isAlive(node) ? node["state"]?.shown ?? "" : "dead"
    }

    /// Whether the cluster has the node: it answers, or is missed. Gossip names nodes for a while that were removed.
    private func isListed(_ node: JSONTree) -> Bool {
        if isAlive(node) || NodeText.isDraining(node) { return true }
        let name = node["id"]?.shown
        return [stats, figures].contains { answer in
            (answer["missing"]?.items ?? []).contains { $0.shown == name }
        }
    }

    private func isAlive(_ node: JSONTree) -> Bool { node["alive"] != .boolean(false) }

    /// `40 s`, `12 min`, `3 h` or `41 d`.
    private func uptime(since start: Int64?) -> String {
        guard let start, let now = stats["time"]?.integer else { return "" }
        let seconds = max(0, now - start) / 1000
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    private struct ShardRow {
        var cells: [String]
        var hasLeader: Bool
        var lacksReplica: Bool
        /// Entries a second; nil in the first look.
        var rate: Double?
        var applied: Int64
    }

    private func shardRows(since former: (look: TopText, seconds: Double)?) -> [ShardRow] {
        var before: [String: Int64] = [:]
        for shard in former?.look.shards["shards"]?.items ?? [] {
            before[shard["shard"]?.shown ?? ""] = shard["applied"]?.integer
        }
        let alive = Set((nodes["nodes"]?.items ?? []).filter(isAlive).compactMap { $0["id"]?.shown })
        return (shards["shards"]?.items ?? []).map { shard in
            let name = shard["shard"]?.shown ?? ""
            let replicas = (shard["replicas"]?.items ?? []).map(\.shown)
            let applied = shard["applied"]?.integer
            var rate: Double?
            if let former, former.seconds > 0, let applied, let before = before[name] {
                rate = Double(max(0, applied - before)) / former.seconds
            }
            return ShardRow(
                cells: [
                    name, shard["leader"]?.shown ?? "none", replicas.joined(separator: " "), shard["term"]?.shown ?? "",
                    applied.map(String.init) ?? "", rate.map { String(Int($0.rounded())) } ?? "",
                ],
                hasLeader: shard["leader"] != nil, lacksReplica: !replicas.allSatisfy(alive.contains), rate: rate,
                applied: applied ?? 0)
        }
    }

    private func shardLines(since former: (look: TopText, seconds: Double)?) -> [String] {
        let rows = shardRows(since: former)
        let lacking = rows.filter(\.lacksReplica).count
        var summary = [DisplayText.count(rows.count, "shard"), "\(rows.count { !$0.hasLeader }) without leader"]
        if lacking > 0 { summary.append("\(lacking) with a dead replica") }
        if former != nil { summary.append("\(Int(rows.reduce(0) { $0 + ($1.rate ?? 0) }.rounded())) entries/s") }
        let shown = rows.sorted { a, b in
            if a.hasLeader != b.hasLeader { return !a.hasLeader }
            if a.lacksReplica != b.lacksReplica { return a.lacksReplica }
            return (a.rate ?? 0, a.applied) > (b.rate ?? 0, b.applied)
        }
        var table = Table(["SHARD", "LEADER", "REPLICAS", "TERM", "APPLIED", "ENTRIES/S"])
        for row in shown.prefix(shardsMax) { table.add(row.cells) }
        let rest = rows.count - min(rows.count, shardsMax)
        return [summary.joined(separator: ", ")] + table.lines()
            + (rest > 0 ? ["and \(rest) more: chatroomctl cluster shards"] : [])
    }

    private var roomTable: Table {
        var table = Table(["ROOM", "ONLINE", "SHARD", "LEADER", "CLOSED"])
        for room in rooms["rooms"]?.items ?? [] {
            table.add([
                room["id"]?.shown ?? "", room["online"]?.shown ?? "", room["shard"]?.shown ?? "",
                room["leader"]?.shown ?? "", room["closed"] == .boolean(true) ? "closed" : "",
            ])
        }
        return table
    }
}
