import ControlClient

/// Nodes for people.
enum NodeText {
    /// - Parameters:
    ///   - cluster: the answer of `cluster`.
    ///   - holders: the nodes that have replicas; nil: that is not known.
    static func lines(_ cluster: JSONTree, holders: Set<String>?, within columnsMax: Int?) -> [String] {
        var table = Table(["NODE", "STATE", "LEADS", "VOTER", "STARTED", "VERSION", "LEVEL", "GATEWAYS"])
        let nodes = cluster["nodes"]?.items ?? []
        let versions = Set(nodes.compactMap { $0["version"]?.shown })
        for node in nodes {
            let version = node["version"]?.shown ?? ""
            table.add([
                node["id"]?.shown ?? "", state(of: node, holders: holders), node["leads"]?.shown ?? "",
                node["systemVoter"]?.shown ?? "", node["startedAt"]?.integer.map(TimeText.full) ?? "",
                // The revision only where it tells something; the line fits a terminal of 80 columns.
                versions.count > 1 ? version : String(version.prefix { $0 != " " }),
                node["featureLevel"]?.shown ?? "",
                (node["gateways"]?.items ?? []).map { place(of: $0.shown) }.joined(separator: " "),
            ])
        }
        let warning = ["", "Nodes differ in their versions; only an upgrade makes that right."]
        return table.lines(within: columnsMax) + (versions.count > 1 ? warning : [])
    }

    /// `alive`, `silent`, or how far an operator's drain is: `draining` while the node has replicas, then `drained`.
    static func state(of node: JSONTree, holders: Set<String>?) -> String {
        let isAlive = node["alive"]?.boolean == true
        guard isDraining(node) else { return isAlive ? "alive" : "silent" }
        let hasReplicas = holders?.contains(node["id"]?.shown ?? "") ?? true
        return (hasReplicas ? "draining" : "drained") + (isAlive ? "" : ", silent")
    }

    static func isDraining(_ node: JSONTree) -> Bool { node["draining"]?.boolean == true }

    static func isAnyDraining(_ cluster: JSONTree) -> Bool {
        (cluster["nodes"]?.items ?? []).contains(where: isDraining)
    }

    /// The nodes that have replicas, by the answer of `cluster/shards`; nil where it tells of no shard.
    static func holders(_ shards: JSONTree?) -> Set<String>? {
        guard let shards = shards?["shards"]?.items, !shards.isEmpty else { return nil }
        return Set(shards.flatMap { ($0["replicas"]?.items ?? []).compactMap(\.text) })
    }

    /// The URL of a gateway without what nearly all have.
    private static func place(of url: String) -> String {
        url.hasPrefix("ws://") && url.hasSuffix("/v1/ws") ? String(url.dropFirst(5).dropLast(6)) : url
    }
}
