import BuildVersion
import ChatModel
import Gateway
import RoomProtocol
import Rooms
import SystemGroupHost
import Wire

/// The answers of this node, to other nodes and to itself.
struct NodeAnswers: Sendable {
    let configuration: NodeConfiguration
    let rooms: RoomHost
    let system: SystemGroup
    let gateway: Gateway
    let cluster: ClusterIdentity
    let auditRecorder: AuditRecorder
    let logControl: LogControl
    let startedAt: Timestamp
    let backup: NodeBackup
    let recent: RecentFigures
    let media: MediaHost
    let keys: TokenKeys
    let reach: ReachWatch

    func answer(_ question: NodeQuestion) async -> Result<NodeAnswer, ChatError> {
        do throws(ChatError) {
            return .success(try await perform(question))
        } catch {
            return .failure(error)
        }
    }

    private func perform(_ question: NodeQuestion) async throws(ChatError) -> NodeAnswer {
        switch question {
        case .explain(let room): return .explanation(try await rooms.explain(room))
        case .rooms(let after, let limit):
            let page = try await rooms.list(after: after, limit: limit)
            return .rooms(page.items, next: page.next?.text)
        case .deletedRooms(let after, let limit):
            let page = try await rooms.list(after: after, limit: limit, deleted: true)
            return .rooms(page.items, next: page.next?.text)
        case .onlineRooms(let after, let limit):
            let page = try await rooms.byOnline(after: after, limit: limit)
            return .rooms(page.items, next: page.next)
        case .propose(let command, let key):
            let (result, index) = try await system.performForwarded(command, key: key)
            return .applied(result, index: index)
        case .join(let record):
            // Only the group's leader does this: a node that joins asks every node that it reaches, and the leader
            // believes about a node only what the node itself says.
            let (result, index) = try await system.performForwarded(.addNode(record), key: nil)
            return .applied(result, index: index)
        case .cluster: return .cluster(id: cluster.id, shardCount: cluster.shardCount)
        case .status: return .status(await status())
        case .roomCount: return .count(try await rooms.count())
        case .sessions(let user): return .sessions(await gateway.sessions(of: user), next: nil)
        case .sessionPage(let after, let limit):
            let page = await gateway.sessions(after: after, limit: limit)
            return .sessions(page.items, next: page.next)
        case .slowSessions(let limit): return .sessions(await gateway.slowSessions(limit: limit), next: nil)
        case .endSessions(let user): return .count(await gateway.forceOffline(user))
        case .endSession(let session): return .count(await gateway.forceOffline(session) ? 1 : 0)
        case .direct(let message, let user): return .count(await gateway.direct(message, to: user))
        case .broadcast(let message): return .count(await gateway.broadcast(message))
        case .lanes(let room): return .lanes(await gateway.figures(of: room))
        case .transfer(let shard, let node):
            guard await rooms.transfer(shard, to: node) else {
                let shard = shard.number
                throw ChatError(
                    .conflict,
                    "\(node) can't take shard \(shard) over: it has no replica of it, or one that is behind or can't "
                        + "be reached (cluster shards shows the replicas)",
                    field: "to")
            }
            return .done
        case .shards: return .shards(await shards())
        case .audit(let query): return .audit(try await auditRecorder.page(query))
        case .keepAudit(let items):
            try await auditRecorder.keep(items, listed: system.nodes)
            return .done
        case .figures: return .figures(await figures())
        case .setLogLevel(let level):
            logControl.set(level)
            return .done
        case .backup(let name): return try await backup.make(name)
        case .clock: return .clock(WallClock.now())
        case .migrateSession(let session, let user):
            guard let handed = await gateway.migrateSession(session, to: user) else {
                throw ChatError(.notFound, "the session is not here", field: "session")
            }
            return .session(handed)
        case .devices(let news): return .devices(gateway.hear(news))
        case .reach(let news): return .reach(reach.hear(news))
        case .discardBackup(let name):
            try await backup.discard(name)
            return .done
        case .mediaWrite, .mediaFinish, .mediaRead, .mediaHas, .mediaLink, .mediaUse, .mediaUses:
            return try await media.answer(question)
        case .unknown:
            throw ChatError(.unavailable, "\(configuration.node) is of an older version", retryAfterMs: 60_000)
        }
    }

    private func shards() async -> [ShardView] {
        await rooms.shards().map {
            var view = ShardView(
                shard: $0.shard, leader: $0.leader, replicas: $0.replicas, term: $0.term, applied: $0.applied)
            view.behind = $0.behind
            return view
        }
    }

    /// The node's activity at the moment.
    func figures() async -> NodeFigures {
        let (status, seconds) = (await status(), (WallClock.now().milliseconds - startedAt.milliseconds) / 1000)
        var figures = recent.figures(of: configuration.node)
        figures.version = status.version
        figures.uptimeSeconds = max(0, seconds)
        figures.connections = status.stats.connections
        figures.sessions = status.stats.sessions
        figures.slowSessions = status.stats.slowSessions
        figures.rooms = status.stats.activeRooms
        figures.online = status.stats.online
        figures.leads = Int64(status.leads.count)
        return figures
    }

    private func status() async -> NodeStatus {
        let counts = await gateway.counts()
        let (activeRooms, online) = await rooms.onlineTotals()
        var stats = StatsView()
        stats.time = WallClock.now()
        stats.startedAt = startedAt
        stats.sessions = Int64(counts.sessions)
        stats.users = Int64(counts.users)
        stats.connections = Int64(counts.connections)
        stats.slowSessions = Int64(counts.slowSessions)
        stats.activeRooms = Int64(activeRooms)
        stats.online = Int64(online)
        return NodeStatus(
            node: configuration.node, version: BuildVersion.text, level: configuration.levelMax,
            gateways: await gateway.ownURLs(),
            leads: await self.rooms.notices().map(\.shard), stats: stats, tokenKeys: keys.digest)
    }
}
