import ChatModel
import RoomProtocol
import Wire

/// The cost of a request that a room has not answered yet.
public struct OpenCost: Sendable, Hashable {
    var cost: RateCost
    /// It was beyond the rate, and goes to the room as a question: whether that has been answered already. The wait that
    /// the client is told if not, in milliseconds.
    var overRateMs: Int64?
}

/// A client's requests to rooms, how often and how much (PROTOCOL.md, "Rates"): counted for each session, and for all
/// sessions of a user, three times that. Both go along when a session moves, within the node and to another one, so a
/// takeover brings no new allowance. The use of a user's sessions at other nodes counts here when those tell it, once a
/// second.
///
/// A repeat of what has been answered costs nothing, and only the room knows that it is one: what was taken comes back
/// with the answer, and when nothing is left to be taken the room is asked all the same, but answers repeats only
/// (`RoomRequest.overRateMs`). That needs no memory here, and so holds for repeats over another connection, lane, node or
/// leader; it has a rate of its own, because asking costs the leader a look into a table.
///
/// A COMBINE takes the most that it may copy, and its answer says how much that was (`RoomOutput.reply`, `charged`); the
/// rest comes back. Without an answer nothing does: a room may have read it all.
extension Session {
    /// A request to a room.
    public struct Request: Sendable {
        public var operation: ClientOperation
        public var room: RoomID
        /// The client's request ID; nil: it wants no reply.
        public var id: UInt32?

        public init(_ operation: ClientOperation, to room: RoomID, id: UInt32?) {
            self.operation = operation
            self.room = room
            self.id = id
        }
    }

    /// The fate of a request.
    public enum Decision: Sendable, Hashable {
        case refuse(ChatError)
        case ask(Asked)
    }

    /// The facts of the request that the room is told besides the operation.
    public struct Asked: Sendable, Hashable {
        /// Under which the room is to answer; nil: nobody waits for an answer.
        public var number: UInt32?
        /// Counts all requests of the session.
        public var count: UInt64
        /// The rooms that the session is in, where the operation needs them.
        public var rooms: [RoomID]
        public var overRateMs: Int64?
    }

    /// The part of the cost that a finished request gives back to the rates.
    public enum Settlement: Sendable, Hashable {
        /// It was a repeat and costs nothing.
        case all(RateCost)
        /// It has copied that many bytes at most.
        case copied(RateCost, Int)
    }

    /// A request that counts towards a rate.
    /// - Parameter admit: whether the node takes one more enter; an error says when to come again.
    public mutating func onRequest(
        _ request: Request, _ limits: SessionLimits, users: inout UserRates, nowMilliseconds now: UInt64,
        admit: () -> ChatError?
    ) -> Decision {
        let cost: OpenCost
        do throws(ChatError) {
            cost = try pay(for: request.operation, users: &users, nowMilliseconds: now)
        } catch {
            return .refuse(error)
        }
        if let refusal = refusal(of: request, limits, admit) {
            settle(.copied(cost.cost, 0), users: &users, nowMilliseconds: now)
            return .refuse(refusal)
        }
        return .ask(ask(request, cost))
    }

    /// A request that is never refused for rate: a connection is only read so fast.
    public mutating func onUnratedRequest(_ request: Request, _ limits: SessionLimits) -> Decision {
        if let refusal = refusal(of: request, limits, { nil }) { return .refuse(refusal) }
        return .ask(ask(request, nil))
    }

    /// A request that is answered without asking a room has its place in the count all the same. Returns the count.
    public mutating func pass() -> UInt64 {
        requests.pass()
        return requests.count
    }

    /// Takes what an operation costs. Throws 416 when that is not there.
    public mutating func pay(
        for operation: ClientOperation, users: inout UserRates, nowMilliseconds now: UInt64
    ) throws(ChatError) -> OpenCost {
        let row = operation.row
        let cost: RateCost =
            switch row.rate {
            case .read: .read
            case .search: .search
            case .taps: .taps(row.taps)
            case .change, .barrage:
                .change(bytes: row.contentBytes, copies: operation.namesMessages ? Limits.pageBytes : 0)
            }
        let user = caller.user
        guard let wait = users.take(cost, of: user, and: &rates, nowMilliseconds: now) else {
            return OpenCost(cost: cost)
        }
        guard row.clientID != nil, users.take(.isRepeat, of: user, and: &rates, nowMilliseconds: now) == nil else {
            throw ChatError(.tooOften, "too many requests, wait \(wait) ms", retryAfterMs: wait)
        }
        return OpenCost(cost: .isRepeat, overRateMs: wait)
    }

    private mutating func ask(_ request: Request, _ cost: OpenCost?) -> Asked {
        let number = requests.begin(request.id)
        switch request.operation {
        case .exit: leaving[request.room] = number
        case .enter:
            leaving[request.room] = nil
            // Behind a kick it was told on this connection.
            forgetKick(from: request.room)
            if let last = entering.indices.last, entering[last].room == request.room, entering[last].number == nil {
                entering[last].number = number
            }
        default: break
        }
        if let number, let cost, !cost.cost.isRead { costs.append(cost, at: number) }
        return Asked(
            number: number, count: requests.count, rooms: request.operation.namesMessages ? rooms : [],
            overRateMs: cost?.overRateMs)
    }

    /// The checks that need no room, but for rates: being in the room, how many rooms.
    private mutating func refusal(
        of request: Request, _ limits: SessionLimits, _ admit: () -> ChatError?
    ) -> ChatError? {
        if case .enter(let enter) = request.operation { return enterRefusal(enter, limits, admit) }
        if caller.anonymous, !request.operation.row.isOpenToAnonymous {
            return ChatError(.forbidden, "anonymous members only listen")
        }
        // One that has asked to leave is out, unless it has asked to enter again since: its room would say the same, but its lane
        // could not tell that from the word of a leader that does not know the session yet.
        let isLeaving = if case .exit = request.operation { false } else { leaving[request.room] != nil }
        guard !isLeaving, isIn(request.room) || isEntering(request.room) else {
            return ChatError(.notInRoom, "\(caller.user) is not in \(request.room)")
        }
        return nil
    }

    private mutating func enterRefusal(
        _ request: EnterRequest, _ limits: SessionLimits, _ admit: () -> ChatError?
    ) -> ChatError? {
        let room = request.room
        if caller.anonymous, !limits.allowAnonymous {
            return ChatError(.forbidden, "anonymous clients may not enter rooms here")
        }
        guard mayEnter(room) else { return Self.forbidden(room) }
        // A client need not wait for the answer to its exit.
        guard leaving[room] != nil || (!isIn(room) && !isEntering(room)) else { return admit() }
        let count = rooms.count + entering.count
        guard count < limits.roomsMax || count < 2 * limits.roomsMax && roomsBeside(room) < limits.roomsMax else {
            return ChatError(.tooManyRooms, "a session can be in \(limits.roomsMax) rooms", retryAfterMs: 1000)
        }
        if let refusal = admit() { return refusal }
        entering.append(Entering(room: room, notifyExt: request.notifyExt))
        return nil
    }

    /// How many other rooms it is in, or enters, and does not leave. A room may be among both while its exit is under way. An exit
    /// that fails leaves it in one more, so all together are bounded as well.
    private func roomsBeside(_ room: RoomID) -> Int {
        Set(rooms).union(entering.map(\.room)).subtracting(leaving.keys).subtracting([room]).count
    }

    // MARK: - Answers

    /// A room has answered a request, or nobody waits for the answer any more.
    /// - Returns: the client's request ID to reply with; nil when the present connection did not ask.
    public mutating func onAnswer(to request: UInt32) -> UInt32? {
        // An exit may be refused.
        if !leaving.isEmpty, let room = leaving.first(where: { $0.value == request })?.key { leaving[room] = nil }
        return requests.end(request)
    }

    /// Nobody waits for the answer to a request any more, because its room had no leader for too long.
    /// - Returns: the client's request ID to reply with; nil when the present connection did not ask.
    public mutating func onGiveUp(_ request: UInt32, _ operation: ClientOperation, in room: RoomID) -> UInt32? {
        guard let id = requests.end(request) else { return nil }
        switch operation {
        case .enter: entering.removeAll { $0.room == room && !$0.isLater(than: request) }
        case .exit: if leaving[room] == request { leaving[room] = nil }
        default: break
        }
        return id
    }

    /// The cost of a request is known, or nobody will say.
    /// - Parameters:
    ///   - isRepeat: it had been answered before.
    ///   - charged: bytes that it has brought along besides its own, or that were read in vain.
    /// - Returns: what is to be settled; nil for most.
    public mutating func takeCost(of request: UInt32, isRepeat: Bool, charged: Int) -> Settlement? {
        let open = costs.removeValue(at: request)
        // It may have been asked on another lane, which has reckoned with the most.
        guard let open else { return nil }
        if isRepeat { return .all(open.cost) }
        guard case .change(_, 1...) = open.cost else { return nil }
        return .copied(open.cost, charged)
    }

    /// Gives back what ``takeCost(of:isRepeat:charged:)`` has returned.
    public mutating func settle(_ settlement: Settlement, users: inout UserRates, nowMilliseconds now: UInt64) {
        let user = caller.user
        switch settlement {
        case .all(let cost): users.giveBack(cost, to: user, and: &rates, nowMilliseconds: now)
        case .copied(let cost, let count):
            users.settle(cost, copied: count, of: user, and: &rates, nowMilliseconds: now)
        }
    }

    /// Other limits from now on; what is left stays.
    public mutating func set(_ limits: RateLimits) { rates.set(limits) }
}
