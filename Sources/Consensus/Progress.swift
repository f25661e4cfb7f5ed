/// The leader's knowledge of one other server.
struct Progress: Sendable {
    /// How the leader sends to it (etcd's three states, after thesis §10.2.2).
    enum State: Hashable, Sendable {
        /// Where the logs part is unknown: one append at a time. Next: `replicate`, `snapshot`.
        case probe
        /// The logs agree: appends are sent without waiting, within the in-flight bounds. Next: `probe`, `snapshot`.
        case replicate
        /// It is behind the log's beginning and was offered the snapshot that ends here. Next: `probe`, `replicate`.
        case snapshot(UInt64)
    }

    let id: ServerID
    var isVoter: Bool
    /// Its disk equals our log up to here.
    var match: UInt64 = 0
    /// The next entry to send; above `match` except that a probe may be wrong in the other direction.
    var next: UInt64
    var state = State.probe
    /// In `probe`: the append is out; wait for its answer or a heartbeat's.
    var isPaused = false
    /// Heard from since the last check of the quorum.
    var isRecentlyActive = false
    /// Heard from since the check before the last one.
    var isActive = false
    /// Appends that were sent and not yet answered.
    var inflights: Inflights
    /// The highest commit index sent to it.
    var commitSent: UInt64 = 0
    /// It takes no leadership, as it said last.
    var declines = false
    /// The highest read round that it has answered.
    var readRound: UInt64 = 0
    /// Entries for it that the host is reading from disk.
    var fetch: RaftOutput.Fetch?
    /// Ticks since the snapshot was offered.
    var snapshotTicks = 0
    /// The membership entry that removed it, and how many ticks we still try to tell it.
    var leaving: (index: UInt64, ticksLeft: Int)?

    init(id: ServerID, isVoter: Bool, next: UInt64, configuration: RaftConfiguration) {
        self.id = id
        self.isVoter = isVoter
        self.next = next
        inflights = Inflights(
            countMax: configuration.inflightMessagesMax, bytesMax: configuration.inflightBytesMax)
    }

    /// Nothing may be sent now, whatever there is.
    var isThrottled: Bool {
        if fetch != nil { return true }
        return switch state {
        case .probe: isPaused
        case .replicate: inflights.isFull
        case .snapshot: true
        }
    }

    mutating func becomeProbe() {
        reset(to: .probe)
        next = match + 1
    }

    mutating func becomeReplicate() {
        reset(to: .replicate)
        next = match + 1
    }

    mutating func becomeSnapshot(index: UInt64) {
        reset(to: .snapshot(index))
        snapshotTicks = 0
    }

    private mutating func reset(to state: State) {
        self.state = state
        isPaused = false
        fetch = nil
        inflights.removeAll()
    }
}
