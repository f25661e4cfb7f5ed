import ChatModel
import Foundation
import SimulatedSystem

extension ClusterStory {
    /// When all is over each replica of a room's shard leads once, which only a complete one can, and must tell the same
    /// of the room as the others: its messages, its queue, its tallies, who is kept in it.
    func compareReplicas(of rooms: [RoomID]) async throws {
        // A node whose clock is wrong leads nothing.
        for node in 0..<plan.layout.nodes { if let host = cluster.host(node) { sim_skew(host.number, 0) } }
        for room in rooms {
            // A replica that has made its core anew after a failed write leads nothing before it is shown an entry.
            let end = #"{"type":"TEXT","text":"the end","sender":"host"}"#
            guard await asked("POST", "/v1/rooms/\(room)/messages", end) else { continue }
            guard let shard = await explanation(of: room, at: 0)?.shard,
                let replicas = await cluster.placements(asking: 0).first(where: { $0.shard == shard })?.replicas
            else {
                complain(.refused, "nobody knows where \(room) is")
                continue
            }
            var first: (node: String, told: [String])?
            for replica in replicas {
                guard let told = try await told(of: room, shard, by: replica) else {
                    complain(.leadsNever, "\(replica) has not told of \(room) as its leader within 30 s")
                    continue
                }
                guard let known = first else {
                    first = (replica, told)
                    continue
                }
                for (one, other) in zip(known.told, told) where one != other {
                    let place = zip(one, other).prefix { $0 == $1 }.count
                    complain(
                        .replicasDiffer,
                        "\(known.node) and \(replica) tell different things of \(room): "
                            + "\(one.dropFirst(max(0, place - 60)).prefix(160)) and "
                            + "\(other.dropFirst(max(0, place - 60)).prefix(160))")
                }
            }
            count("replicas compared", replicas.count)
        }
    }

    func explanation(of room: RoomID, at node: Int) async -> SimulatedCluster.Placement? {
        struct Explanation: Decodable { var log: SimulatedCluster.Placement }
        guard let text = await text(node, "/v1/rooms/\(room)/explain") else { return nil }
        return try? JSONDecoder().decode(Explanation.self, from: Data(text.utf8)).log
    }

    /// Makes the replica the leader and asks it. It may be so for some seconds only: leadership goes back to where it belongs.
    private func told(of room: RoomID, _ shard: Int, by replica: String) async throws -> [String]? {
        guard let node = Int(replica.dropFirst()).map({ $0 - 1 }) else { return nil }
        let end = SimulatedTime.now + .seconds(30)
        while SimulatedTime.now < end {
            _ = await cluster.call(node, "POST", "/v1/cluster/shards/\(shard)/transfer", #"{"to":"\#(replica)"}"#)
            if await explanation(of: room, at: node)?.leader == replica, let told = await told(of: room, at: node),
                await explanation(of: room, at: node)?.leader == replica
            {
                return told
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        return nil
    }

    private func told(of room: RoomID, at node: Int) async -> [String]? {
        guard var all = await history(of: room.text, at: node) else { return nil }
        if room.text == Self.tapsRoom { lookForAmended(in: all, "at n\(node + 1) in the end", upTo: .max, isAll: true) }
        for part in ["queue", "tallies", "polls", "held", "reports"] {
            guard let told = await text(node, "/v1/rooms/\(room)/\(part)") else { return nil }
            all.append(told)
        }
        for kind in ["FIXED", "MANAGERS", "MUTED", "BLACKLISTED"] {
            guard let members = await text(node, "/v1/rooms/\(room)/members?kind=\(kind)") else { return nil }
            // How long a mute still lasts, and who is here, is another thing a moment later.
            let users = members.split(separator: "\"user\":\"").dropFirst().map { $0.prefix { $0 != "\"" } }
            all.append("\(kind) \(users)")
        }
        return all
    }

    /// All pages of what a room keeps, the oldest first; nil where the node does not tell.
    private func history(of room: String, at node: Int) async -> [String]? {
        struct Page: Decodable {
            struct Shown: Decodable { var seq: UInt64 }
            var messages: [Shown]
        }
        var all: [String] = []
        var seq: UInt64 = 0
        while true {
            let query = "order=ASC&limit=100&afterSeq=\(seq)"
            guard let text = await text(node, "/v1/rooms/\(room)/messages?\(query)"),
                let page = try? JSONDecoder().decode(Page.self, from: Data(text.utf8))
            else { return nil }
            guard let last = page.messages.last?.seq, last > seq else { return all }
            all.append(text)
            seq = last
        }
    }

    /// The same of any node that tells.
    func history(of room: String) async throws -> [String] {
        for attempt in 0..<60 {
            if let pages = await history(of: room, at: attempt % plan.layout.nodes) { return pages }
            try await Task.sleep(for: .milliseconds(500))
        }
        complain(.refused, "nobody tells the history of \(room)")
        return []
    }

    private func text(_ node: Int, _ path: String) async -> String? { await cluster.text(node, path) }
}
