import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import LogStore
import RoomProtocol
import ShardPlacement
import Synchronization
import Wire

/// Answers about all shards of the node.
extension RoomHost {
    /// How many rooms there are that this node leads.
    public func count() async throws(ChatError) -> Int {
        let readings = await notices().map { notice in
            let storage = storages[Int(notice.shard.number)]
            return Task {
                await withCheckedContinuation { (continuation: CheckedContinuation<Int?, Never>) in
                    storage.count(.room) { continuation.resume(returning: try? $0.get()) }
                }
            }
        }
        var sum = 0
        for reading in readings {
            guard let count = await reading.value else { throw ChatError(.internal, "the catalogue can't be read") }
            sum += count
        }
        return sum
    }

    /// A page of the rooms that this node leads, in ID order.
    /// - Parameter deleted: those that were deleted and can be restored, in place of those that exist.
    public func list(after: RoomID?, limit: Int, deleted: Bool = false) async throws(ChatError)
        -> Page<RoomView, RoomID>
    {
        let led = await notices().map { Int($0.shard.number) }
        let storages = storages
        let kind = deleted ? CatalogueKind.deletedRoom : .room
        let readings = led.map { number in
            let storage = storages[number]
            return Task {
                await withCheckedContinuation { (continuation: CheckedContinuation<[CatalogueRow]?, Never>) in
                    storage.rooms(kind, after: after, limit: limit + 1) {
                        continuation.resume(returning: try? $0.get())
                    }
                }
            }
        }
        var pages: [[CatalogueRow]?] = []
        for reading in readings { pages.append(await reading.value) }
        guard pages.allSatisfy({ $0 != nil }) else { throw ChatError(.internal, "the catalogue can't be read") }
        let rows = pages.compactMap { $0 }.joined().sorted { $0.room < $1.room }
        let online = await onlineCounts()
        let items = rows.prefix(limit).compactMap { view($0, online) }
        return Page(items: items, next: rows.count > limit ? items.last?.info.id : nil)
    }

    private func view(_ row: CatalogueRow, _ online: [RoomID: Int]) -> RoomView? {
        guard let bytes = row.value, let kind = CatalogueKind(rawValue: row.kind),
            let value = try? CatalogueCodec.decode(kind: kind, bytes)
        else { return nil }
        let shard = shardMap.shard(of: row.room)
        switch value {
        case .room(let record):
            return RoomView(
                info: shown(record), online: online[row.room].map { Int64($0) } ?? record.robots, shard: shard,
                leader: node)
        case .deletedRoom(let deleted):
            var view = RoomView(info: shown(deleted.room), online: 0, shard: shard, leader: node)
            (view.deletedAt, view.purgeAt) = (deleted.deletedAt, deleted.purgeAt)
            return view
        default: return nil
        }
    }

    /// As `RoomActor.shown` does.
    private func shown(_ record: RoomRecord) -> RoomInfo {
        var info = record.info
        if let aging = aging.withLock({ $0 }) {
            let keptSince = aging.keptSince(record)
            info.pinned.removeAll { $0.time < keptSince }
            info.complete(by: aging.policy)
        }
        return info
    }

    /// A page of the rooms in memory, those with the most people first.
    /// - Parameter after: the cursor of an earlier page. Throws 414 for what is none.
    public func byOnline(after: String?, limit: Int) async throws(ChatError) -> Page<RoomView, String> {
        let start = after.flatMap(OnlinePlace.init(cursor:))
        guard after == nil || start != nil else {
            throw ChatError(.badParameter, "after is not a cursor of an earlier answer", field: "after")
        }
        let rest = await onlineCounts().map { (room: $0.key, place: OnlinePlace($0.key, online: $0.value)) }
            .filter { row in start.map { $0 < row.place } ?? true }.sorted { $0.place < $1.place }
        let page = rest.prefix(limit)
        var views: [RoomView] = []
        for (room, _) in page {
            // It may have been deleted since, or have left memory.
            if let view = await viewHere(room) { views.append(view) }
        }
        return Page(items: views, next: rest.count > limit ? page.last?.place.cursor : nil)
    }

    /// A room in memory, if this node leads it.
    private func viewHere(_ room: RoomID) async -> RoomView? {
        let (shard, node) = (shardMap.shard(of: room), node)
        guard let target = host(of: shard) else { return nil }
        return await target.loop.run {
            guard let shardHost = target.value.shards[shard], shardHost.isServing,
                var view = shardHost.rooms[room]?.onLoop({ $0.roomView })
            else { return nil }
            (view.shard, view.leader) = (shard, node)
            return view
        }
    }

    private func onlineCounts() async -> [RoomID: Int] {
        var counts: [RoomID: Int] = [:]
        for host in hosts.withLock({ $0 }) {
            let some = await host.loop.run { host.value.onlineCounts() }
            counts.merge(some) { $0 + $1 }
        }
        return counts
    }

    public func shard(of room: RoomID) -> ShardID { shardMap.shard(of: room) }
    public var shardCount: UInt16 { shardMap.shardCount }

    /// The figures of the log of a room's shard, as this node has it. Throws 503 while the node is starting.
    public func explain(_ room: RoomID) async throws(ChatError) -> RoomExplanation {
        let shard = shardMap.shard(of: room)
        guard let target = host(of: shard) else {
            throw ChatError(.unavailable, "the node is starting", retryAfterMs: 500)
        }
        let node = node
        return await target.loop.run { target.value.explain(room, shard, node: node) }
    }

    /// The status of a shard's group, for operators.
    public struct ShardStatus: Sendable {
        public var shard: ShardID
        public var leader: NodeID?
        public var replicas: [NodeID]
        /// Those that do not keep up, where this node leads.
        public var behind: [NodeID]
        /// The same with their stores: a node that has lost its disk is another server.
        public var voters: [ServerID]
        public var term: UInt64
        public var applied: UInt64
    }

    /// All shards that this node holds, in order.
    public func shards() async -> [ShardStatus] {
        var all: [ShardStatus] = []
        for host in hosts.withLock({ $0 }) {
            all += await host.loop.run {
                host.value.shards.map { shard, host in
                    ShardStatus(
                        shard: shard, leader: host.log.leader.flatMap { NodeID($0.node) },
                        replicas: host.replicas, behind: host.log.replicasBehind.compactMap { NodeID($0.node) },
                        voters: host.log.membership.voters,
                        term: host.log.term, applied: host.log.appliedIndex)
                }
            }
        }
        return all.sorted { $0.shard < $1.shard }
    }

    /// How many people are in how many rooms.
    public func onlineTotals() async -> (rooms: Int, online: Int) {
        var totals = (rooms: 0, online: 0)
        for host in hosts.withLock({ $0 }) {
            let some = await host.loop.run { host.value.onlineTotals }
            totals = (totals.rooms + some.rooms, totals.online + some.online)
        }
        return totals
    }

    /// nil when all shards are open, or a sentence that says what is missing.
    public func unreadiness() async -> String? {
        let all = hosts.withLock { $0 }
        guard all.count == loops.count else { return "the shards are being opened" }
        let store = store.withLock { $0 }
        if let failure = store?.refusal { return "the log is not written any more: \(failure.message)" }
        if let failure = store?.status.failure {
            return "the log can't be written (\(failure.message)); this node leads nothing that another one can lead"
        }
        for (shard, storage) in zip(0..., storages) {
            guard let failure = storage.diskFailure else { continue }
            return "the files of shard \(shard) can't be written (\(failure.message))"
        }
        return nil
    }
}
