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

    private struct State {
        var places: [SessionID: Place] = [:]
        var byUser: [UserID: [SessionID]] = [:]
    }

    private let state = Mutex(State())

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

    var count: Int { state.withLock { $0.places.count } }
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
