import ChatModel
import Wire

/// Which rate an operation counts against (contract, "Rates").
enum OperationKind {
    case read, change
    /// Never refused for rate: a gateway reads only so much of one connection at a time.
    case barrage
}

extension ClientOperation {
    /// Anonymous members receive and read, and do nothing that others would notice (contract, "Mutes").
    var isOpenToAnonymous: Bool {
        switch self {
        case .connect, .ping, .enter, .exit, .combined, .history, .room, .queue: true
        case .refresh, .send, .barrage, .recall, .updateRoom, .members, .membersById, .updateMe, .setManager,
            .setMember, .setBlacklist, .setMute, .tempMute, .kick, .muteRoom, .queueSet, .queueSetMany, .queueTake,
            .queueClear:
            false
        }
    }

    var kind: OperationKind {
        switch self {
        case .barrage: .barrage
        case .ping, .combined, .history, .room, .members, .membersById, .queue: .read
        case .connect, .refresh, .enter, .exit, .send, .recall, .updateRoom, .updateMe, .setManager, .setMember,
            .setBlacklist, .setMute, .tempMute, .kick, .muteRoom, .queueSet, .queueSetMany, .queueTake, .queueClear:
            .change
        }
    }

    /// Whether it names messages of any room that the session is in.
    var namesMessages: Bool {
        if case .send(let request) = self, case .combine = request.draft.body { true } else { false }
    }
}
