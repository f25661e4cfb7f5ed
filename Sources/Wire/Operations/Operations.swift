import ChatModel

/// An operation of a client: one case for each operation of PROTOCOL.md, "Operations", with all of its fields.
public indirect enum ClientOperation: Sendable, Hashable {
    /// Authenticates the session; the first operation.
    case connect(ConnectRequest)
    /// A new token.
    case refresh(RefreshRequest)
    /// Is the way open, and what time is it.
    case ping
    /// Into a room.
    case enter(EnterRequest)
    /// Out of a room.
    case exit(RoomNameRequest)
    /// A message.
    case send(SendRequest)
    /// A transient comment, which may come without an ID.
    case barrage(BarrageRequest)
    /// Take a message back.
    case recall(RecallRequest)
    /// Pin a message, or take its pin away.
    case pin(PinRequest)
    /// Change a kept message.
    case amend(AmendRequest)
    /// One kept message.
    case message(MessageRequest)
    /// Taps on a tally, which may come without an ID, too.
    case tally(TapRequest)
    /// Tell moderators of a message.
    case report(ReportRequest)
    /// A page of held messages, or the decision about one.
    case held(HeldRequest)
    /// A place for content.
    case upload(UploadRequest)
    /// Messages that have a text.
    case search(SearchRequest)
    /// A new token for the room's content.
    case mediaToken(RoomNameRequest)
    /// Open a poll, or close one.
    case poll(PollRequest)
    /// Vote in one.
    case vote(VoteRequest)
    /// The copies in a COMBINE.
    case combined(CombinedRequest)
    /// A page of kept messages.
    case history(RoomHistoryRequest)
    /// The room's facts.
    case room(RoomNameRequest)
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
    case queueClear(RoomChangeRequest)
}

extension ClientOperation {
    static let connectNumber = 10
    static let connectName: StaticString = "connect"
    /// Those that may come without an ID, and get no reply then (PROTOCOL.md, "Requests and replies").
    static let unanswered: [(number: Int, name: StaticString)] = [(16, "barrage"), (40, "tally")]

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
        // A writer has written the one that there is, and most are up to here.
        if seen > 0, !W.isDecoding, !W.describesSchema { return seen }
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
        try seen +=
            walker.choice(37, "pin", { if case .pin(let it) = current { it } else { nil } }, { self = .pin($0) })
            ? 1 : 0
        try seen +=
            walker.choice(38, "amend", { if case .amend(let it) = current { it } else { nil } }, { self = .amend($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                39, "message", { if case .message(let it) = current { it } else { nil } }, { self = .message($0) })
            ? 1 : 0
        try seen +=
            walker.choice(40, "tally", { if case .tally(let it) = current { it } else { nil } }, { self = .tally($0) })
            ? 1 : 0
        try seen +=
            walker.choice(41, "poll", { if case .poll(let it) = current { it } else { nil } }, { self = .poll($0) })
            ? 1 : 0
        try seen +=
            walker.choice(42, "vote", { if case .vote(let it) = current { it } else { nil } }, { self = .vote($0) })
            ? 1 : 0
        try seen +=
            walker.choice(43, "held", { if case .held(let it) = current { it } else { nil } }, { self = .held($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                44, "report", { if case .report(let it) = current { it } else { nil } }, { self = .report($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                45, "upload", { if case .upload(let it) = current { it } else { nil } }, { self = .upload($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                46, "mediaToken", { if case .mediaToken(let it) = current { it } else { nil } },
                { self = .mediaToken($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                47, "search", { if case .search(let it) = current { it } else { nil } }, { self = .search($0) })
            ? 1 : 0
        return seen
    }
}

// MARK: - Results

/// The answer to an operation: one case for each operation of PROTOCOL.md, "Operations". Larger ones stand elsewhere, so
/// that the answer to a `send` is small wherever it is copied.
public enum OperationResult: Sendable, Hashable {
    indirect case connect(ConnectResult)
    case refresh(RefreshResult)
    case ping(PingResult)
    indirect case enter(EnterResult)
    case exit
    case send(SendResult)
    case barrage(BarrageResult)
    case recall
    case pin(PinResult)
    case amend(MessageResult)
    case message(MessageResult)
    case tally(TapResult)
    case report
    indirect case held(HeldResult)
    indirect case upload(UploadResult)
    case mediaToken(MediaToken)
    case search(SearchResult)
    indirect case poll(PollResult)
    indirect case vote(PollResult)
    case combined(MessagesResult)
    case history(MessagesResult)
    indirect case room(RoomResult)
    indirect case updateRoom(RoomResult)
    indirect case members(MembersResult)
    indirect case membersById(MembersResult)
    indirect case updateMe(MemberResult)
    indirect case setManager(MemberResult)
    indirect case setMember(MemberResult)
    indirect case setBlacklist(MemberResult)
    indirect case setMute(MemberResult)
    indirect case tempMute(MemberResult)
    case kick
    case muteRoom
    case queue(QueueResult)
    indirect case queueSet(ElementResult)
    case queueSetMany(MissingResult)
    indirect case queueTake(ElementResult)
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
        // A writer has written the one that there is, and most are up to here.
        if seen > 0, !W.isDecoding, !W.describesSchema { return seen }
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
        try seen +=
            walker.choice(37, "pin", { if case .pin(let it) = current { it } else { nil } }, { self = .pin($0) })
            ? 1 : 0
        try seen +=
            walker.choice(38, "amend", { if case .amend(let it) = current { it } else { nil } }, { self = .amend($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                39, "message", { if case .message(let it) = current { it } else { nil } }, { self = .message($0) })
            ? 1 : 0
        try seen +=
            walker.choice(40, "tally", { if case .tally(let it) = current { it } else { nil } }, { self = .tally($0) })
            ? 1 : 0
        try seen +=
            walker.choice(41, "poll", { if case .poll(let it) = current { it } else { nil } }, { self = .poll($0) })
            ? 1 : 0
        try seen +=
            walker.choice(42, "vote", { if case .vote(let it) = current { it } else { nil } }, { self = .vote($0) })
            ? 1 : 0
        try seen +=
            walker.choice(43, "held", { if case .held(let it) = current { it } else { nil } }, { self = .held($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                44, "report", { if case .report = current { Empty() } else { nil } },
                { (_: Empty) in self = .report }) ? 1 : 0
        try seen +=
            walker.choice(
                45, "upload", { if case .upload(let it) = current { it } else { nil } }, { self = .upload($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                46, "mediaToken", { if case .mediaToken(let it) = current { it } else { nil } },
                { self = .mediaToken($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                47, "search", { if case .search(let it) = current { it } else { nil } }, { self = .search($0) })
            ? 1 : 0
        return seen
    }
}

// MARK: - The table of operations

extension ClientOperation {
    /// The operation's row.
    public var row: OperationRow {
        switch self {
        case .connect: OperationRow(.session, .change, .never, isOpenToAnonymous: true)
        case .refresh: OperationRow(.session, .change, .never, isOpenToAnonymous: false)
        case .ping: OperationRow(.session, .read, .harmless, isOpenToAnonymous: true)
        case .enter(let it): OperationRow(.enter, .change, repetition: .never, isOpenToAnonymous: true, body: it)
        // A repeated exit finds nobody, which is as good.
        case .exit(let it): OperationRow(.exit, .change, repetition: .harmless, isOpenToAnonymous: true, body: it)
        case .send(let it): .change(it, it.clientID)
        case .barrage(let it): OperationRow(.barrage, .barrage, repetition: .never, isOpenToAnonymous: false, body: it)
        case .recall(let it): .change(it, it.clientID)
        case .pin(let it): .change(it, it.clientID)
        case .amend(let it): .change(it, it.clientID)
        case .message(let it): .reading(it)
        case .tally(let it): .taps(it, it.delta, it.clientID)
        case .report(let it): .change(it, it.clientID)
        case .held(let it):
            it.heldID == nil ? .question(it, isOpenToAnonymous: false) : .change(it, it.clientID)
        case .upload(let it): .change(it, it.clientID)
        case .mediaToken(let it): .question(it, isOpenToAnonymous: true)
        case .search(let it): OperationRow(.reading, .search, repetition: .harmless, isOpenToAnonymous: false, body: it)
        case .poll(let it): .change(it, it.clientID)
        case .vote(let it): .change(it, it.clientID)
        case .combined(let it): .reading(it)
        case .history(let it): .reading(it)
        case .room(let it): .question(it, isOpenToAnonymous: true)
        case .updateRoom(let it): .change(it, it.clientID)
        case .members(let it): .question(it, isOpenToAnonymous: false)
        case .membersById(let it): .question(it, isOpenToAnonymous: false)
        case .updateMe(let it): .change(it, it.clientID)
        case .setManager(let it), .setMember(let it), .setMute(let it): .change(it, it.clientID)
        case .setBlacklist(let it): .change(it, it.clientID)
        case .tempMute(let it): .change(it, it.clientID)
        case .kick(let it): .change(it, it.clientID)
        case .muteRoom(let it): .change(it, it.clientID)
        case .queue(let it): .question(it, isOpenToAnonymous: true)
        case .queueSet(let it): .change(it, it.clientID)
        case .queueSetMany(let it): .change(it, it.clientID)
        case .queueTake(let it): .change(it, it.clientID)
        case .queueClear(let it): .change(it, it.clientID)
        }
    }

    /// The command that a change becomes, and its result; nil for whatever changes nothing durable.
    public var change: OperationChange? {
        switch self {
        case .connect, .refresh, .ping, .enter, .exit, .barrage, .message, .combined, .history, .room, .members,
            .membersById, .queue, .mediaToken, .search:
            nil
        case .held(let it):
            it.decision.map { OperationChange(.decideHeld(heldID: $0.heldID, $0.1), it.clientID, .decided) }
        case .upload(let it): OperationChange(.registerUpload(it.draft), it.clientID, .upload)
        case .send(let it): OperationChange(.post(it.draft), it.clientID, .sent(asked: it.draft.priority))
        case .recall(let it):
            OperationChange(.recall([], NotifyOptions()), it.clientID, .done(.recall), after: .message(it.messageID))
        case .pin(let it):
            OperationChange(.pin(messageID: it.messageID, enable: it.enable, NotifyOptions()), it.clientID, .pinned)
        case .amend(let it): OperationChange(.amend(messageID: it.messageID, set: it.set), it.clientID, .amended)
        case .poll(let it):
            OperationChange(
                it.close
                    ? .closePoll(id: it.poll, NotifyOptions()) : .openPoll(id: it.poll, it.draft, NotifyOptions()),
                it.clientID, .poll { .poll($0) })
        case .vote(let it):
            OperationChange(.vote(poll: it.poll, option: it.option), it.clientID, .poll { .vote($0) })
        case .report(let it):
            OperationChange(.report(messageID: it.messageID, reason: it.reason), it.clientID, .done(.report))
        case .tally(let it): OperationChange(.tally(key: it.key, .tap(it.delta)), it.clientID, .total)
        case .updateRoom(let it): OperationChange(.updateRoom(set: it.set, it.options), it.clientID, .room)
        case .updateMe(let it):
            OperationChange(.updateMe(it.set, save: it.save, it.options), it.clientID, .member { .updateMe($0) })
        case .setManager(let it):
            OperationChange(
                .setManager(it.user, enable: it.enable, it.options), it.clientID, .member { .setManager($0) })
        case .setMember(let it):
            OperationChange(
                .setMember(it.user, enable: it.enable, it.options), it.clientID, .member { .setMember($0) })
        case .setBlacklist(let it):
            OperationChange(
                .setBlacklist(it.user, enable: it.enable, it.options), it.clientID, .member { .setBlacklist($0) },
                after: it.recall && it.enable ? .messages(of: it.user) : nil)
        case .setMute(let it):
            OperationChange(.setMute(it.user, enable: it.enable, it.options), it.clientID, .member { .setMute($0) })
        case .tempMute(let it):
            OperationChange(
                .tempMute(it.user, seconds: it.seconds, it.options), it.clientID, .member { .tempMute($0) })
        case .kick(let it):
            OperationChange(.kick(it.user, banSeconds: it.banSeconds, it.options), it.clientID, .done(.kick))
        case .muteRoom(let it):
            OperationChange(.muteRoom(enable: it.enable, it.options), it.clientID, .done(.muteRoom))
        case .queueSet(let it):
            OperationChange(.queueSet(it.write, it.options), it.clientID, .element { .queueSet($0) })
        case .queueSetMany(let it): OperationChange(.queueSetMany(it.values, it.options), it.clientID, .missing)
        case .queueTake(let it):
            OperationChange(.queueTake(key: it.key, it.options), it.clientID, .element { .queueTake($0) })
        case .queueClear(let it): OperationChange(.queueClear(it.options), it.clientID, .done(.queueClear))
        }
    }

    /// The room that the operation is about; nil for those about the session.
    public var room: RoomID? { row.room }

    /// Whether it names messages of any room that the session is in.
    public var namesMessages: Bool {
        if case .send(let request) = self, case .combine = request.draft.body { true } else { false }
    }
}
