import ChatModel

/// Users that were put out lately. A gateway that could not be told then may say later that they are here, to a leader
/// that was not there either (PROTOCOL.md, "Kick and blacklist").
extension RoomState {
    /// Notes it in the room's row.
    mutating func noteKick(_ user: UserID, _ reason: KickReason, _ outcome: inout Outcome) {
        guard record != nil else { return }
        record?.kicks.removeAll { $0.user == user }
        record?.kicks.append(RecordedKick(user, at: outcome.time, reason))
        if let count = record?.kicks.count, count > RecordedKick.countMax {
            record?.kicks.removeFirst(count - RecordedKick.countMax)
        }
        outcome.touchesRoom = true
    }

    /// Notes that everybody was put out.
    mutating func noteKickOfAll(_ outcome: inout Outcome) {
        record?.everybodyOutAt = outcome.time
        record?.kicks = []
        outcome.touchesRoom = true
    }

    /// Forgets kicks of longer ago than commands are remembered.
    mutating func forgetOldKicks(at now: Timestamp) {
        guard let first = record?.kicks.first, CommandLedger.isForgotten(first.time, at: now) else { return }
        record?.kicks.removeAll { CommandLedger.isForgotten($0.time, at: now) }
    }

    /// Why a user was put out at that time or later; nil for whoever was not, or so long ago, or so many kicks ago, that
    /// it is not known any more.
    public func kicked(_ user: UserID, since time: Timestamp) -> KickReason? {
        record?.kicks.last { $0.user == user && $0.time >= time }?.reason
    }

    /// No stay of the user that begins now began before that: the log's time may be ahead of the clock, and who was put out
    /// at a time of it and is here again must not look as if he had been here then.
    public func earliestStay(of user: UserID) -> Timestamp {
        let kick = record?.kicks.last { $0.user == user }?.time.adding(milliseconds: 1)
        let out = record?.everybodyOutAt?.adding(milliseconds: 1)
        return max(record?.info.createdAt ?? Timestamp(0), kick ?? Timestamp(0), out ?? Timestamp(0))
    }

    /// Whether everybody was put out at that time or later.
    public func everybodyKicked(since time: Timestamp) -> Bool {
        record?.everybodyOutAt.map { $0 >= time } ?? false
    }
}
