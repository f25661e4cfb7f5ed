import ChatModel
import Wire

/// Calls of one lane to rooms that have no answer yet, with the leader of each shard as the lane knows it: so that a
/// call is asked again, under the same number, where the leader is now, when the former one has died or did not take
/// it.
///
/// Calls of a session leave in the order in which they were made, also when they are asked again. A call that no leader
/// could be found for is given back after `heldMilliseconds`, and at the latest when it is `leaderlessMilliseconds`
/// old. Pure: times are passed in.
public struct OpenRequests: Sendable {
    /// How long a call waits while its shard has no leader (ARCHITECTURE.md, "Failover").
    public static let heldMilliseconds: UInt64 = 2_000
    /// How old a call may get while its shard has no leader, however late that was known.
    public static let leaderlessMilliseconds: UInt64 = 3_000
    /// How long a leader may take to answer, before nobody waits any more.
    public static let answerMilliseconds: UInt64 = 30_000
    /// A call that its leader has not answered for so long is asked again, once: within five seconds after a pause of
    /// either side all is as before.
    public static let askAgainMilliseconds: UInt64 = 4_000
    /// A leader in a term that is over finds that out within an election timeout. One that goes on saying for so long
    /// that it leads, while nobody says so in a later term, does lead: the later term was never one.
    public static let insistMilliseconds: UInt64 = 10_000
    /// A longer pause begins the count of `insistMilliseconds` anew.
    public static let insistPauseMax: UInt64 = 3_000
    /// How often a call is repeated because its leader did not know the session.
    public static let unknownMax = 2
    /// Calls that wait for a leader, or for their answer; a further one is refused.
    public static let openMax = 50_000
    /// The most calls of one session; more than its rates let it have within `answerMilliseconds` unless nobody
    /// answers.
    public static let openPerSessionMax = 4_096

    /// The leader of a shard.
    public struct Leader: Sendable, Hashable {
        public var node: NodeID
        public var term: UInt64
    }

    private enum Shard {
        /// Can become `led`. The latest term that was heard of; 0 in the beginning.
        case unled(after: UInt64)
        /// Can become `suspected`, `unled`, or `led` in a later term.
        case led(Leader)
        /// The leader may have died, but nothing that it was asked or has told is lost so far. Can become `led` again,
        /// `unled`, or `led` in a later term.
        case suspected(Leader)
    }

    /// An asker, and the room that it has asked to enter.
    private struct Entrance: Hashable {
        var asker: Asker
        var room: RoomID

        /// nil for a call that is no enter.
        init?(_ open: borrowing OpenCall) {
            guard open.isEnter else { return nil }
            self.init(open.call.asker, open.call.room)
        }

        init(_ asker: Asker, _ room: RoomID) {
            self.asker = asker
            self.room = room
        }
    }

    /// A session that waits for a shard.
    private struct Waiting: Hashable {
        var asker: Asker
        var shard: ShardID

        init(_ asker: Asker, _ shard: ShardID) { (self.asker, self.shard) = (asker, shard) }
    }

    private var shards: [ShardID: Shard] = [:]
    private var calls = OpenCalls()
    /// The enters among the calls, so that nobody looks at all calls for one.
    private var enters: [Entrance: Int] = [:]
    /// The number of calls that wait, by shard, so that nobody looks at all of them while none does.
    private var heldCounts: [ShardID: Int] = [:]
    /// Those of them behind which further calls of the same session to the shard wait.
    private var waiting: [Waiting: Int] = [:]
    /// When all calls are looked at next.
    private var sweepAt: UInt64 = 0
    private var unansweredAt: UInt64 = 0
    /// Nodes that say to lead a shard in a term that is over as far as the lane knows.
    private var insisting: [ShardID: (leader: Leader, since: UInt64, last: UInt64)] = [:]

    public init() {}

    /// Calls without an answer.
    public var count: Int { calls.count }

    /// The leader of a shard; nil while none is known, and while it is suspected.
    public func leader(of shard: ShardID) -> Leader? {
        guard case .led(let leader)? = shards[shard] else { return nil }
        return leader
    }

    /// The leader of a shard, also while it is suspected.
    public func leaderNode(of shard: ShardID) -> NodeID? {
        switch shards[shard] {
        case .led(let leader)?, .suspected(let leader)?: leader.node
        case .unled?, nil: nil
        }
    }

    /// Whether that node leads the shard in that term, as it has said, be it suspected or not.
    public func isLed(_ shard: ShardID, by node: NodeID, term: UInt64) -> Bool {
        leaderNode(of: shard) == node && isCurrent(term, of: shard)
    }

    /// Whether the call has no answer.
    public func isOpen(_ session: SessionID, _ request: UInt32) -> Bool {
        calls.place(of: .session(session), request) != nil
    }

    // MARK: - Asking

    /// The route of a new call.
    public enum Route: Sendable, Hashable {
        case ask(NodeID)
        /// It waits for a leader, or needs none: whoever leads next is told where sessions are, and what nobody waits
        /// for may be spared.
        case held
        case refused
    }

    /// Takes note of a call that is to be asked now.
    public mutating func add(_ call: RoomRequest, of shard: ShardID, at nowMilliseconds: UInt64) -> Route {
        guard call.isAsked else {
            // Lanes announce to another leader only where their sessions are: a suspected one must not miss the news.
            switch shards[shard] {
            case .led(let leader)?, .suspected(let leader)?: return .ask(leader.node)
            case .unled?, nil: return .held
            }
        }
        var leader = leader(of: shard)
        guard let request = call.number else { return leader.map { .ask($0.node) } ?? .held }
        let asker = call.asker
        // A call of the session before it was refused, and is asked again first (`onLeaderStill`).
        if !waiting.isEmpty, leader != nil, waiting[Waiting(asker, shard)] != nil { leader = nil }
        // The server API has no bound of its own: whoever may use it is trusted.
        let countMax = asker == .server ? Self.openMax : Self.openPerSessionMax
        guard calls.count < Self.openMax,
            let place = calls.add(
                call, request, of: shard, at: nowMilliseconds, askedOf: leader?.node, countMax: countMax)
        else { return .refused }
        if let entrance = Entrance(calls[place]) { enters[entrance, default: 0] += 1 }
        if leader == nil { hold(place, at: nowMilliseconds) }
        return leader.map { .ask($0.node) } ?? .held
    }

    /// A call was answered. False when it is not open: it was answered or given back before.
    public mutating func answered(_ asker: Asker, _ request: UInt32) -> Bool { remove(asker, request) }

    /// - Returns: whether there was one.
    private mutating func remove(_ asker: Asker, _ request: UInt32, at place: Int? = nil) -> Bool {
        guard let open = calls.remove(asker, request, at: place) else { return false }
        if open.heldSince != nil { noteHeld(open, by: -1) }
        if let entrance = Entrance(open) {
            let count = enters[entrance, default: 0]
            enters[entrance] = count > 1 ? count - 1 : nil
        }
        return true
    }

    /// A session has gone to another node: nobody here waits for what it has asked.
    public mutating func forget(_ session: SessionID) {
        for request in calls.requests(of: .session(session)) { _ = remove(.session(session), request) }
    }

    /// A node did not take a call: it does not lead the shard, or does so no more. Unless another one, or the same one
    /// later, has been asked meanwhile, the call waits for the next leader.
    public mutating func refused(
        _ asker: Asker, _ request: UInt32, by node: NodeID, at nowMilliseconds: UInt64
    ) {
        guard let place = calls.place(of: asker, request), calls[place].refused(by: node) else { return }
        hold(place, at: nowMilliseconds)
    }

    private mutating func hold(_ place: Int, at nowMilliseconds: UInt64) {
        guard calls[place].heldSince == nil else { return }
        calls[place].heldSince = nowMilliseconds
        // Nobody will ask one in doubt, so nothing waits behind it.
        calls[place].keepsOrder = !calls[place].isInDoubt
        noteHeld(calls[place], by: 1)
    }

    private mutating func release(_ place: Int) {
        guard calls[place].heldSince != nil else { return }
        noteHeld(calls[place], by: -1)
        calls[place].heldSince = nil
    }

    private mutating func noteHeld(_ open: OpenCall, by change: Int) {
        let count = heldCounts[open.shard, default: 0] + change
        heldCounts[open.shard] = count > 0 ? count : nil
        // Calls of the server API need no order.
        guard open.keepsOrder, case .session = open.call.asker else { return }
        let key = Waiting(open.call.asker, open.shard)
        let waitingCount = waiting[key, default: 0] + change
        waiting[key] = waitingCount > 0 ? waitingCount : nil
    }

    /// A leader does not know the session of this call, which is in the room: it is to be told, and asked again behind
    /// that (`askAgain`).
    /// - Returns: false when that has been tried.
    public mutating func unknown(_ session: SessionID, _ request: UInt32) -> Bool {
        guard let place = calls.place(of: .session(session), request), calls[place].heldSince == nil,
            calls[place].unknownCount < Self.unknownMax, calls[place].askedOf != nil
        else { return false }
        calls[place].refusedUnknown()
        return true
    }

    /// A call that its leader can't be told of any more than it has been: its client is to ask again.
    /// - Returns: the call, which is no longer open; nil when it was not.
    public mutating func giveBack(_ session: SessionID, _ request: UInt32) -> RoomRequest? {
        guard let place = calls.place(of: .session(session), request) else { return nil }
        let call = calls[place].call
        _ = remove(.session(session), request)
        return call
    }

    /// Whether the session has asked to enter the room, and has no answer.
    public func isEntering(_ session: SessionID, _ room: RoomID) -> Bool {
        enters[Entrance(.session(session), room)] != nil
    }

    /// Whether that call is a session's wish to leave.
    public func isLeaving(_ session: SessionID, _ request: UInt32) -> Bool {
        guard let place = calls.place(of: .session(session), request) else { return false }
        if case .operation(.exit) = calls[place].call.body { return true }
        return false
    }

    /// A leader is told anew who is in these rooms. Until then its answers are passed over (`AwaitedStreams.takes`),
    /// so everything is asked again.
    /// - Returns: what it is to be asked once more behind that, oldest first.
    public mutating func askAgain(in rooms: Set<RoomID>) -> [RoomRequest] {
        var again: [RoomRequest] = []
        for place in calls.places(where: { rooms.contains($0.call.room) }) {
            let open = calls[place]
            guard open.heldSince == nil, open.isUnknown || open.call.isKnownWhenRepeated, let node = open.askedOf
            else { continue }
            calls[place].ask(node)
            again.append(open.call)
        }
        return again
    }

    /// Sessions that have asked to leave these rooms, of which their leader may have seen the last already.
    public func leaving(_ rooms: Set<RoomID>) -> [RoomID: Set<SessionID>] {
        var leaving: [RoomID: Set<SessionID>] = [:]
        calls.forEach { _, open in
            guard open.heldSince == nil, rooms.contains(open.call.room), case .operation(.exit) = open.call.body,
                let session = open.call.session?.address.session
            else { return }
            leaving[open.call.room, default: []].insert(session)
        }
        return leaving
    }

    // MARK: - Leaders

    /// Whether to believe what a node says of a shard in this term. Only the current leader is believed, and only after it
    /// has said that it leads; it goes on from what it is told has been shown.
    public func isCurrent(_ term: UInt64, of shard: ShardID) -> Bool {
        switch shards[shard] {
        case .led(let leader)?, .suspected(let leader)?: term == leader.term
        case .unled?: false
        case nil: true
        }
    }

    /// A node leads a shard, as it says itself.
    /// - Returns: the calls to ask there, oldest first, behind the announcements of this lane's sessions; nil when that
    ///   is not news.
    public mutating func onLeader(_ node: NodeID, _ shard: ShardID, term: UInt64) -> [RoomRequest]? {
        switch shards[shard] {
        case .led(let leader)?, .suspected(let leader)?:
            guard term > leader.term else { return nil }
        case .unled(let last)?:
            guard term >= last else { return nil }
        case nil: break
        }
        shards[shard] = .led(Leader(node: node, term: term))
        for place in calls.places(where: { $0.shard == shard }) { calls[place].leaderHasChanged() }
        return ask(node, of: shard) { _ in true }
    }

    /// A node says once more that it leads a shard, in a term that is over as far as this lane knows. A later one may
    /// have been named by a node that is broken; nobody else leads in it.
    public mutating func onLeaderInsisting(_ node: NodeID, _ shard: ShardID, term: UInt64, at nowMilliseconds: UInt64) {
        guard case .unled(let last)? = shards[shard], term < last else { return insisting[shard] = nil }
        let leader = Leader(node: node, term: term)
        guard let known = insisting[shard], known.leader == leader,
            nowMilliseconds - min(known.last, nowMilliseconds) <= Self.insistPauseMax
        else { return insisting[shard] = (leader, nowMilliseconds, nowMilliseconds) }
        insisting[shard]?.last = nowMilliseconds
        guard nowMilliseconds - known.since >= Self.insistMilliseconds else { return }
        insisting[shard] = nil
        shards[shard] = .unled(after: term)
    }

    /// The leader of a term is not heard any more, but its connection has not ended: calls to it wait until it is heard
    /// again, or another one is.
    public mutating func onLeaderSuspected(_ node: NodeID, _ shard: ShardID, term: UInt64, at nowMilliseconds: UInt64) {
        let suspected = Leader(node: node, term: term)
        guard case .led(let leader)? = shards[shard], leader == suspected else { return }
        shards[shard] = .suspected(leader)
        for place in calls.places(where: { $0.shard == shard }) { hold(place, at: nowMilliseconds) }
    }

    /// A leader that was suspected is heard again, in the same term: it knows this lane's sessions, what it has told
    /// comes or has come, and what it was asked it has.
    /// - Returns: the calls to ask there, oldest first: those that it was not asked.
    public mutating func onLeaderConfirmed(_ node: NodeID, _ shard: ShardID, term: UInt64) -> [RoomRequest] {
        let confirmed = Leader(node: node, term: term)
        guard case .suspected(let leader)? = shards[shard], leader == confirmed else { return [] }
        shards[shard] = .led(leader)
        return ask(node, of: shard) { $0.askedOf != node }
    }

    /// The leader of a term says once more that it leads. Calls that it has refused meanwhile, because it was handing the
    /// leadership over and nobody took it, wait for no other leader.
    /// - Returns: the calls to ask there, oldest first: those that it was not asked, or has refused.
    public mutating func onLeaderStill(_ node: NodeID, _ shard: ShardID, term: UInt64) -> [RoomRequest] {
        guard heldCounts[shard] != nil, case .led(let leader)? = shards[shard], leader == Leader(node: node, term: term)
        else {
            return []
        }
        return ask(node, of: shard) { $0.askedOf == nil }
    }

    /// The open calls of a shard wait for this node from now on.
    /// - Returns: those that it is to be asked, oldest first.
    private mutating func ask(_ node: NodeID, of shard: ShardID, _ isToAsk: (OpenCall) -> Bool) -> [RoomRequest] {
        var asked: [RoomRequest] = []
        for place in calls.places(where: { $0.shard == shard }) {
            release(place)
            if calls[place].isInDoubt {
                hold(place, at: calls[place].madeAt)
                continue
            }
            guard isToAsk(calls[place]) else { continue }
            calls[place].ask(node)
            asked.append(calls[place].call)
        }
        return asked
    }

    /// A node can't be reached, or leads a shard no more (nil: none of those that it led): what it was asked waits.
    public mutating func onNodeLost(_ node: NodeID, _ shard: ShardID? = nil, at nowMilliseconds: UInt64) {
        var lost: Set<ShardID> = []
        for (number, state) in shards where shard == nil || shard == number {
            switch state {
            case .led(let leader), .suspected(let leader):
                guard leader.node == node else { continue }
                shards[number] = .unled(after: leader.term)
                lost.insert(number)
            case .unled: continue
            }
        }
        guard !lost.isEmpty else { return }
        for place in calls.places(where: { lost.contains($0.shard) }) {
            calls[place].lost()
            hold(place, at: nowMilliseconds)
        }
    }

    // MARK: - Time

    /// Calls that have waited too long, oldest first: they are to be answered 503, and are no longer open.
    public mutating func expire(at nowMilliseconds: UInt64) -> [RoomRequest] {
        guard !heldCounts.isEmpty || nowMilliseconds >= sweepAt else { return [] }
        sweepAt = nowMilliseconds + 5_000
        let due = calls.places { $0.isOverdue(at: nowMilliseconds) }
        return due.map { place in
            let call = calls[place].call
            if let request = call.number { _ = remove(call.asker, request, at: place) }
            return call
        }
    }

    /// Calls that their leaders have not answered for long, oldest first: each is to be asked of its leader once more,
    /// who answers a repeated one as the first time. Pages of history are not: when they are slow it is because of the
    /// disk.
    public mutating func unanswered(at nowMilliseconds: UInt64) -> [(node: NodeID, call: RoomRequest)] {
        guard nowMilliseconds >= unansweredAt else { return [] }
        unansweredAt = nowMilliseconds + 1_000
        let due = calls.places {
            !$0.isAskedAgain && $0.heldSince == nil && $0.call.isAskedAgain
                && $0.madeAt + Self.askAgainMilliseconds <= nowMilliseconds
        }
        var all: [(NodeID, RoomRequest)] = []
        for place in due {
            guard let node = calls[place].askedOf else { continue }
            calls[place].isAskedAgain = true
            calls[place].ask(node)
            all.append((node, calls[place].call))
        }
        return all
    }
}
