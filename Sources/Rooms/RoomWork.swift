import ChatModel
import RoomCore
import RoomProtocol

/// Work of a shard's host for one room, while it waits: for the room, for committed entries to be applied, or for a
/// majority's word that this node may answer.
enum RoomWork {
    case request(RoomRequest)
    /// Is given the room, at once or when it is loaded; nil when it can't be had.
    case visit(RoomID, (RoomActor?) -> Void)

    var room: RoomID {
        switch self {
        case .request(let request): request.room
        case .visit(let room, _): room
        }
    }

    private var request: RoomRequest? { if case .request(let request) = self { request } else { nil } }

    /// The session that asks; nil for the server API.
    var key: PresenceKey? { request?.session.map { PresenceKey($0.address) } }

    /// Whether it may wait where so many wait already.
    func mayWait(behind count: Int, max: Int) -> Bool { count < max || isPresence }

    /// That somebody has gone, or is back: taken in any number, because nobody would say it again.
    var isPresence: Bool {
        switch request?.body {
        case .leave, .away, .moved, .announce, .follow: true
        case .operation, .server, .barrages, .taps, nil: false
        }
    }

    /// That somebody is here, whom the room may not know.
    var isArrival: Bool {
        switch request?.body {
        case .announce, .moved: true
        default: false
        }
    }
}

extension PresenceKey {
    init(_ address: SessionAddress) { self.init(node: address.node, session: address.session) }
}
