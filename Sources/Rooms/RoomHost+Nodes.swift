import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import Replication
import RoomProtocol
import ShardPlacement
import Synchronization

/// Messages of other nodes, and leaderships that go to them.
extension RoomHost {
    /// A lane of a node, maybe this one, asks what is believed of it.
    public func receive(_ request: TallyRequest, from node: NodeID) {
        onLoop(Int(request.shard.number) % loops.count) { $0.receive(request, from: node) }
    }

    /// The leader of a shard says who is at its node.
    public func receive(_ update: PresenceUpdate) {
        onLoop(Int(update.shard.number) % loops.count) { $0.receive(update) }
    }

    /// A lane of a node, maybe this one, announces its sessions of some rooms anew, in the order of its calls.
    public func receive(_ recount: LaneRecount, from node: NodeID) {
        var byLoop: [Int: [(ShardID, RoomID)]] = [:]
        for room in recount.rooms {
            let shard = shardMap.shard(of: room)
            byLoop[Int(shard.number) % loops.count, default: []].append((shard, room))
        }
        for (number, rooms) in byLoop { onLoop(number) { $0.receive(recount, from: node, rooms) } }
    }

    /// Consensus messages that another node has sent, of any shards.
    public func receive(_ messages: [RaftMessage]) {
        var byLoop: [Int: [RaftMessage]] = [:]
        for message in messages { byLoop[Int(message.group.number) % loops.count, default: []].append(message) }
        for (number, batch) in byLoop {
            onLoop(number) { $0.receive(batch) }
        }
    }

    /// Takes a message of another node's replica of a shard.
    public func receive(replication message: ReplicationMessage, from node: NodeID) {
        let shard = ShardID(message.group.number)
        onLoop(Int(shard.number) % loops.count) { $0.receive(message, from: node, shard) }
    }

    /// A node is connected that was not before: it may have begun anew.
    public func reached(_ node: NodeID) {
        for number in loops.indices { onLoop(number) { $0.reached(node) } }
    }

    /// The connection to a node has ended: its gateway's sessions are away, and it leads nothing that others know of.
    public func onNodeLost(_ node: NodeID) {
        for number in loops.indices { onLoop(number) { $0.onNodeLost(node) } }
    }

    /// The shards that this node leads, for a node that it has just been connected to.
    public func notices() async -> [ShardNotice] {
        var all: [ShardNotice] = []
        for host in hosts.withLock({ $0 }) { all += await host.loop.run { host.value.notices } }
        return all
    }

    /// Hands a shard's leadership to another node. False when this node does not lead it, or the other can't take it.
    public func transfer(_ shard: ShardID, to node: NodeID) async -> Bool {
        guard let host = host(of: shard) else { return false }
        return await host.loop.run { host.value.shards[shard]?.transferLeadership(to: node) ?? false }
    }

    /// Hands everything that this node leads to others, as far as there are any, and takes no leadership from now on;
    /// returns when that is done, or after `limit`.
    public func transferAllLeaderships(within limit: Duration) async {
        let deadline = ContinuousClock.now + limit
        for host in hosts.withLock({ $0 }) {
            await host.loop.run { for shard in host.value.shards.values { shard.log.beginStopping() } }
        }
        while ContinuousClock.now < deadline {
            var handedOver = 0
            for host in hosts.withLock({ $0 }) {
                handedOver += await host.loop.run { host.value.shards.values.count { $0.transferLeadership() } }
            }
            guard handedOver > 0 else { return }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Copies every shard that this node leads, one after the other, while they go on. Each copy has all that was acked
    /// before it began.
    ///
    /// - Parameter path: where to, a directory of each shard's own.
    /// - Returns: of each copied shard the entry of its log up to which the copy goes.
    public func backUp(to path: @Sendable (ShardID) -> String) async throws(StorageError) -> [ShardID: UInt64] {
        var copied: [ShardID: UInt64] = [:]
        for shard in await notices().map(\.shard).sorted() {
            guard await confirmsLead(of: shard) else { continue }
            let (storage, directory) = (storages[Int(shard.number)], path(shard))
            let result: Result<UInt64, StorageError> = await withCheckedContinuation { continuation in
                storage.backup(to: directory) { continuation.resume(returning: $0) }
            }
            copied[shard] = try result.get()
        }
        return copied
    }

    private func confirmsLead(of shard: ShardID) async -> Bool {
        guard let target = host(of: shard) else { return false }
        return await withCheckedContinuation { continuation in
            target.loop.execute {
                guard let host = target.value.shards[shard] else { return continuation.resume(returning: false) }
                host.confirmLead { continuation.resume(returning: $0) }
            }
        }
    }

    private func onLoop(_ number: Int, _ body: @escaping @Sendable (LoopHost) -> Void) {
        guard let target = hosts.withLock({ number < $0.count ? $0[number] : nil }) else { return }
        if target.loop.isOnLoop { body(target.value) } else { target.loop.execute { body(target.value) } }
    }

    /// Requests of this node or another, in order, to rooms that this node is believed to lead.
    public func receive(_ requests: [RoomRequest]) {
        var byLoop: [[(ShardID, RoomRequest)]] = Array(repeating: [], count: loops.count)
        for request in requests {
            let shard = shardMap.shard(of: request.room)
            byLoop[Int(shard.number) % loops.count].append((shard, request))
        }
        for (number, batch) in byLoop.enumerated() where !batch.isEmpty { onLoop(number) { $0.receive(batch) } }
    }
}
