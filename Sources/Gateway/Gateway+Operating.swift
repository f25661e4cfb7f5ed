import ChatModel
import EventLoop
import RoomProtocol
import Synchronization
import Wire

/// Requests about users and sessions from outside. None of it waits for clients.
extension Gateway {
    /// Ends the user's sessions whose tokens have been revoked. Returns at once; call it after the verifier knows.
    public func revoke(_ user: UserID) {
        for (lane, ids) in shared.directory.sessions(of: user) {
            guard let lane = self.lane(lane) else { continue }
            lane.loop.execute { lane.value.revoke(ids) }
        }
    }

    /// A user is banned or muted in all rooms, or no more. Returns at once; call it after the verifier knows.
    public func sanction(_ user: UserID, _ kind: SanctionKind) {
        // A session that nobody holds just now has ended too, also when the ban is over by the time it is looked for.
        if kind == .banned, shared.verifier.sanction(.banned, of: user) != nil {
            shared.directory.putOffline(.user(user), at: shared.now())
        }
        for (lane, ids) in shared.directory.sessions(of: user) {
            guard let lane = self.lane(lane) else { continue }
            lane.loop.execute { lane.value.sanction(ids, kind) }
        }
    }

    /// Ends all sessions of a user with 4403, those that are on their way here when they come. Returns how many there
    /// were.
    public func forceOffline(_ user: UserID) async -> Int {
        shared.directory.putOffline(.user(user), at: shared.now())
        var count = 0
        for (number, ids) in shared.directory.sessions(of: user) {
            guard let lane = self.lane(number) else { continue }
            count += await lane.loop.run { lane.value.forceOffline(ids) }
        }
        return count
    }

    /// Ends one session with 4403, when it comes if it is on its way here. Returns whether there was one.
    public func forceOffline(_ session: SessionID) async -> Bool {
        shared.directory.putOffline(.session(session), at: shared.now())
        guard let lane = shared.directory.lane(of: session).flatMap({ self.lane($0) }) else { return false }
        return await lane.loop.run { lane.value.forceOffline([session]) } > 0
    }

    /// Gives a session up to another node: its connection ends with 4410. Nil for one that is not here, or is another
    /// user's (nil: for one that is not anonymous).
    public func migrateSession(_ session: SessionID, to user: UserID?) async -> HandedSession? {
        guard let lane = shared.directory.lane(of: session).flatMap({ self.lane($0) }) else { return nil }
        return await lane.loop.run { lane.value.migrateSession(session, to: user) }
    }

    /// Another node has taken these sessions up: older copies here end with 4410 before anything else is done for them.
    public func end(copiesOf sessions: [TakenSession]) {
        for taken in sessions {
            guard let lane = shared.directory.lane(of: taken.session).flatMap({ self.lane($0) }) else { continue }
            if lane.loop.isOnLoop {
                lane.value.end(copyOf: taken)
            } else {
                lane.loop.execute { lane.value.end(copyOf: taken) }
            }
        }
    }

    /// Shows a message to the user's connected sessions. Returns how many took it.
    public func direct(_ message: Message, to user: UserID) async -> Int {
        let frame = Self.frame(.direct(message))
        var count = 0
        for (number, ids) in shared.directory.sessions(of: user) {
            guard let lane = self.lane(number) else { continue }
            count += await lane.loop.run { lane.value.show(frame, to: ids, isDroppable: false) }
        }
        return count
    }

    /// Shows a message to everyone online, at most once: who can't keep up may be spared. Returns how many were given it.
    public func broadcast(_ message: Message) async -> Int {
        let frame = Self.frame(.broadcast(message))
        var count = 0
        for lane in shared.lanes.withLock({ $0 }) {
            count += await lane.loop.run { lane.value.show(frame, to: nil, isDroppable: true) }
        }
        return count
    }

    // MARK: - Devices

    /// Another node tells of users' sessions there, and asks for those here.
    public func hear(_ news: DeviceNews) -> DeviceNews { shared.devices.hear(news) }

    /// Another node is reached again.
    public func reached(_ node: NodeID) { shared.devices.reach(node) }

    /// Another node can't be reached.
    public func onNodeLost(_ node: NodeID) { shared.devices.lose(node) }

    /// Encoded once for all.
    static func frame(_ push: Push) -> SharedFrame {
        var writer = SharedFrameWriter([.json, .protobuf])
        writer.append(push)
        return writer.frame(.messages)
    }

    public func sessions(of user: UserID) async -> [SessionView] {
        var views: [SessionView] = []
        for (number, ids) in shared.directory.sessions(of: user) {
            guard let lane = self.lane(number) else { continue }
            views += await lane.loop.run { lane.value.views(of: ids) }
        }
        return views.sorted { ($0.startedAt, $0.session.text) < ($1.startedAt, $1.session.text) }
    }

    /// A page of all sessions, in the order of their IDs.
    public func sessions(after: String?, limit: Int) async -> Page<SessionView, String> {
        let all = shared.directory.all
        let ids = all.keys.filter { id in after.map { id.text > $0 } ?? true }.sorted { $0.text < $1.text }
        let page = ids.prefix(limit)
        var byLane: [Int: [SessionID]] = [:]
        for id in page { if let place = all[id] { byLane[place.lane, default: []].append(id) } }
        var views: [SessionView] = []
        for (number, ids) in byLane {
            guard let lane = self.lane(number) else { continue }
            views += await lane.loop.run { lane.value.views(of: ids) }
        }
        return Page(
            items: views.sorted { $0.session.text < $1.session.text },
            next: ids.count > limit ? page.last?.text : nil)
    }

    /// Sessions that don't take what they are sent, the worst first.
    public func slowSessions(limit: Int) async -> [SessionView] {
        var views: [SessionView] = []
        for lane in shared.lanes.withLock({ $0 }) { views += await lane.loop.run { lane.value.slowSessions() } }
        views.sort(by: SessionView.isWorse)
        return Array(views.prefix(limit))
    }

    /// How much there is.
    public struct Counts: Sendable {
        public var sessions: Int
        public var users: Int
        public var connections: Int
        public var slowSessions: Int
    }

    public func counts() async -> Counts {
        var slow = 0
        for lane in shared.lanes.withLock({ $0 }) { slow += await lane.loop.run { lane.value.slowCount } }
        return Counts(
            sessions: shared.directory.count, users: shared.directory.userCount, connections: shared.budget.total,
            slowSessions: slow)
    }

    func lane(_ number: Int) -> LoopBound<GatewayLane>? {
        shared.lanes.withLock { number < $0.count ? $0[number] : nil }
    }
}
