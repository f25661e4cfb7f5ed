/// The face of a group to the rest of the node, so that the engine can be replaced and simulated. One owner calls it,
/// on one loop; nothing here blocks.
public protocol ReplicatedLog: AnyObject {
    /// Which group this is.
    var group: GroupID { get }
    /// The receiver of its events.
    var delegate: (any ReplicatedLogDelegate)? { get set }

    /// Leads the current term, as far as known here.
    var isLeader: Bool { get }
    /// The leader, as far as known here; a hint.
    var leader: ServerID? { get }
    /// The current term.
    var term: UInt64 { get }
    /// The membership in force.
    var membership: GroupMembership { get }
    /// Everything up to here is committed.
    var commitIndex: UInt64 { get }

    /// Appends payloads, all in one turn in order, and returns their indices. Each is decided when the delegate gets
    /// the entry at its index: it is this proposal if the entry's term is the present one, and lost if not.
    func propose(_ payloads: [[UInt8]]) throws(RaftError) -> ClosedRange<UInt64>

    /// Completes with the index that must be applied before a read is answered; with `notLeader` when leadership was
    /// lost before that was known. Called exactly once, possibly before this returns.
    func readIndex(_ completion: @escaping (Result<UInt64, RaftError>) -> Void)

    /// See `RaftGroup.transferLeadership(to:)`.
    func transferLeadership(to server: ServerID) throws(RaftError)

    /// See `RaftGroup.proposeMembership(_:)`.
    func changeMembership(_ change: MembershipChange) throws(RaftError) -> UInt64

    /// Everything up to here is applied, and more may be handed out.
    func applied(upTo index: UInt64)

    /// The mark of a snapshot of the state after `index`; `nil` if the log no longer knows.
    func snapshotMark(at index: UInt64) -> SnapshotMark?

    /// The snapshot is durable; the log may be trimmed up to `trimmingUpTo`, which is not beyond it.
    func snapshotTaken(_ mark: SnapshotMark, trimmingUpTo index: UInt64)

    /// Answers to `ReplicatedLogDelegate.log(_:needsSnapshot:)`.
    func snapshotInstalled(_ mark: SnapshotMark)
    /// The owner's state is what it was before the offer.
    func snapshotInstallFailed(_ mark: SnapshotMark)
}

/// The events that a group tells its owner; on the group's loop, never from within a call of the owner's except where
/// stated.
public protocol ReplicatedLogDelegate: AnyObject {
    /// Committed entries of every kind, in order, each once; ends in `ReplicatedLog.applied(upTo:)`.
    func log(_ log: any ReplicatedLog, didCommit entries: [Entry])
    /// Role, term or leader changed. Proposals of an older term are undecided until their index is committed.
    func log(_ log: any ReplicatedLog, didChange leadership: RaftOutput.Leadership)
    /// Another membership is in force.
    func log(_ log: any ReplicatedLog, didChange membership: GroupMembership)
    /// The group's log no longer reaches back to what is here: get this snapshot and make it durable. Nothing is
    /// committed to the owner until then. A newer offer replaces the one under way.
    func log(_ log: any ReplicatedLog, needsSnapshot offer: RaftOutput.SnapshotOffer)
    /// A write failed: this replica takes part in nothing until it is made anew from what is on disk.
    func logDidFail(_ log: any ReplicatedLog)
}
