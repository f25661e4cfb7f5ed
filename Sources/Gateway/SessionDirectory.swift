import ChatModel
import Synchronization

/// Which lane of this node holds which session, and which sessions a user has: for a client that comes back on another
/// lane, and for what is asked of users and sessions from outside.
///
/// Shared by all lanes; touched when a session begins, moves and ends, never on the delivery path.
final class SessionDirectory: Sendable {
    struct Place: Sendable {
        var lane: Int
        var user: UserID
    }

    /// The target of an offline call: all sessions of a user, or one session.
    enum Offline: Hashable, Sendable {
        case user(UserID)
        case session(SessionID)
    }

    private struct Order: Sendable {
        var target: Offline
        /// Sessions that have begun later are not meant; nil: all.
        var time: Timestamp?
        var end: ContinuousClock.Instant
    }

    private struct State {
        var places: [SessionID: Place] = [:]
        var byUser: [UserID: [SessionID]] = [:]
        /// Targets that were put offline lately, and the same in the order of time.
        var offline: [Offline: Order] = [:]
        var orders = Fifo<Order>()
    }

    /// Longer than a session may be on its way from another node, than it takes to ask all nodes, and than the grace in
    /// which any node takes a session up.
    private let orderLife: Duration
    /// A session that began at another node did so by that node's clock.
    private static let clockSkewSeconds: Int64 = 1

    private let state = Mutex(State())

    init(graceSeconds: Int64) { orderLife = .seconds(max(30, 2 * graceSeconds)) }

    func lane(of session: SessionID) -> Int? { state.withLock { $0.places[session]?.lane } }

    func put(_ session: SessionID, of user: UserID, on lane: Int) {
        state.withLock {
            let known = $0.places.updateValue(Place(lane: lane, user: user), forKey: session)
            if known == nil { $0.byUser[user, default: []].append(session) }
        }
    }

    func remove(_ session: SessionID) {
        state.withLock {
            guard let place = $0.places.removeValue(forKey: session) else { return }
            $0.byUser[place.user]?.removeAll { $0 == session }
            if $0.byUser[place.user]?.isEmpty == true { $0.byUser[place.user] = nil }
        }
    }

    /// To be called before the sessions that are to end are looked up: one that is on its way here, from another lane or
    /// node, is ended by whoever takes it up, who asks ``isToEnd(_:of:startedAt:at:)`` after ``put(_:of:on:)``.
    func putOffline(_ target: Offline, at time: Timestamp) {
        let now = ContinuousClock.now
        let meant: Timestamp? = if case .user = target { time } else { nil }
        let order = Order(target: target, time: meant, end: now + orderLife)
        state.withLock { state in
            while let first = state.orders.first, first.end <= now {
                state.orders.removeFirst()
                if state.offline[first.target]?.end == first.end { state.offline[first.target] = nil }
            }
            state.offline[target] = order
            state.orders.append(order)
        }
    }

    /// Whether a session that has just been taken up was put offline while nobody held it.
    func isToEnd(_ session: SessionID, of user: UserID, startedAt: Timestamp, at node: NodeID) -> Bool {
        let now = ContinuousClock.now
        let skew = session.isBorn(at: node) ? 0 : Self.clockSkewSeconds
        return state.withLock { state in
            guard !state.offline.isEmpty else { return false }
            return [Offline.session(session), .user(user)].contains { target in
                guard let order = state.offline[target], order.end > now else { return false }
                return order.time.map { startedAt <= $0.adding(seconds: skew) } ?? true
            }
        }
    }

    var count: Int { state.withLock { $0.places.count } }

    func count(of user: UserID) -> Int { state.withLock { $0.byUser[user]?.count ?? 0 } }

    /// Users with at least one session, anonymous ones included.
    var userCount: Int { state.withLock { $0.byUser.count } }

    /// A user's sessions by the lane that holds them.
    func sessions(of user: UserID) -> [Int: [SessionID]] {
        state.withLock { state in
            var lanes: [Int: [SessionID]] = [:]
            for session in state.byUser[user] ?? [] {
                if let place = state.places[session] { lanes[place.lane, default: []].append(session) }
            }
            return lanes
        }
    }

    /// All sessions. The copy is shared until the directory changes.
    var all: [SessionID: Place] { state.withLock { $0.places } }
}
