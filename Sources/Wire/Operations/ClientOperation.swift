import ChatModel

/// An operation of a client: one case for each operation of PROTOCOL.md, "Operations", with all of its fields.
public enum ClientOperation: Sendable, Hashable {
    /// Authenticates the session; the first operation.
    case connect(ConnectRequest)
    /// A new token.
    case refresh(RefreshRequest)
    /// Is the way open, and what time is it.
    case ping
    /// Into a room.
    case enter(EnterRequest)
    /// Out of a room.
    case exit(RoomRequest)
    /// A message.
    case send(SendRequest)
    /// A transient comment; the only operation that may come without an ID.
    case barrage(BarrageRequest)
    /// Take a message back.
    case recall(RecallRequest)
    /// The copies in a COMBINE.
    case combined(CombinedRequest)
    /// A page of kept messages.
    case history(RoomHistoryRequest)
    /// The room's facts.
    case room(RoomRequest)
    /// Change them.
    case updateRoom(UpdateRoomRequest)
    /// A page of members.
    case members(MembersRequest)
    /// Some members.
    case membersById(MembersByIDRequest)
    /// Change what one shows.
    case updateMe(UpdateMeRequest)
    /// Make or unmake a manager.
    case setManager(UserFlagRequest)
    /// Make or unmake a fixed member.
    case setMember(UserFlagRequest)
    /// Forbid or allow to enter.
    case setBlacklist(BlacklistRequest)
    /// Forbid or allow to speak.
    case setMute(UserFlagRequest)
    /// The same for a time.
    case tempMute(TempMuteRequest)
    /// Put out.
    case kick(KickRequest)
    /// Only creator and managers speak.
    case muteRoom(MuteRoomRequest)
    /// A page of the queue.
    case queue(QueueRequest)
    /// Add or overwrite an element.
    case queueSet(QueueSetRequest)
    /// Overwrite elements.
    case queueSetMany(QueueSetManyRequest)
    /// Remove an element.
    case queueTake(QueueTakeRequest)
    /// Remove all elements.
    case queueClear(QueueClearRequest)
}

extension ClientOperation {
    static let connectNumber = 10
    static let connectName: StaticString = "connect"

    /// Visits the operation's key.
    /// - Returns: how many operation keys were there; one is right.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) -> Int {
        let current = self
        var seen = 0
        try seen +=
            walker.choice(
                Self.connectNumber, Self.connectName, { if case .connect(let it) = current { it } else { nil } },
                { self = .connect($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                11, "refresh", { if case .refresh(let it) = current { it } else { nil } }, { self = .refresh($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                12, "ping", { if case .ping = current { Empty() } else { nil } }, { (_: Empty) in self = .ping })
            ? 1 : 0
        try seen +=
            walker.choice(13, "enter", { if case .enter(let it) = current { it } else { nil } }, { self = .enter($0) })
            ? 1 : 0
        try seen +=
            walker.choice(14, "exit", { if case .exit(let it) = current { it } else { nil } }, { self = .exit($0) })
            ? 1 : 0
        try seen +=
            walker.choice(15, "send", { if case .send(let it) = current { it } else { nil } }, { self = .send($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                16, "barrage", { if case .barrage(let it) = current { it } else { nil } }, { self = .barrage($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                17, "recall", { if case .recall(let it) = current { it } else { nil } }, { self = .recall($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                18, "combined", { if case .combined(let it) = current { it } else { nil } }, { self = .combined($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                19, "history", { if case .history(let it) = current { it } else { nil } }, { self = .history($0) })
            ? 1 : 0
        try seen +=
            walker.choice(20, "room", { if case .room(let it) = current { it } else { nil } }, { self = .room($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                21, "updateRoom", { if case .updateRoom(let it) = current { it } else { nil } },
                { self = .updateRoom($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                22, "members", { if case .members(let it) = current { it } else { nil } }, { self = .members($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                23, "membersById", { if case .membersById(let it) = current { it } else { nil } },
                { self = .membersById($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                24, "updateMe", { if case .updateMe(let it) = current { it } else { nil } }, { self = .updateMe($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                25, "setManager", { if case .setManager(let it) = current { it } else { nil } },
                { self = .setManager($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                26, "setMember", { if case .setMember(let it) = current { it } else { nil } }, { self = .setMember($0) }
            ) ? 1 : 0
        try seen +=
            walker.choice(
                27, "setBlacklist", { if case .setBlacklist(let it) = current { it } else { nil } },
                { self = .setBlacklist($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                28, "setMute", { if case .setMute(let it) = current { it } else { nil } }, { self = .setMute($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                29, "tempMute", { if case .tempMute(let it) = current { it } else { nil } }, { self = .tempMute($0) })
            ? 1 : 0
        try seen +=
            walker.choice(30, "kick", { if case .kick(let it) = current { it } else { nil } }, { self = .kick($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                31, "muteRoom", { if case .muteRoom(let it) = current { it } else { nil } }, { self = .muteRoom($0) })
            ? 1 : 0
        try seen +=
            walker.choice(32, "queue", { if case .queue(let it) = current { it } else { nil } }, { self = .queue($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                33, "queueSet", { if case .queueSet(let it) = current { it } else { nil } }, { self = .queueSet($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                34, "queueSetMany", { if case .queueSetMany(let it) = current { it } else { nil } },
                { self = .queueSetMany($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                35, "queueTake", { if case .queueTake(let it) = current { it } else { nil } }, { self = .queueTake($0) }
            ) ? 1 : 0
        try seen +=
            walker.choice(
                36, "queueClear", { if case .queueClear(let it) = current { it } else { nil } },
                { self = .queueClear($0) }) ? 1 : 0
        return seen
    }

    /// The room that the operation is about; nil for those about the session.
    public var room: RoomID? {
        switch self {
        case .connect, .refresh, .ping: nil
        case .enter(let request): request.room
        case .exit(let request): request.room
        case .send(let request): request.room
        case .barrage(let request): request.room
        case .recall(let request): request.room
        case .combined(let request): request.room
        case .history(let request): request.room
        case .room(let request): request.room
        case .updateRoom(let request): request.room
        case .members(let request): request.room
        case .membersById(let request): request.room
        case .updateMe(let request): request.room
        case .setManager(let request): request.room
        case .setMember(let request): request.room
        case .setBlacklist(let request): request.room
        case .setMute(let request): request.room
        case .tempMute(let request): request.room
        case .kick(let request): request.room
        case .muteRoom(let request): request.room
        case .queue(let request): request.room
        case .queueSet(let request): request.room
        case .queueSetMany(let request): request.room
        case .queueTake(let request): request.room
        case .queueClear(let request): request.room
        }
    }
}
