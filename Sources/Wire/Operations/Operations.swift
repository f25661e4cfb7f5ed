import ChatModel

/// All operations of clients, with the number and the name of each on the wire, in requests and in replies: they are never
/// changed or used again. A request of an operation, its result and the command that it becomes stand below.
extension OperationDeclaration {
    static let connect = OperationDeclaration(10, "connect", .session, .change, .never, .everybody)
    static let refresh = OperationDeclaration(11, "refresh", .session, .change, .never, .members)
    static let ping = OperationDeclaration(12, "ping", .session, .read, .harmless, .everybody)
    static let enter = OperationDeclaration(13, "enter", .enter, .change, .never, .everybody)
    static let exit = OperationDeclaration(14, "exit", .exit, .change, .harmless, .everybody)
    static let send = OperationDeclaration(15, "send", .change, .change, .underItsID, .members)
    static let barrage = OperationDeclaration(16, "barrage", .barrage, .barrage, .never, .members)
    static let recall = OperationDeclaration(17, "recall", .change, .change, .underItsID, .members)
    static let combined = OperationDeclaration(18, "combined", .reading, .read, .harmless, .everybody)
    static let history = OperationDeclaration(19, "history", .reading, .read, .harmless, .everybody)
    static let room = OperationDeclaration(20, "room", .question, .read, .harmless, .everybody)
    static let updateRoom = OperationDeclaration(21, "updateRoom", .change, .change, .underItsID, .members)
    static let members = OperationDeclaration(22, "members", .question, .read, .harmless, .members)
    static let membersById = OperationDeclaration(23, "membersById", .question, .read, .harmless, .members)
    static let updateMe = OperationDeclaration(24, "updateMe", .change, .change, .underItsID, .members)
    static let setManager = OperationDeclaration(25, "setManager", .change, .change, .underItsID, .members)
    static let setMember = OperationDeclaration(26, "setMember", .change, .change, .underItsID, .members)
    static let setBlacklist = OperationDeclaration(27, "setBlacklist", .change, .change, .underItsID, .members)
    static let setMute = OperationDeclaration(28, "setMute", .change, .change, .underItsID, .members)
    static let tempMute = OperationDeclaration(29, "tempMute", .change, .change, .underItsID, .members)
    static let kick = OperationDeclaration(30, "kick", .change, .change, .underItsID, .members)
    static let muteRoom = OperationDeclaration(31, "muteRoom", .change, .change, .underItsID, .members)
    static let queue = OperationDeclaration(32, "queue", .question, .read, .harmless, .everybody)
    static let queueSet = OperationDeclaration(33, "queueSet", .change, .change, .underItsID, .members)
    static let queueSetMany = OperationDeclaration(34, "queueSetMany", .change, .change, .underItsID, .members)
    static let queueTake = OperationDeclaration(35, "queueTake", .change, .change, .underItsID, .members)
    static let queueClear = OperationDeclaration(36, "queueClear", .change, .change, .underItsID, .members)
    static let pin = OperationDeclaration(37, "pin", .change, .change, .underItsID, .members)
    static let amend = OperationDeclaration(38, "amend", .change, .change, .underItsID, .members)
    static let message = OperationDeclaration(39, "message", .reading, .read, .harmless, .everybody)
    static let tally = OperationDeclaration(40, "tally", .taps, .taps, .underItsID, .members)
    static let poll = OperationDeclaration(41, "poll", .change, .change, .underItsID, .members)
    static let vote = OperationDeclaration(42, "vote", .change, .change, .underItsID, .members)
    static let held = OperationDeclaration(43, "held", .change, .change, .underItsID, .members)
    static let report = OperationDeclaration(44, "report", .change, .change, .underItsID, .members)
    static let upload = OperationDeclaration(45, "upload", .change, .change, .underItsID, .members)
    static let mediaToken = OperationDeclaration(46, "mediaToken", .question, .read, .harmless, .everybody)
    static let search = OperationDeclaration(47, "search", .reading, .search, .harmless, .members)

    /// Those that may come without an ID, and get no reply then (PROTOCOL.md, "Requests and replies").
    static let unanswered: [OperationDeclaration] = [.barrage, .tally]
}

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
    /// Visits the operation's key.
    /// - Returns: how many operation keys were there; one is right.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) -> Int {
        let current = self
        var seen = 0
        try seen += walker.choice(
            .connect, { if case .connect(let it) = current { it } else { nil } }, { self = .connect($0) })
        try seen += walker.choice(
            .refresh, { if case .refresh(let it) = current { it } else { nil } }, { self = .refresh($0) })
        try seen += walker.choice(
            .ping, { if case .ping = current { Empty() } else { nil } }, { (_: Empty) in self = .ping })
        try seen += walker.choice(
            .enter, { if case .enter(let it) = current { it } else { nil } }, { self = .enter($0) })
        try seen += walker.choice(.exit, { if case .exit(let it) = current { it } else { nil } }, { self = .exit($0) })
        try seen += walker.choice(.send, { if case .send(let it) = current { it } else { nil } }, { self = .send($0) })
        // A writer has written the one that there is, a reader may have nothing else, and most are up to here.
        if seen > 0, !W.describesSchema, !W.isDecoding || !walker.mayHaveMore { return seen }
        try seen += walker.choice(
            .barrage, { if case .barrage(let it) = current { it } else { nil } }, { self = .barrage($0) })
        try seen += walker.choice(
            .recall, { if case .recall(let it) = current { it } else { nil } }, { self = .recall($0) })
        try seen += walker.choice(
            .combined, { if case .combined(let it) = current { it } else { nil } }, { self = .combined($0) })
        try seen += walker.choice(
            .history, { if case .history(let it) = current { it } else { nil } }, { self = .history($0) })
        try seen += walker.choice(.room, { if case .room(let it) = current { it } else { nil } }, { self = .room($0) })
        try seen += walker.choice(
            .updateRoom, { if case .updateRoom(let it) = current { it } else { nil } }, { self = .updateRoom($0) })
        try seen += walker.choice(
            .members, { if case .members(let it) = current { it } else { nil } }, { self = .members($0) })
        try seen += walker.choice(
            .membersById, { if case .membersById(let it) = current { it } else { nil } }, { self = .membersById($0) })
        try seen += walker.choice(
            .updateMe, { if case .updateMe(let it) = current { it } else { nil } }, { self = .updateMe($0) })
        try seen += walker.choice(
            .setManager, { if case .setManager(let it) = current { it } else { nil } }, { self = .setManager($0) })
        try seen += walker.choice(
            .setMember, { if case .setMember(let it) = current { it } else { nil } }, { self = .setMember($0) })
        try seen += walker.choice(
            .setBlacklist, { if case .setBlacklist(let it) = current { it } else { nil } }, { self = .setBlacklist($0) }
        )
        try seen += walker.choice(
            .setMute, { if case .setMute(let it) = current { it } else { nil } }, { self = .setMute($0) })
        try seen += walker.choice(
            .tempMute, { if case .tempMute(let it) = current { it } else { nil } }, { self = .tempMute($0) })
        try seen += walker.choice(.kick, { if case .kick(let it) = current { it } else { nil } }, { self = .kick($0) })
        try seen += walker.choice(
            .muteRoom, { if case .muteRoom(let it) = current { it } else { nil } }, { self = .muteRoom($0) })
        try seen += walker.choice(
            .queue, { if case .queue(let it) = current { it } else { nil } }, { self = .queue($0) })
        try seen += walker.choice(
            .queueSet, { if case .queueSet(let it) = current { it } else { nil } }, { self = .queueSet($0) })
        try seen += walker.choice(
            .queueSetMany, { if case .queueSetMany(let it) = current { it } else { nil } }, { self = .queueSetMany($0) }
        )
        try seen += walker.choice(
            .queueTake, { if case .queueTake(let it) = current { it } else { nil } }, { self = .queueTake($0) })
        try seen += walker.choice(
            .queueClear, { if case .queueClear(let it) = current { it } else { nil } }, { self = .queueClear($0) })
        try seen += walker.choice(.pin, { if case .pin(let it) = current { it } else { nil } }, { self = .pin($0) })
        try seen += walker.choice(
            .amend, { if case .amend(let it) = current { it } else { nil } }, { self = .amend($0) })
        try seen += walker.choice(
            .message, { if case .message(let it) = current { it } else { nil } }, { self = .message($0) })
        try seen += walker.choice(
            .tally, { if case .tally(let it) = current { it } else { nil } }, { self = .tally($0) })
        try seen += walker.choice(.poll, { if case .poll(let it) = current { it } else { nil } }, { self = .poll($0) })
        try seen += walker.choice(.vote, { if case .vote(let it) = current { it } else { nil } }, { self = .vote($0) })
        try seen += walker.choice(.held, { if case .held(let it) = current { it } else { nil } }, { self = .held($0) })
        try seen += walker.choice(
            .report, { if case .report(let it) = current { it } else { nil } }, { self = .report($0) })
        try seen += walker.choice(
            .upload, { if case .upload(let it) = current { it } else { nil } }, { self = .upload($0) })
        try seen += walker.choice(
            .mediaToken, { if case .mediaToken(let it) = current { it } else { nil } }, { self = .mediaToken($0) })
        try seen += walker.choice(
            .search, { if case .search(let it) = current { it } else { nil } }, { self = .search($0) })
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
    /// Visits the result's key, which is the operation's.
    /// - Returns: how many result keys were there.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) -> Int {
        let current = self
        var seen = 0
        try seen += walker.choice(
            .connect, { if case .connect(let it) = current { it } else { nil } }, { self = .connect($0) })
        try seen += walker.choice(
            .refresh, { if case .refresh(let it) = current { it } else { nil } }, { self = .refresh($0) })
        try seen += walker.choice(.ping, { if case .ping(let it) = current { it } else { nil } }, { self = .ping($0) })
        try seen += walker.choice(
            .enter, { if case .enter(let it) = current { it } else { nil } }, { self = .enter($0) })
        try seen += walker.choice(
            .exit, { if case .exit = current { Empty() } else { nil } }, { (_: Empty) in self = .exit })
        try seen += walker.choice(.send, { if case .send(let it) = current { it } else { nil } }, { self = .send($0) })
        // A writer has written the one that there is, a reader may have nothing else, and most are up to here.
        if seen > 0, !W.describesSchema, !W.isDecoding || !walker.mayHaveMore { return seen }
        try seen += walker.choice(
            .barrage, { if case .barrage(let it) = current { it } else { nil } }, { self = .barrage($0) })
        try seen += walker.choice(
            .recall, { if case .recall = current { Empty() } else { nil } }, { (_: Empty) in self = .recall })
        try seen += walker.choice(
            .combined, { if case .combined(let it) = current { it } else { nil } }, { self = .combined($0) })
        try seen += walker.choice(
            .history, { if case .history(let it) = current { it } else { nil } }, { self = .history($0) })
        try seen += walker.choice(.room, { if case .room(let it) = current { it } else { nil } }, { self = .room($0) })
        try seen += walker.choice(
            .updateRoom, { if case .updateRoom(let it) = current { it } else { nil } }, { self = .updateRoom($0) })
        try seen += walker.choice(
            .members, { if case .members(let it) = current { it } else { nil } }, { self = .members($0) })
        try seen += walker.choice(
            .membersById, { if case .membersById(let it) = current { it } else { nil } }, { self = .membersById($0) })
        try seen += walker.choice(
            .updateMe, { if case .updateMe(let it) = current { it } else { nil } }, { self = .updateMe($0) })
        try seen += walker.choice(
            .setManager, { if case .setManager(let it) = current { it } else { nil } }, { self = .setManager($0) })
        try seen += walker.choice(
            .setMember, { if case .setMember(let it) = current { it } else { nil } }, { self = .setMember($0) })
        try seen += walker.choice(
            .setBlacklist, { if case .setBlacklist(let it) = current { it } else { nil } }, { self = .setBlacklist($0) }
        )
        try seen += walker.choice(
            .setMute, { if case .setMute(let it) = current { it } else { nil } }, { self = .setMute($0) })
        try seen += walker.choice(
            .tempMute, { if case .tempMute(let it) = current { it } else { nil } }, { self = .tempMute($0) })
        try seen += walker.choice(
            .kick, { if case .kick = current { Empty() } else { nil } }, { (_: Empty) in self = .kick })
        try seen += walker.choice(
            .muteRoom, { if case .muteRoom = current { Empty() } else { nil } }, { (_: Empty) in self = .muteRoom })
        try seen += walker.choice(
            .queue, { if case .queue(let it) = current { it } else { nil } }, { self = .queue($0) })
        try seen += walker.choice(
            .queueSet, { if case .queueSet(let it) = current { it } else { nil } }, { self = .queueSet($0) })
        try seen += walker.choice(
            .queueSetMany, { if case .queueSetMany(let it) = current { it } else { nil } }, { self = .queueSetMany($0) }
        )
        try seen += walker.choice(
            .queueTake, { if case .queueTake(let it) = current { it } else { nil } }, { self = .queueTake($0) })
        try seen += walker.choice(
            .queueClear, { if case .queueClear = current { Empty() } else { nil } },
            { (_: Empty) in self = .queueClear })
        try seen += walker.choice(.pin, { if case .pin(let it) = current { it } else { nil } }, { self = .pin($0) })
        try seen += walker.choice(
            .amend, { if case .amend(let it) = current { it } else { nil } }, { self = .amend($0) })
        try seen += walker.choice(
            .message, { if case .message(let it) = current { it } else { nil } }, { self = .message($0) })
        try seen += walker.choice(
            .tally, { if case .tally(let it) = current { it } else { nil } }, { self = .tally($0) })
        try seen += walker.choice(.poll, { if case .poll(let it) = current { it } else { nil } }, { self = .poll($0) })
        try seen += walker.choice(.vote, { if case .vote(let it) = current { it } else { nil } }, { self = .vote($0) })
        try seen += walker.choice(.held, { if case .held(let it) = current { it } else { nil } }, { self = .held($0) })
        try seen += walker.choice(
            .report, { if case .report = current { Empty() } else { nil } }, { (_: Empty) in self = .report })
        try seen += walker.choice(
            .upload, { if case .upload(let it) = current { it } else { nil } }, { self = .upload($0) })
        try seen += walker.choice(
            .mediaToken, { if case .mediaToken(let it) = current { it } else { nil } }, { self = .mediaToken($0) })
        try seen += walker.choice(
            .search, { if case .search(let it) = current { it } else { nil } }, { self = .search($0) })
        return seen
    }
}

// MARK: - What becomes of an operation

extension ClientOperation {
    /// The operation's row.
    public var row: OperationRow {
        switch self {
        case .connect: OperationRow(.connect)
        case .refresh: OperationRow(.refresh)
        case .ping: OperationRow(.ping)
        case .enter(let it): OperationRow(.enter, it)
        case .exit(let it): OperationRow(.exit, it)
        case .send(let it): OperationRow(.send, it)
        case .barrage(let it): OperationRow(.barrage, it)
        case .recall(let it): OperationRow(.recall, it)
        case .combined(let it): OperationRow(.combined, it)
        case .history(let it): OperationRow(.history, it)
        case .room(let it): OperationRow(.room, it)
        case .updateRoom(let it): OperationRow(.updateRoom, it)
        case .members(let it): OperationRow(.members, it)
        case .membersById(let it): OperationRow(.membersById, it)
        case .updateMe(let it): OperationRow(.updateMe, it)
        case .setManager(let it): OperationRow(.setManager, it)
        case .setMember(let it): OperationRow(.setMember, it)
        case .setBlacklist(let it): OperationRow(.setBlacklist, it)
        case .setMute(let it): OperationRow(.setMute, it)
        case .tempMute(let it): OperationRow(.tempMute, it)
        case .kick(let it): OperationRow(.kick, it)
        case .muteRoom(let it): OperationRow(.muteRoom, it)
        case .queue(let it): OperationRow(.queue, it)
        case .queueSet(let it): OperationRow(.queueSet, it)
        case .queueSetMany(let it): OperationRow(.queueSetMany, it)
        case .queueTake(let it): OperationRow(.queueTake, it)
        case .queueClear(let it): OperationRow(.queueClear, it)
        case .pin(let it): OperationRow(.pin, it)
        case .amend(let it): OperationRow(.amend, it)
        case .message(let it): OperationRow(.message, it)
        case .tally(let it): OperationRow(.tally, it, taps: it.delta)
        case .poll(let it): OperationRow(.poll, it)
        case .vote(let it): OperationRow(.vote, it)
        // Without the ID of a message it is a question.
        case .held(let it): it.heldID == nil ? OperationRow(.held.question, it) : OperationRow(.held, it)
        case .report(let it): OperationRow(.report, it)
        case .upload(let it): OperationRow(.upload, it)
        case .mediaToken(let it): OperationRow(.mediaToken, it)
        case .search(let it): OperationRow(.search, it)
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
    public var room: RoomID? {
        // Most are this one, and need no row for it.
        if case .send(let it) = self { it.room } else { row.room }
    }

    /// Whether it names messages of any room that the session is in.
    public var namesMessages: Bool {
        if case .send(let request) = self, case .combine = request.draft.body { true } else { false }
    }
}
