import ChatModel
import Wire

/// A call that has no answer.
struct OpenCall: Sendable {
    let call: RoomRequest
    /// Calls are made in the order of their numbers.
    let number: UInt64
    let shard: ShardID
    let madeAt: UInt64
    let isEnter: Bool
    /// Since when there is nobody to wait for; nil while a leader has it that is trusted.
    var heldSince: UInt64?
    /// Further calls of its session to the shard wait behind it. Set where it is held.
    var keepsOrder = false
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

    init(
        _ call: RoomRequest, _ number: UInt64, of shard: ShardID, at nowMilliseconds: UInt64, askedOf node: NodeID?
    ) {
        self.call = call
        self.number = number
        if case .operation(.enter) = call.body { isEnter = true } else { isEnter = false }
        self.shard = shard
        madeAt = nowMilliseconds
        if let node { (askedOf, askedCount) = (node, 1) }
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
