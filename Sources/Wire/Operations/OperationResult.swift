import ChatModel

/// The answer to an operation: one case for each operation of PROTOCOL.md, "Operations".
public enum OperationResult: Sendable, Hashable {
    case connect(ConnectResult)
    case refresh(RefreshResult)
    case ping(PingResult)
    case enter(EnterResult)
    case exit
    case send(SendResult)
    case barrage(BarrageResult)
    case recall
    case combined(MessagesResult)
    case history(MessagesResult)
    case room(RoomResult)
    case updateRoom(RoomResult)
    case members(MembersResult)
    case membersById(MembersResult)
    case updateMe(MemberResult)
    case setManager(MemberResult)
    case setMember(MemberResult)
    case setBlacklist(MemberResult)
    case setMute(MemberResult)
    case tempMute(MemberResult)
    case kick
    case muteRoom
    case queue(QueueResult)
    case queueSet(ElementResult)
    case queueSetMany(MissingResult)
    case queueTake(ElementResult)
    case queueClear
}

extension OperationResult {
    static let enterNumber = 13

    /// Visits the result's key, which is the operation's.
    /// - Returns: how many result keys were there.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) -> Int {
        let current = self
        var seen = 0
        try seen +=
            walker.choice(
                10, "connect", { if case .connect(let it) = current { it } else { nil } }, { self = .connect($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                11, "refresh", { if case .refresh(let it) = current { it } else { nil } }, { self = .refresh($0) })
            ? 1 : 0
        try seen +=
            walker.choice(12, "ping", { if case .ping(let it) = current { it } else { nil } }, { self = .ping($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                Self.enterNumber, "enter", { if case .enter(let it) = current { it } else { nil } },
                { self = .enter($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                14, "exit", { if case .exit = current { Empty() } else { nil } }, { (_: Empty) in self = .exit })
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
                17, "recall", { if case .recall = current { Empty() } else { nil } }, { (_: Empty) in self = .recall })
            ? 1 : 0
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
            walker.choice(
                30, "kick", { if case .kick = current { Empty() } else { nil } }, { (_: Empty) in self = .kick })
            ? 1 : 0
        try seen +=
            walker.choice(
                31, "muteRoom", { if case .muteRoom = current { Empty() } else { nil } },
                { (_: Empty) in self = .muteRoom }) ? 1 : 0
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
                36, "queueClear", { if case .queueClear = current { Empty() } else { nil } },
                { (_: Empty) in self = .queueClear }) ? 1 : 0
        return seen
    }
}
