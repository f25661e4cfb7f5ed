import ChatModel
import Consensus
import RoomCore
import Sharding

/// What a log entry means. Entries hold the number of one of these, so nothing is encoded.
enum Proposal {
    case room(Command)
    case listNode(PlacementNode)
    case removeNode(String)
}

/// The payload of an entry: which proposal, and the leader's stamp.
struct Payload: Hashable {
    var proposal: Int
    var time: Int64

    init(proposal: Int, time: Int64) {
        self.proposal = proposal
        self.time = time
    }

    init?(_ entry: Entry) {
        guard entry.kind == .command, entry.payload.count == 16 else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        proposal = Int(number(entry.payload[..<8]))
        time = Int64(bitPattern: number(entry.payload[8...]))
    }

    var bytes: [UInt8] {
        [UInt64(proposal), UInt64(bitPattern: time)].flatMap { number in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
        }
    }
}

/// The state machine of one replica: a room for a shard, the node list for the system group.
struct GroupState {
    var applied: UInt64 = 0
    /// The last command's stamp.
    var time: Int64 = 0
    private(set) var room: RoomState
    private var store: FakeStore
    private(set) var history: [Message] = []
    /// By name; the system group's.
    private(set) var nodes: [String: PlacementNode] = [:]

    init(group: GroupID) {
        let id = GroupState.room(of: group)
        room = RoomState(absent: id)
        store = FakeStore(room: id)
    }

    static func room(of group: GroupID) -> RoomID {
        guard let room = RoomID("room-\(group.number)") else { preconditionFailure("letters and digits are an ID") }
        return room
    }

    /// As read back from a disk: what a replica has after a crash or from a snapshot.
    func restored() -> GroupState {
        var state = self
        state.room = store.restored()
        return state
    }

    /// - Parameter believesStamps: even those that go back.
    mutating func apply(
        _ entry: Entry, _ proposal: Proposal?, key: CommandKey?, believesStamps: Bool = false
    ) -> [Effect] {
        applied = entry.index
        guard let payload = Payload(entry), let proposal else { return [] }
        time = believesStamps ? payload.time : max(time, payload.time)
        switch proposal {
        case .listNode(let node):
            nodes[node.server.node] = node
            return []
        case .removeNode(let name):
            nodes[name] = nil
            return []
        case .room(let command):
            let before = room.incarnation
            let effects = room.apply(command, key: key, at: Stamp(index: entry.index, time: Timestamp(time)))
            store.perform(effects, incarnation: before ?? room.incarnation)
            for case .append(let message, _) in effects { history.append(message) }
            return effects
        }
    }
}
