import ArgumentParser
import ControlClient
import FoundationEssentials

/// `top`: the cluster live.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Show the cluster live: nodes, shards and the biggest rooms, until interrupted.",
        discussion: "Log entries a second are those that the shards' leaders have applied.")

    @Option(help: "Seconds between two looks.") var interval = 2
    @Option(help: "How many rooms to show.") var rooms = 10
    @Flag(help: "Show it once, and end.") var once = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (1...3600).contains(interval) else { throw ValidationError("--interval must be 1-3600.") }
        guard (1...100).contains(rooms) else { throw ValidationError("--rooms must be 1-100.") }
    }

    func run() async throws {
        let client = try common.client()
        var former: Look?
        while true {
            do throws(CommandFailure) {
                let look = try await Look(client, rooms: rooms)
                if common.json {
                    Output.line(look.json.line)
                } else {
                    if !once { Output.clear() }
                    for line in look.lines(since: former) { Output.line(line) }
                }
                former = look
            } catch {
                // The first look decides whether there is a cluster; from then on a server may come and go.
                guard former != nil else { throw error }
                Output.note("-- \(error.message)")
            }
            if once { return }
            try await Task.sleep(for: .seconds(interval))
        }
    }
}

/// The result of one look at the cluster.
private struct Look {
    let time = ContinuousClock.now
    let stats: JSONTree
    let nodes: JSONTree
    let shards: JSONTree
    let rooms: JSONTree

    init(_ client: AdminClient, rooms: Int) async throws(CommandFailure) {
        stats = try await client.call("GET", ["stats"])
        nodes = try await client.call("GET", ["cluster"])
        shards = try await client.call("GET", ["cluster", "shards"])
        self.rooms = try await client.call("GET", ["rooms"], query: [("sort", "online"), ("limit", String(rooms))])
    }

    var json: JSONTree {
        .object([
            "stats": stats, "nodes": nodes["nodes"] ?? .array([]), "shards": shards["shards"] ?? .array([]),
            "rooms": rooms["rooms"] ?? .array([]),
        ])
    }

    func lines(since former: Look?) -> [String] {
        let counts = ["sessions", "users", "connections", "slowSessions", "rooms", "online"]
        var lines = [
            TimeText.full(stats["time"]?.integer ?? 0) + "  "
                + counts.map { "\($0) \(stats[$0]?.shown ?? "0")" }.joined(separator: "  "), "",
        ]
        lines += nodeTable.lines() + [""] + shardTable(since: former).lines() + [""] + roomTable.lines()
        return lines
    }

    private var nodeTable: Table {
        var table = Table(["NODE", "ALIVE", "GOSSIP", "LEADS", "STARTED"])
        for node in nodes["nodes"]?.items ?? [] {
            table.add([
                node["id"]?.shown ?? "", node["alive"]?.shown ?? "", node["state"]?.shown ?? "",
                node["leads"]?.shown ?? "", node["startedAt"]?.integer.map(TimeText.full) ?? "",
            ])
        }
        return table
    }

    private func shardTable(since former: Look?) -> Table {
        var table = Table(["SHARD", "LEADER", "REPLICAS", "TERM", "APPLIED", "ENTRIES/S"])
        let seconds = former.map { (time - $0.time) / .seconds(1) } ?? 0
        var applied: [String: Int64] = [:]
        for shard in former?.shards["shards"]?.items ?? [] {
            applied[shard["shard"]?.shown ?? ""] = shard["applied"]?.integer
        }
        for shard in shards["shards"]?.items ?? [] {
            let name = shard["shard"]?.shown ?? ""
            var rate = ""
            if let now = shard["applied"]?.integer, let before = applied[name], seconds > 0 {
                rate = String(Int((Double(max(0, now - before)) / seconds).rounded()))
            }
            table.add([
                name, shard["leader"]?.shown ?? "none",
                (shard["replicas"]?.items ?? []).map(\.shown).joined(separator: " "),
                shard["term"]?.shown ?? "", shard["applied"]?.shown ?? "", rate,
            ])
        }
        return table
    }

    private var roomTable: Table {
        var table = Table(["ROOM", "ONLINE", "SHARD", "LEADER", "CLOSED"])
        for room in rooms["rooms"]?.items ?? [] {
            table.add([
                room["id"]?.shown ?? "", room["online"]?.shown ?? "", room["shard"]?.shown ?? "",
                room["leader"]?.shown ?? "", room["closed"]?.shown == "true" ? "closed" : "",
            ])
        }
        return table
    }
}
