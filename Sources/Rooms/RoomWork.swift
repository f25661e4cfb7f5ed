import ChatModel
import RoomCore
import RoomLink

/// Work of a shard's host for one room, while it waits: for the room, for committed entries to be applied, or for a
/// majority's word that this node may answer.
enum RoomWork {
    case call(RoomCall)
    case server(ServerCall)
    /// Is given the room, at once or when it is loaded; nil when it can't be had.
    case visit(RoomID, (RoomActor?) -> Void)

    var room: RoomID {
        switch self {
        case .call(let call): call.room
        case .server(let call): call.room
        case .visit(let room, _): room
        }
    }

    /// Whose it is; nil for what no session asks.
    var key: PresenceKey? {
        guard case .call(let call) = self else { return nil }
        return PresenceKey(node: call.address.node, session: call.address.session)
    }

    /// Whether it may wait where so many wait already.
    func mayWait(behind count: Int, max: Int) -> Bool { count < max || isPresence }

    /// That somebody has gone, or is back: taken in any number, because nobody would say it again.
    var isPresence: Bool {
        guard case .call(let call) = self else { return false }
        return switch call.body {
        case .operation, .barrages: false
        case .leave, .away, .moved, .announce, .follow: true
        }
    }

    /// That somebody is here, whom the room may not know.
    var isArrival: Bool {
        guard case .call(let call) = self else { return false }
        return switch call.body {
        case .announce, .moved: true
        default: false
        }
    }
}
