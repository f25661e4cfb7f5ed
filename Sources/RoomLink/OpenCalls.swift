import ChatModel

/// What one lane has asked of rooms and has no answer to, with who leads each shard as the lane knows it: so that a
/// call is asked again, under the same number, where the leader is now, when the former one has died or did not take
/// it.
///
/// Calls of a session leave in the order in which they were made, also when they are asked again. A call that no leader
/// could be found for is given back after `heldMilliseconds`, and at the latest when it is `leaderlessMilliseconds` old.
/// Pure: times are passed in.
public struct OpenCalls: Sendable {
    /// How long a call waits while its shard has no leader (DESIGN section 5).
    public static let heldMilliseconds: UInt64 = 2_000
    /// How old a call may get while its shard has no leader, however late that was known.
    public static let leaderlessMilliseconds: UInt64 = 3_000
    /// How long a leader may take to answer, before nobody waits any more.
    public static let answerMilliseconds: UInt64 = 30_000
    /// Calls that wait for a leader, or for their answer; a further one is refused.
    public static let openMax = 50_000

    private struct Key: Hashable {
        var session: SessionID
        var request: UInt32
    }

    private struct OpenCall {
        var call: RoomCall
        var shard: ShardID
        var madeAt: UInt64
        /// Since when there is nobody to ask; nil while a leader has it.
        var heldSince: UInt64?

        func isOverdue(at now: UInt64) -> Bool {
            if let heldSince {
                if heldSince + OpenCalls.heldMilliseconds <= now { return true }
                if madeAt + OpenCalls.leaderlessMilliseconds <= now { return true }
            }
            return madeAt + OpenCalls.answerMilliseconds <= now
        }
    }

    /// Who leads a shard.
    public struct Leader: Sendable, Hashable {
        public var node: NodeID
        public var term: UInt64
    }

    private enum Shard {
        /// Can become `led`. The latest term that was heard of; 0 in the beginning.
        case unled(after: UInt64)
        /// Can become `unled`, or `led` in a later term.
        case led(Leader)
    }

    private var shards: [ShardID: Shard] = [:]
    private var calls: [UInt64: OpenCall] = [:]
    private var numbers: [Key: [UInt64]] = [:]
    private var nextNumber: UInt64 = 0
    /// Of calls that wait, so that nobody looks at all of them while none does.
    private var heldCount = 0
    /// When all calls are looked at next.
    private var sweepAt: UInt64 = 0

    public init() {}

    /// Calls without an answer.
    public var count: Int { calls.count }

    /// Who leads a shard; nil while nobody is known to.
    public func leader(of shard: ShardID) -> Leader? {
        guard case .led(let leader)? = shards[shard] else { return nil }
        return leader
    }

    // MARK: - Asking

    /// What is to be done with a new call.
    public enum Route: Sendable, Hashable {
        case ask(NodeID)
        /// It waits for a leader, or needs none: whoever leads next is told where sessions are.
        case held
        case refused
    }

    /// Takes note of a call that is to be asked now.
    public mutating func add(_ call: RoomCall, of shard: ShardID, at nowMilliseconds: UInt64) -> Route {
        let leader = leader(of: shard)
        guard let request = call.request, case .operation = call.body else {
            return leader.map { .ask($0.node) } ?? .held
        }
        guard calls.count < Self.openMax else { return .refused }
        nextNumber += 1
        calls[nextNumber] = OpenCall(
            call: call, shard: shard, madeAt: nowMilliseconds, heldSince: leader == nil ? nowMilliseconds : nil)
        if leader == nil { heldCount += 1 }
        numbers[Key(session: call.address.session, request: request), default: []].append(nextNumber)
        return leader.map { .ask($0.node) } ?? .held
    }

    /// A call was answered. False when it is not open: it was answered or given back before.
    public mutating func answered(_ session: SessionID, _ request: UInt32) -> Bool {
        let key = Key(session: session, request: request)
        guard let number = numbers[key]?.first else { return false }
        remove(number, key)
        return true
    }

    private mutating func remove(_ number: UInt64, _ key: Key) {
        if let call = calls.removeValue(forKey: number), call.heldSince != nil { heldCount -= 1 }
        if numbers[key]?.count == 1 {
            numbers[key] = nil
        } else {
            numbers[key]?.removeAll { $0 == number }
        }
    }

    /// A node did not take a call: it does not lead the shard, or does so no more.
    /// - Returns: the call, if it can be asked elsewhere at once.
    public mutating func refused(
        _ session: SessionID, _ request: UInt32, by node: NodeID, at nowMilliseconds: UInt64
    ) -> (call: RoomCall, to: NodeID)? {
        guard let number = numbers[Key(session: session, request: request)]?.first, let open = calls[number] else {
            return nil
        }
        if let leader = leader(of: open.shard), leader.node != node { return (open.call, leader.node) }
        hold(number, at: nowMilliseconds)
        return nil
    }

    private mutating func hold(_ number: UInt64, at nowMilliseconds: UInt64) {
        guard calls[number]?.heldSince == nil else { return }
        calls[number]?.heldSince = nowMilliseconds
        heldCount += 1
    }

    // MARK: - Leaders

    /// Whether what a node says of a shard in this term is to be heard: not what an earlier leader still says.
    public func isCurrent(_ term: UInt64, of shard: ShardID) -> Bool {
        switch shards[shard] {
        case .led(let leader)?: term >= leader.term
        case .unled(let last)?: term >= last
        case nil: true
        }
    }

    /// A node leads a shard, as it says itself.
    /// - Returns: the calls to ask there, oldest first, behind the announcements of this lane's sessions; nil when that
    ///   is not news.
    public mutating func leads(_ node: NodeID, _ shard: ShardID, term: UInt64) -> [RoomCall]? {
        switch shards[shard] {
        case .led(let leader)?:
            guard term > leader.term else { return nil }
        case .unled(let last)?:
            guard term >= last else { return nil }
        case nil: break
        }
        shards[shard] = .led(Leader(node: node, term: term))
        var asked: [RoomCall] = []
        for number in calls.keys.sorted() {
            guard let open = calls[number], open.shard == shard else { continue }
            if open.heldSince != nil { heldCount -= 1 }
            calls[number]?.heldSince = nil
            asked.append(open.call)
        }
        return asked
    }

    /// A node can't be reached, or leads a shard no more (nil: none of those that it led): what it was asked waits.
    public mutating func lost(_ node: NodeID, _ shard: ShardID? = nil, at nowMilliseconds: UInt64) {
        var lost: Set<ShardID> = []
        for (number, state) in shards {
            guard case .led(let leader) = state, leader.node == node, shard == nil || shard == number else { continue }
            shards[number] = .unled(after: leader.term)
            lost.insert(number)
        }
        guard !lost.isEmpty else { return }
        for (number, open) in calls where lost.contains(open.shard) { hold(number, at: nowMilliseconds) }
    }

    // MARK: - Time

    /// Calls that have waited too long, oldest first: they are to be answered 503, and are no longer open.
    public mutating func expire(at nowMilliseconds: UInt64) -> [RoomCall] {
        guard heldCount > 0 || nowMilliseconds >= sweepAt else { return [] }
        sweepAt = nowMilliseconds + 5_000
        let due = calls.filter { $0.value.isOverdue(at: nowMilliseconds) }
        for (number, open) in due {
            guard let request = open.call.request else { continue }
            remove(number, Key(session: open.call.address.session, request: request))
        }
        return due.sorted { $0.key < $1.key }.map(\.value.call)
    }
}
