import ChatModel
import RoomProtocol

/// The sessions of the users who have one at this node, wherever these are (PROTOCOL.md, "Devices"). A value: times are passed
/// in.
///
/// Bounded by the sessions here: of other nodes it knows only those of users who are here, or who are about to be.
public struct DeviceBook: Sendable {
    /// So many of a user's are shown, and kept of each other node: the latest.
    public static let shownMax = 20
    /// Users who are about to be here are known for so long.
    private static let awaitedMilliseconds: UInt64 = 15_000

    private struct Told: Sendable {
        var version: UInt64
        var sessions: [HeldDevice]
    }

    private var here: [UserID: [HeldDevice]] = [:]
    private var elsewhere: [NodeID: [UserID: Told]] = [:]
    private var awaited: [UserID: UInt64] = [:]
    private var awaitedInOrder = Fifo<(user: UserID, until: UInt64)>()
    private var version: UInt64

    /// - Parameter now: later than in an earlier life of the node, so that other nodes know what is newer.
    public init(at now: Timestamp) { version = UInt64(max(0, now.milliseconds)) << 20 }

    // MARK: - Here

    /// Returns whether that changes anything.
    public mutating func put(_ session: HeldDevice, of user: UserID) -> Bool {
        var sessions = here[user] ?? []
        if let index = sessions.firstIndex(where: { $0.session == session.session }) {
            guard sessions[index] != session else { return false }
            sessions[index] = session
        } else {
            sessions.append(session)
        }
        here[user] = sessions
        return true
    }

    /// Returns whether there was one.
    public mutating func remove(_ session: SessionID, of user: UserID) -> Bool {
        guard var sessions = here[user], let index = sessions.firstIndex(where: { $0.session == session }) else {
            return false
        }
        sessions.remove(at: index)
        here[user] = sessions.isEmpty ? nil : sessions
        if sessions.isEmpty, awaited[user] == nil { forget(user) }
        return true
    }

    private mutating func forget(_ user: UserID) {
        for node in Array(elsewhere.keys) { elsewhere[node]?[user] = nil }
    }

    /// A session of the user will begin here soon.
    public mutating func await(_ user: UserID, nowMilliseconds now: UInt64) {
        forgetAwaited(now)
        let until = now + Self.awaitedMilliseconds
        awaited[user] = until
        awaitedInOrder.append((user, until))
    }

    private mutating func forgetAwaited(_ now: UInt64) {
        while let first = awaitedInOrder.first, first.until <= now {
            awaitedInOrder.removeFirst()
            guard awaited[first.user] == first.until else { continue }
            awaited[first.user] = nil
            if here[first.user] == nil { forget(first.user) }
        }
    }

    /// Whether the user has a session here.
    public func isHere(_ user: UserID) -> Bool { here[user] != nil }

    /// The users who have sessions here.
    public var users: [UserID] { Array(here.keys) }

    // MARK: - Between nodes

    /// The words about these users' sessions here; in an answer without those who have none.
    public mutating func news(
        from node: NodeID, of users: [UserID], asking asked: [UserID] = [], isAnswer: Bool = false
    ) -> DeviceNews {
        version += 1
        let told = users.compactMap { user -> UserDevices? in
            let sessions = here[user].map { Self.latest($0) } ?? []
            return isAnswer && sessions.isEmpty ? nil : UserDevices(user: user, sessions: sessions)
        }
        return DeviceNews(node: node, version: version, asked: asked, told: told)
    }

    /// Another node's words.
    /// - Returns: the users of whom that was new, and who are here.
    public mutating func take(_ news: DeviceNews) -> [UserID] {
        var changed: [UserID] = []
        for told in news.told where here[told.user] != nil || awaited[told.user] != nil {
            let former = elsewhere[news.node]?[told.user]
            guard former.map({ $0.version < news.version }) ?? true else { continue }
            let sessions = Self.latest(told.sessions)
            elsewhere[news.node, default: [:]][told.user] = Told(version: news.version, sessions: sessions)
            if (former?.sessions ?? []) != sessions, here[told.user] != nil {
                changed.append(told.user)
            }
        }
        return changed
    }

    /// A node can't be reached: nobody knows of its sessions.
    /// - Returns: users who had some there, and are here.
    public mutating func lose(_ node: NodeID) -> [UserID] {
        let lost = elsewhere.removeValue(forKey: node) ?? [:]
        return lost.compactMap { user, told in told.sessions.isEmpty || here[user] == nil ? nil : user }
    }

    // MARK: - Showing

    /// The user's sessions, the earliest first; at most `shownMax`, the latest.
    public func sessions(of user: UserID) -> [HeldDevice] {
        var known: [SessionID: HeldDevice] = [:]
        for told in elsewhere.values {
            for session in told[user]?.sessions ?? [] { known[session.session] = session }
        }
        // One that has come here may not have left there yet.
        for session in here[user] ?? [] { known[session.session] = session }
        return Self.latest(Array(known.values))
    }

    private static func latest(_ sessions: [HeldDevice]) -> [HeldDevice] {
        let sorted = sessions.sorted { ($0.startedAt, $0.session.text) < ($1.startedAt, $1.session.text) }
        return Array(sorted.suffix(shownMax))
    }
}
