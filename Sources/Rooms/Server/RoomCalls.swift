import ChatModel
import EventLoop
import RoomProtocol
import ShardPlacement
import Wire

/// Calls of the server API to rooms, wherever these are led. While a room has no leader, a call waits for one, for at
/// most two seconds, and for a leader's answer for at most half a minute (`OpenRequests`); then it ends with 503. A
/// durable command has an ID, so it is done once, however often it has to be asked. Barrage has none: where it may have
/// been shown, it is not sent again, and the call ends with 503, too.
public final class RoomCalls: Sendable {
    private let shardMap: ShardMap
    private let lanes: [LoopBound<ServerLane>]

    public init(node: NodeID, loops: [EventLoop], shardMap: ShardMap, router: any RoomRouter) async {
        self.shardMap = shardMap
        var lanes: [LoopBound<ServerLane>] = []
        for (number, loop) in loops.enumerated() {
            lanes.append(
                await loop.run {
                    let lane = ServerLane(node: node, number: number, loop: loop, shardMap: shardMap, router: router)
                    lane.start()
                    return LoopBound(onLoop: lane, loop: loop)
                })
        }
        self.lanes = lanes
    }

    /// Ends what waits, with 503.
    public func stop() async {
        for lane in lanes { await lane.loop.run { lane.value.stop() } }
    }

    // MARK: - What the node hears

    /// Answers to calls that wait here: only the loops on which these wait hear of them.
    public func hear(_ answers: [ServerAnswer], from node: NodeID) {
        // A node that names a loop that is not here is not heard.
        for number in Set(answers.map(\.lane)) where lanes.indices.contains(number) {
            on(lanes[number]) { $0.hear(answers, from: node) }
        }
    }

    /// A node leads a shard from now on, as it says itself.
    public func onLeaderKnown(_ notice: ShardNotice, by node: NodeID) {
        onEachLane { $0.onLeaderKnown(notice, by: node) }
    }

    /// The same, said once more.
    public func hear(_ pulses: [ShardPulse], from node: NodeID) {
        let notices = pulses.map { ShardNotice(shard: $0.shard, term: $0.term) }
        onEachLane { lane in for notice in notices { lane.onLeaderKnownStill(notice, by: node) } }
    }

    /// Nothing is heard of a shard's leader, but the connection to it has not ended: it is asked nothing.
    public func onLeaderSuspected(_ notice: ShardNotice, of node: NodeID) {
        onEachLane { $0.onLeaderSuspected(notice, of: node) }
    }

    /// A leader that was suspected is heard again, in the same term.
    public func onLeaderConfirmed(_ notice: ShardNotice, of node: NodeID) {
        onEachLane { $0.onLeaderConfirmed(notice, of: node) }
    }

    /// A node leads a shard (nil: any) no more, or can't be reached.
    public func onLeaderLost(_ node: NodeID, _ shard: ShardID? = nil) { onEachLane { $0.onLeaderLost(node, shard) } }

    private func onEachLane(_ body: @escaping @Sendable (ServerLane) -> Void) {
        for lane in lanes { on(lane, body) }
    }

    private func on(_ lane: LoopBound<ServerLane>, _ body: @escaping @Sendable (ServerLane) -> Void) {
        if lane.loop.isOnLoop { body(lane.value) } else { lane.loop.execute { body(lane.value) } }
    }

    // MARK: - Asking

    /// On the loop on which this node has the room, if it has it.
    private func ask(_ room: RoomID, _ body: RoomRequest.Body) async throws(ChatError) -> RoomAnswer {
        let lane = lanes[Int(shardMap.shard(of: room).number) % lanes.count]
        let result = await withCheckedContinuation { continuation in
            lane.loop.execute { lane.value.ask(room, body) { continuation.resume(returning: $0) } }
        }
        return try result.get()
    }

    private func ask<Value>(_ room: RoomID, _ body: RoomRequest.Body, _ value: (RoomAnswer) -> Value?)
        async throws(ChatError) -> Value
    {
        guard let value = value(try await ask(room, body)) else {
            throw ChatError(.internal, "the answer is to another question")
        }
        return value
    }

    private func ask<Value>(_ room: RoomID, _ operation: ClientOperation, _ value: (OperationResult) -> Value?)
        async throws(ChatError) -> Value
    {
        try await ask(room, .operation(operation)) { answer in
            if case .result(let result) = answer { value(result) } else { nil }
        }
    }

    // MARK: - Changing

    /// Runs a durable command and returns its result, which is never `.refused`.
    /// - Parameters:
    ///   - profile: what the actor is to show; where it is empty, the stay's or the saved one is shown.
    ///   - moderate: whether words and hook are asked, as they are about what a member sends.
    public func perform(
        _ body: CommandBody, in room: RoomID, as actor: Actor, showing profile: Profile? = nil, moderate: Bool = false,
        id: CommandID?
    ) async throws(ChatError) -> CommandResult {
        let command = ServerCommand(
            body, actor: actor, id: id ?? Self.freshID(), profile: profile, moderate: moderate)
        return try await ask(room, .server(.command(command))) { answer in
            if case .command(let result) = answer { result } else { nil }
        }
    }

    /// Takes one kept message back (323); one that is recalled already is left as it is. A repeat of `id` gets the
    /// first answer. Throws 404 when there is no such message, 403 for a notification, 13002 for a closed room.
    public func recall(
        _ messageID: String, in room: RoomID, as actor: Actor, id: CommandID?, options: NotifyOptions = NotifyOptions()
    ) async throws(ChatError) {
        var recall = ServerRecall(actor: actor, id: id ?? Self.freshID(), options: options)
        recall.messageID = messageID
        _ = try await ask(room, .server(.recall(recall)))
    }

    /// Takes back all kept messages of a user, those at or after `since` if given: in one 323, or, beyond 1,000
    /// messages, in several of at most 1,000 each, the newest messages first. When this returns, all are recalled.
    /// With nothing to recall nobody is told. Throws like `recall`.
    public func recallAll(
        of user: UserID, since: Timestamp?, in room: RoomID, as actor: Actor, id: CommandID?,
        options: NotifyOptions = NotifyOptions()
    ) async throws(ChatError) {
        var recall = ServerRecall(actor: actor, id: id ?? Self.freshID(), options: options)
        (recall.user, recall.since) = (user, since)
        _ = try await ask(room, .server(.recall(recall)))
    }

    public func barrage(_ item: BarrageItem, in room: RoomID) async throws(ChatError) {
        _ = try await ask(room, .server(.barrage(item)))
    }

    /// The scope is a name outside the user alphabet, so that no user's clientId can collide with it.
    private static func freshID() -> CommandID {
        CommandID(scope: "/node", text: "\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))")
    }

    // MARK: - Reading

    public func view(of room: RoomID) async throws(ChatError) -> RoomView {
        try await ask(room, .room(RoomNameRequest(room: room))) { result in
            if case .room(let result) = result { result.room } else { nil }
        }
    }

    public func history(of room: RoomID, _ request: HistoryRequest) async throws(ChatError) -> HistoryPage {
        try await ask(room, .history(RoomHistoryRequest(room: room, query: request))) { result in
            guard case .history(let page) = result else { return nil }
            return HistoryPage(messages: page.messages, more: page.more ?? false)
        }
    }

    public func search(_ request: SearchRequest) async throws(ChatError) -> SearchResult {
        try await ask(request.room, .search(request)) { result in
            if case .search(let page) = result { page } else { nil }
        }
    }

    public func message(_ messageID: String, in room: RoomID) async throws(ChatError) -> Message {
        try await ask(room, .server(.message(messageID))) { answer in
            if case .message(let message) = answer { message } else { nil }
        }
    }

    /// A piece of content, and whether a session may read it. Throws 404.
    public func media(_ mediaID: String, in room: RoomID, for reader: MediaReader?) async throws(ChatError)
        -> MediaStatus
    {
        try await ask(room, .server(.media(mediaID, for: reader))) { answer in
            if case .media(let status) = answer { status } else { nil }
        }
    }

    /// The digests of those of the pieces of content that must be kept, by ID; empty while one has not been sent.
    public func keptMedia(_ ids: [String], in room: RoomID) async throws(ChatError) -> [String: String] {
        try await ask(room, .server(.keptMedia(ids))) { answer in
            if case .keptMedia(let kept) = answer { kept } else { nil }
        }
    }

    public func members(of room: RoomID, kind: MemberKind, after: String?, limit: Int) async throws(ChatError)
        -> Page<Member, String>
    {
        let request = MembersRequest(room: room, kind: kind, after: after, limit: Int64(limit))
        return try await ask(room, .members(request)) { result in
            if case .members(let page) = result { Page(items: page.members, next: page.next) } else { nil }
        }
    }

    /// Throws 404 for a user who is no member.
    public func member(_ user: UserID, of room: RoomID) async throws(ChatError) -> Member {
        let found = try await ask(room, .membersById(MembersByIDRequest(room: room, users: [user]))) { result in
            if case .membersById(let page) = result { page.members } else { nil }
        }
        guard let member = found.first else { throw ChatError(.notFound, "\(user) is not a member of \(room)") }
        return member
    }

    public func queue(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> QueueResult {
        try await ask(room, .queue(QueueRequest(room: room, after: after, limit: Int64(limit)))) { result in
            if case .queue(let queue) = result { queue } else { nil }
        }
    }

    /// A page of the messages that wait for a manager.
    public func held(in room: RoomID, after: String?, limit: Int) async throws(ChatError) -> HeldResult {
        try await ask(room, .held(HeldRequest(room: room, after: after, limit: Int64(limit)))) { result in
            if case .held(let page) = result { page } else { nil }
        }
    }

    public func tallies(of room: RoomID) async throws(ChatError) -> [Tally] {
        try await ask(room, .server(.tallies)) { answer in
            if case .tallies(let tallies) = answer { tallies } else { nil }
        }
    }

    public func polls(of room: RoomID) async throws(ChatError) -> [Poll] {
        try await ask(room, .server(.polls)) { answer in
            if case .polls(let polls) = answer { polls } else { nil }
        }
    }

    /// A page of the reports of messages, the oldest first.
    public func reports(of room: RoomID, after: String?, limit: Int) async throws(ChatError) -> ReportsResult {
        try await ask(room, .server(.reports(after: after, limit: limit))) { answer in
            if case .reports(let page) = answer { page } else { nil }
        }
    }

    /// The numbers of why a room is slow or silent, as its leader knows them; nil while nobody leads it. Throws 404.
    public func figures(of room: RoomID) async throws(ChatError) -> StateFigures? {
        do throws(ChatError) {
            return try await ask(room, .server(.explain)) { answer in
                if case .explain(let figures) = answer { figures } else { nil }
            }
        } catch {
            // Why there is no answer is what the log's figures tell.
            guard error.code == .unavailable else { throw error }
            return nil
        }
    }

    /// The messages that a COMBINE names, from the rooms that its sender (nil: the app server) is in.
    func copies(_ messageIDs: [String], for user: UserID?, from rooms: [RoomID]) async -> MessageCopies {
        await MessageCopies.collect(messageIDs, from: rooms) { room throws(ChatError) in
            try await ask(room, .server(.copies(messageIDs, for: user))) { answer in
                if case .copies(let copies) = answer { copies } else { nil }
            }
        }
    }
}
