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
    /// Beyond it that was not without a break.
    public static let insistPauseMax: UInt64 = 3_000
    /// How often a call is repeated because its leader did not know the session.
    public static let unknownMax = 2
    /// Calls that wait for a leader, or for their answer; a further one is refused.
    public static let openMax = 50_000
    /// The most calls of one session; more than its rates let it have within `answerMilliseconds` unless nobody
    /// answers.
    public static let openPerSessionMax = 4_096

    private struct Key: Hashable {
        var asker: Asker
        var request: UInt32
    }

    /// The calls of one key, oldest first: nearly always one.
    private struct Numbers {
        /// 0: none yet. Calls count from 1.
        private(set) var first: UInt64 = 0
        private var others: [UInt64] = []

        var isSingle: Bool { others.isEmpty }

        mutating func append(_ number: UInt64) {
            if first == 0 { first = number } else { others.append(number) }
        }

        /// - Precondition: there are others.
        mutating func remove(_ number: UInt64) {
            if first == number { first = others.removeFirst() } else { others.removeAll { $0 == number } }
        }
    }

    private struct OpenRequest {
        var call: RoomRequest
        var shard: ShardID
        var madeAt: UInt64
        /// Since when there is nobody to wait for; nil while a leader has it that is trusted.
        var heldSince: UInt64?
        /// The node that was asked last and has not refused as often as it was asked; nil when there is none, or when
        /// the call may not have arrived.
        private(set) var askedOf: NodeID?
        private var askedCount = 0
        /// Whether it was asked again for having no answer.
        var isAskedAgain = false
        /// How often its leader did not know its session.
        var unknownCount = 0
        /// Its leader did not know its session, and has not been asked since.
        private(set) var isUnknown = false
        /// A leader that is lost may have done it, and the next one would do it again: it is given back at once.
        private(set) var isInDoubt = false

        init(_ call: RoomRequest, of shard: ShardID, at nowMilliseconds: UInt64) {
            self.call = call
            self.shard = shard
            madeAt = nowMilliseconds
        }

        mutating func ask(_ node: NodeID) {
            askedCount = askedOf == node ? askedCount + 1 : 1
            askedOf = node
            isUnknown = false
        }

        /// The node that was asked last did not know the session.
        mutating func refusedUnknown() {
            askedCount = max(0, askedCount - 1)
            unknownCount += 1
            isUnknown = true
        }

        /// - Returns: whether the node that was asked last has it no more.
        mutating func refused(by node: NodeID) -> Bool {
            guard let askedOf else { return true }
            guard askedOf == node else { return false }
            askedCount -= 1
            if askedCount == 0 { self.askedOf = nil }
            return askedCount == 0
        }

        /// The node that was asked last leads no more, or what it says is not heard any more.
        mutating func leaderHasChanged() {
            if askedOf != nil, !isUnknown, !call.isKnownWhenRepeated { isInDoubt = true }
        }

        mutating func lost() {
            leaderHasChanged()
            askedOf = nil
        }

        func isOverdue(at now: UInt64) -> Bool {
            if isInDoubt { return true }
            if let heldSince {
                if heldSince + OpenRequests.heldMilliseconds <= now { return true }
                if madeAt + OpenRequests.leaderlessMilliseconds <= now { return true }
            }
            return madeAt + OpenRequests.answerMilliseconds <= now
        }
    }

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
        init?(_ call: RoomRequest) {
            guard case .operation(.enter) = call.body else { return nil }
            self.init(call.asker, call.room)
        }

        init(_ asker: Asker, _ room: RoomID) {
            self.asker = asker
            self.room = room
        }
    }

    private var shards: [ShardID: Shard] = [:]
    private var calls: [UInt64: OpenRequest] = [:]
    private var numbers: [Key: Numbers] = [:]
    private var countOfAsker: [Asker: Int] = [:]
    /// The enters among the calls, so that nobody looks at all calls for one.
    private var enters: [Entrance: Int] = [:]
    private var nextNumber: UInt64 = 0
    /// The number of calls that wait, so that nobody looks at all of them while none does.
    private var heldCount = 0
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
        numbers[Key(asker: .session(session), request: request)] != nil
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
        let leader = leader(of: shard)
        guard let request = call.number else { return leader.map { .ask($0.node) } ?? .held }
        guard calls.count < Self.openMax, count(call.asker) else { return .refused }
        let asker = call.asker
        nextNumber += 1
        var open = OpenRequest(call, of: shard, at: nowMilliseconds)
        if let leader { open.ask(leader.node) }
        calls[nextNumber] = open
        if let entrance = Entrance(call) { enters[entrance, default: 0] += 1 }
        if leader == nil { hold(nextNumber, at: nowMilliseconds) }
        numbers[Key(asker: asker, request: request), default: Numbers()].append(nextNumber)
        return leader.map { .ask($0.node) } ?? .held
    }

    /// A call was answered. False when it is not open: it was answered or given back before.
    public mutating func answered(_ asker: Asker, _ request: UInt32) -> Bool {
        let key = Key(asker: asker, request: request)
        guard let place = numbers.index(forKey: key) else { return false }
        remove(numbers.values[place].first, place, key.asker)
        return true
    }

    /// The asker has one call more. False when it has too many. The server API has no bound of its own: whoever may use it
    /// is trusted.
    private mutating func count(_ asker: Asker) -> Bool {
        func add(_ count: inout Int) -> Bool {
            guard asker == .server || count < Self.openPerSessionMax else { return false }
            count += 1
            return true
        }
        return add(&countOfAsker[asker, default: 0])
    }

    private mutating func remove(_ number: UInt64, _ key: Key) {
        if let place = numbers.index(forKey: key) { remove(number, place, key.asker) }
    }

    private mutating func remove(_ number: UInt64, _ place: Dictionary<Key, Numbers>.Index, _ asker: Asker) {
        if let call = calls.removeValue(forKey: number) {
            if call.heldSince != nil { heldCount -= 1 }
            if let entrance = Entrance(call.call) {
                let count = enters[entrance, default: 0]
                enters[entrance] = count > 1 ? count - 1 : nil
            }
            if let place = countOfAsker.index(forKey: asker) {
                if countOfAsker.values[place] > 1 {
                    countOfAsker.values[place] -= 1
                } else {
                    countOfAsker.remove(at: place)
                }
            }
        }
        if numbers.values[place].isSingle {
            numbers.remove(at: place)
        } else {
            numbers.values[place].remove(number)
        }
    }

    /// A session has gone to another node: nobody here waits for what it has asked.
    public mutating func forget(_ session: SessionID) {
        let gone = calls.filter { $0.value.call.asker == .session(session) }
        for (number, open) in gone {
            if let request = open.call.number { remove(number, Key(asker: .session(session), request: request)) }
        }
    }

    /// A node did not take a call: it does not lead the shard, or does so no more. Unless another one, or the same one
    /// later, has been asked meanwhile, the call waits for the next leader.
    public mutating func refused(
        _ asker: Asker, _ request: UInt32, by node: NodeID, at nowMilliseconds: UInt64
    ) {
        guard let number = numbers[Key(asker: asker, request: request)]?.first,
            calls[number]?.refused(by: node) == true
        else { return }
        hold(number, at: nowMilliseconds)
    }

    private mutating func hold(_ number: UInt64, at nowMilliseconds: UInt64) {
        guard calls[number]?.heldSince == nil else { return }
        calls[number]?.heldSince = nowMilliseconds
        heldCount += 1
    }

    /// A leader does not know the session of this call, which is in the room: it is to be told, and asked again behind
    /// that (`askAgain`).
    /// - Returns: false when that has been tried.
    public mutating func unknown(_ session: SessionID, _ request: UInt32) -> Bool {
        guard let number = numbers[Key(asker: .session(session), request: request)]?.first, let open = calls[number],
            open.heldSince == nil, open.unknownCount < Self.unknownMax, open.askedOf != nil
        else { return false }
        calls[number]?.refusedUnknown()
        return true
    }

    /// A call that its leader can't be told of any more than it has been: its client is to ask again.
    /// - Returns: the call, which is no longer open; nil when it was not.
    public mutating func giveBack(_ session: SessionID, _ request: UInt32) -> RoomRequest? {
        let key = Key(asker: .session(session), request: request)
        guard let number = numbers[key]?.first, let call = calls[number]?.call else { return nil }
        remove(number, key)
        return call
    }

    /// Whether the session has asked to enter the room, and has no answer.
    public func isEntering(_ session: SessionID, _ room: RoomID) -> Bool {
        enters[Entrance(.session(session), room)] != nil
    }

    /// Whether that call is a session's wish to leave.
    public func isLeaving(_ session: SessionID, _ request: UInt32) -> Bool {
        guard let number = numbers[Key(asker: .session(session), request: request)]?.first else { return false }
        if case .operation(.exit)? = calls[number]?.call.body { return true }
        return false
    }

    /// A leader is told anew who is in these rooms. Its answers of the meantime are not heard (`AwaitedStreams.takes`),
    /// so everything is asked again.
    /// - Returns: what it is to be asked once more behind that, oldest first.
    public mutating func askAgain(in rooms: Set<RoomID>) -> [RoomRequest] {
        var again: [RoomRequest] = []
        for number in calls.filter({ rooms.contains($0.value.call.room) }).keys.sorted() {
            guard var open = calls[number], open.heldSince == nil,
                open.isUnknown || open.call.isKnownWhenRepeated, let node = open.askedOf
            else { continue }
            open.ask(node)
            calls[number] = open
            again.append(open.call)
        }
        return again
    }

    /// Sessions that have asked to leave these rooms, of which their leader may have seen the last already.
    public func leaving(_ rooms: Set<RoomID>) -> [RoomID: Set<SessionID>] {
        var leaving: [RoomID: Set<SessionID>] = [:]
        for open in calls.values where open.heldSince == nil && rooms.contains(open.call.room) {
            guard case .operation(.exit) = open.call.body else { continue }
            if let session = open.call.session?.address.session {
                leaving[open.call.room, default: []].insert(session)
            }
        }
        return leaving
    }

    // MARK: - Leaders

    /// Whether what a node says of a shard in this term is to be heard: not what an earlier leader still says, and not
    /// what a later one says, or one that was lost, before it has said that it leads: it goes on from there when it is
    /// told what has been shown.
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
        for (number, open) in calls where open.shard == shard { calls[number]?.leaderHasChanged() }
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
        for (number, open) in calls where open.shard == shard { hold(number, at: nowMilliseconds) }
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

    /// The open calls of a shard wait for this node from now on.
    /// - Returns: those that it is to be asked, oldest first.
    private mutating func ask(_ node: NodeID, of shard: ShardID, _ isToAsk: (OpenRequest) -> Bool) -> [RoomRequest] {
        var asked: [RoomRequest] = []
        for number in calls.keys.sorted() {
            guard var open = calls[number], open.shard == shard else { continue }
            if open.isInDoubt {
                if open.heldSince == nil { hold(number, at: open.madeAt) }
                continue
            }
            if open.heldSince != nil { heldCount -= 1 }
            open.heldSince = nil
            if isToAsk(open) {
                open.ask(node)
                asked.append(open.call)
            }
            calls[number] = open
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
        for (number, open) in calls where lost.contains(open.shard) {
            calls[number]?.lost()
            hold(number, at: nowMilliseconds)
        }
    }

    // MARK: - Time

    /// Calls that have waited too long, oldest first: they are to be answered 503, and are no longer open.
    public mutating func expire(at nowMilliseconds: UInt64) -> [RoomRequest] {
        guard heldCount > 0 || nowMilliseconds >= sweepAt else { return [] }
        sweepAt = nowMilliseconds + 5_000
        let due = calls.filter { $0.value.isOverdue(at: nowMilliseconds) }
        for (number, open) in due {
            guard let request = open.call.number else { continue }
            remove(number, Key(asker: open.call.asker, request: request))
        }
        return due.sorted { $0.key < $1.key }.map(\.value.call)
    }

    /// Calls that their leaders have not answered for long, oldest first: each is to be asked of its leader once more,
    /// who answers a repeated one as the first time. Pages of history are not: when they are slow it is because of the
    /// disk.
    public mutating func unanswered(at nowMilliseconds: UInt64) -> [(node: NodeID, call: RoomRequest)] {
        guard nowMilliseconds >= unansweredAt else { return [] }
        unansweredAt = nowMilliseconds + 1_000
        let due = calls.filter {
            !$0.value.isAskedAgain && $0.value.heldSince == nil && $0.value.call.isAskedAgain
                && $0.value.madeAt + Self.askAgainMilliseconds <= nowMilliseconds
        }
        var all: [(NodeID, RoomRequest)] = []
        for number in due.keys.sorted() {
            guard let node = calls[number]?.askedOf, let call = calls[number]?.call else { continue }
            calls[number]?.isAskedAgain = true
            calls[number]?.ask(node)
            all.append((node, call))
        }
        return all
    }
}
