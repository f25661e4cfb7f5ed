import ChatModel
import Synchronization

/// Which lane of this node holds which session, so that a client that comes back on another lane finds its session.
///
/// Shared by all lanes; touched when a session begins, moves and ends, never on the delivery path.
final class SessionDirectory: Sendable {
    private let lanes = Mutex<[SessionID: Int]>([:])

    func lane(of session: SessionID) -> Int? { lanes.withLock { $0[session] } }

    func put(_ session: SessionID, on lane: Int) { lanes.withLock { $0[session] = lane } }

    func remove(_ session: SessionID) { lanes.withLock { _ = $0.removeValue(forKey: session) } }

    var count: Int { lanes.withLock { $0.count } }
}
