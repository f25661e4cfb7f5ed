import ChatModel
import Consensus

/// Shards by servers, while they are being placed.
struct PlacementTable {
    private let servers: [ServerID]
    /// By shard, then by server: who has the highest is the shard's first choice.
    private let weights: [[UInt64]]
    /// By shard: positions in `servers`, the leader first.
    private var replicas: [[Int]]

    /// - Parameter servers: each once, in an order that is everywhere the same.
    init(servers: [ServerID], shardCount: Int) {
        self.servers = servers
        weights = (0..<shardCount).map { shard in servers.map { Self.weight("shard \(shard)", $0) } }
        replicas = Array(repeating: [], count: shardCount)
    }

    /// By shard: everybody, those who have the shard first.
    var rankings: [[ServerID]] {
        replicas.indices.map { shard in
            let rest = servers.indices.filter { !replicas[shard].contains($0) }
            return (replicas[shard] + rest.sorted { isBetter($0, $1, for: shard) }).map { servers[$0] }
        }
    }

    /// Everybody by rendezvous hashing alone.
    static func ranking(of key: String, _ servers: [ServerID]) -> [ServerID] {
        servers.map { (weight: weight(key, $0), server: $0) }
            .sorted { ($0.weight, $1.server) > ($1.weight, $0.server) }.map(\.server)
    }

    /// A node with a new store takes the place of its old self.
    private static func weight(_ key: String, _ server: ServerID) -> UInt64 {
        ShardMap.hash("\(key) \(server.node)".utf8)
    }

    private func isBetter(_ a: Int, _ b: Int, for shard: Int) -> Bool {
        (weights[shard][a], b) > (weights[shard][b], a)
    }

    mutating func place(replicas count: Int) {
        for shard in replicas.indices {
            let order = servers.indices.sorted { isBetter($0, $1, for: shard) }
            replicas[shard] = Array(order.prefix(count))
        }
        guard count > 0 else { return }
        levelReplicas()
        levelLeaders()
    }

    /// The cost for a shard to go from one server to another.
    private func loss(_ shard: Int, from: Int, to: Int) -> UInt64 {
        let (old, new) = (weights[shard][from], weights[shard][to])
        return old > new ? old - new : 0
    }

    private mutating func levelReplicas() {
        var loads = Array(repeating: 0, count: servers.count)
        for set in replicas { for server in set { loads[server] += 1 } }
        // Each turn makes the sum of the squares smaller, so it ends.
        while let full = loads.indices.max(by: { (loads[$0], $1) < (loads[$1], $0) }),
            let empty = loads.indices.min(by: { (loads[$0], $0) < (loads[$1], $1) }), loads[full] > loads[empty] + 1
        {
            let movable = replicas.indices.filter { replicas[$0].contains(full) && !replicas[$0].contains(empty) }
            // There are at least two, since the one has two shards more than the other.
            guard
                let shard = movable.min(by: {
                    (loss($0, from: full, to: empty), $0) < (loss($1, from: full, to: empty), $1)
                })
            else { return }
            replicas[shard] = replicas[shard].map { $0 == full ? empty : $0 }.sorted {
                isBetter($0, $1, for: shard)
            }
            loads[full] -= 1
            loads[empty] += 1
        }
    }

    /// Within their replicas: along the shortest chain of shards from the fullest server that reaches one with two
    /// leaders fewer. Each chain makes the sum of the squares smaller, so it ends.
    private mutating func levelLeaders() {
        var loads = Array(repeating: 0, count: servers.count)
        for set in replicas { loads[set[0]] += 1 }
        while true {
            var chain: [(shard: Int, to: Int)] = []
            for full in loads.indices.sorted(by: { (loads[$1], $0) < (loads[$0], $1) }) where chain.isEmpty {
                chain = leaderChain(from: full, loads)
            }
            if chain.isEmpty { return }
            for step in chain {
                let old = replicas[step.shard][0]
                replicas[step.shard].removeAll { $0 == step.to }
                replicas[step.shard].removeFirst()
                // The successors stay in the order of their weights.
                replicas[step.shard] =
                    [step.to] + (replicas[step.shard] + [old]).sorted { isBetter($0, $1, for: step.shard) }
                loads[old] -= 1
                loads[step.to] += 1
            }
        }
    }

    private func leaderChain(from start: Int, _ loads: [Int]) -> [(shard: Int, to: Int)] {
        var reached: [Int: (shard: Int, from: Int)] = [:]
        var queue = Fifo([start])
        while let from = queue.popFirst() {
            if loads[from] + 1 < loads[start] {
                var chain: [(shard: Int, to: Int)] = []
                var server = from
                while server != start, let step = reached[server] {
                    chain.append((step.shard, server))
                    server = step.from
                }
                return chain
            }
            var steps: [Int: Int] = [:]
            for shard in replicas.indices where replicas[shard][0] == from {
                for to in replicas[shard].dropFirst() {
                    let best = steps[to].map { loss($0, from: from, to: to) } ?? .max
                    if steps[to] == nil || loss(shard, from: from, to: to) < best { steps[to] = shard }
                }
            }
            for (to, shard) in steps.sorted(by: { $0.key < $1.key }) where to != start && reached[to] == nil {
                reached[to] = (shard, from)
                queue.append(to)
            }
        }
        return []
    }
}
