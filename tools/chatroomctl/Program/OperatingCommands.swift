import ArgumentParser
import ControlClient
import FoundationEssentials

/// `stats`.
struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "How many sessions, users and rooms there are.",
        discussion: "rooms: all that exist; activeRooms: those that somebody is in; online: the people in them. "
            + "Shards without a leader are not counted, nor nodes that do not answer, which are named.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let result = try await common.client().call("GET", ["stats"])
        common.show(result) { stats in
            let counts = ["sessions", "users", "connections", "slowSessions", "rooms", "activeRooms", "online"]
            let since = stats["startedAt"]?.integer.map(TimeText.full) ?? ""
            return Table.facts([("started", since)] + counts.map { ($0, stats[$0]?.shown ?? "") })
        }
        common.note(missingNodesOf: result, "what they have is not counted")
    }
}

/// `cluster …`: nodes and shards.
struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "Show and change the cluster's nodes and shards.",
        subcommands: [
            Nodes.self, Shards.self, Health.self, Drain.self, Remove.self, Readmit.self, Transfer.self, Level.self,
        ],
        defaultSubcommand: Nodes.self)

    struct Nodes: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "The nodes.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            let client = try common.client()
            let cluster = try await client.call("GET", ["cluster"])
            var holders: Set<String>?
            // Only where a node is being emptied do the shards tell more; without them the nodes are shown all the same.
            if !common.json, NodeText.isAnyDraining(cluster) {
                holders = NodeText.holders(try? await client.call("GET", ["cluster", "shards"]))
            }
            common.show(cluster) { NodeText.lines($0, holders: holders, within: Output.columns) }
        }
    }

    struct Shards: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "The shards: who leads them, how far they are.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            common.show(try await common.client().call("GET", ["cluster", "shards"])) { cluster in
                var table = Table(["SHARD", "LEADER", "REPLICAS", "TERM", "APPLIED"])
                for shard in cluster["shards"]?.items ?? [] {
                    table.add([
                        shard["shard"]?.shown ?? "", shard["leader"]?.shown ?? "none",
                        (shard["replicas"]?.items ?? []).map(\.shown).joined(separator: " "),
                        shard["term"]?.shown ?? "", shard["applied"]?.shown ?? "",
                    ])
                }
                return table.lines()
            }
        }
    }
}

extension ClusterCommand {
    struct Health: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Whether the cluster is whole: its shards, its nodes, their versions.",
            discussion: "Exit code 1 when a shard has no leader. Whether each node serves: chatroomctl health.")

        @OptionGroup var common: CommonOptions

        func run() async throws {
            let health = try await common.client().call("GET", ["cluster", "health"])
            common.show(health) { Self.lines($0) }
            let leaderless = health["withoutLeader"]?.integer ?? 0
            guard leaderless > 0 else { return }
            throw CommandFailure(
                .refused,
                "\(DisplayText.count(leaderless, "shard")) \(leaderless == 1 ? "has" : "have") no leader: "
                    + "chatroomctl cluster shards names the replicas")
        }

        /// The facts, each on a line.
        static func lines(_ health: JSONTree) -> [String] {
            let nodes = health["nodes"]
            let (alive, dead) = (nodes?["alive"]?.integer ?? 0, nodes?["dead"]?.integer ?? 0)
            return Table.facts([
                ("shards", health["shards"]?.shown ?? ""),
                // Nothing is under-replicated then, and nothing survives the loss of its node.
                ("copies", alive + dead < 3 ? "one of each shard: three nodes hold three" : ""),
                ("without leader", health["withoutLeader"]?.shown ?? ""),
                ("under-replicated", health["underReplicated"]?.shown ?? ""),
                ("nodes alive", nodes?["alive"]?.shown ?? ""), ("nodes dead", nodes?["dead"]?.shown ?? ""),
                ("versions", (nodes?["versions"]?.items ?? []).map(\.shown).joined(separator: ", ")),
                ("feature level", health["featureLevel"]?.shown ?? ""),
            ])
        }
    }

    struct Drain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begin to empty a node, for good: its shards and clients go to others.",
            discussion: """
                A drain can't be taken back. Where fewer than three nodes would be left, each shard has one replica \
                afterwards, so the node's ID must be typed again, or --yes given.
                """)

        @Argument var node: String
        @Flag(help: "Don't ask.") var yes = false
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let client = try common.client()
            if !yes { try await LeavingNode.drained.confirm(node, client) }
            let result = try await client.call("POST", ["cluster", "nodes", node, "drain"])
            common.show(result) { _ in ["\(node) is being drained: cluster nodes says when it is drained"] }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a node out that is dead or empty, for good: it may not come back with its data.",
            discussion: """
                Where fewer than three nodes would be left and the node still has shards, each shard has one replica \
                afterwards, so the node's ID must be typed again, or --yes given. To replace a dead node, let the new one \
                join first.
                """)

        @Argument var node: String
        @Flag(help: "Don't ask.") var yes = false
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let client = try common.client()
            if !yes { try await LeavingNode.removed.confirm(node, client) }
            let result = try await client.call("POST", ["cluster", "nodes", node, "remove"])
            common.show(result) { _ in ["\(node) is removed"] }
        }
    }

    struct Readmit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let a node that was taken out come again, without the data that it had.")

        @Argument var node: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call("POST", ["cluster", "nodes", node, "readmit"])
            common.show(result) { _ in ["\(node) may come again: start it without its old data"] }
        }
    }

    struct Transfer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Hand the leadership of a shard to one of its replicas.")

        @Argument var shard: Int
        @Argument(help: "The node that is to lead it.") var node: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["cluster", "shards", "\(shard)", "transfer"], body: .object(["to": .text(node)]))
            common.show(result) { _ in ["\(node) leads shard \(shard)"] }
        }
    }
}

extension ClusterCommand {
    struct Level: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Raise the cluster's feature level, when every node can do it; nothing lowers it.",
            discussion: "By default it is raised by itself ten minutes after all nodes can. LEVEL in 'cluster nodes' is"
                + " what each node's program can do.")

        @Argument var level: Int
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "PUT", ["cluster", "featureLevel"], body: .object(["level": .integer(Int64(level))]))
            common.show(result) { _ in ["the feature level is \(level)"] }
        }
    }
}

/// `backup`.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy what every node holds, as of now, into a new directory on each.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.show(try await common.client().call("POST", ["backup"], timeoutSeconds: 4 * 3600)) { backup in
            // Uncut: `restore` is given all of these directories.
            (backup["copies"]?.items ?? []).flatMap { copy in
                Table.facts([
                    ("node", copy["node"]?.shown ?? ""), ("directory", copy["directory"]?.shown ?? ""),
                    ("bytes", copy["bytes"]?.shown ?? ""),
                ])
            }
        }
    }
}

/// `log LEVEL`.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Set how much the node that answers logs, until its next start.")

    @Argument(help: "trace, debug, info, notice, warning, error or critical.") var level: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let result = try await common.client().call("PUT", ["log"], body: .object(["level": .text(level)]))
        common.show(result) { ["the log level is \($0["level"]?.shown ?? level)"] }
    }
}

/// `audit`.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Who changed what through the server API of any node, newest first.")

    @Option(help: ArgumentHelp("Only calls of this key (its id) or token (its sub).", valueName: "name"))
    var actor: String?
    @Option(help: ArgumentHelp("Only calls about this room.", valueName: "room"))
    var room: String?
    @Option(
        help: ArgumentHelp(
            "Only this call, by its operationId in GET /v1/openapi.json, for example deleteRoom.", valueName: "call"))
    var action: String?
    @OptionGroup var page: PageOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try common.client()
        let result = try await page.collect("items") { after, limit async throws(CommandFailure) in
            try await client.call(
                "GET", ["audit"],
                query: [
                    ("actor", actor), ("room", room), ("action", action), ("after", after),
                    ("limit", limit.map(String.init)),
                ])
        }
        common.show(result) { Self.lines($0, within: Output.columns) }
        guard !common.json else { return }
        PageOptions.note(result)
        common.note(missingNodesOf: result, "calls of its last moments may be missing")
    }

    /// The calls for people.
    static func lines(_ audit: JSONTree, within columnsMax: Int?) -> [String] {
        var table = Table(["TIME", "WHO", "FROM", "AT", "CALL", "ANSWER"], uncut: ["CALL"])
        for item in audit["items"]?.items ?? [] {
            table.add([
                item["time"]?.integer.map(TimeText.full) ?? "", item["administrator"]?.shown ?? "?",
                item["address"]?.shown ?? "", item["node"]?.shown ?? "",
                "\(item["method"]?.shown ?? "") \(item["path"]?.shown ?? "")",
                (item["error"] ?? item["status"])?.shown ?? "",
            ])
        }
        return table.lines(within: columnsMax)
    }
}
