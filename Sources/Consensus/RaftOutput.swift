/// The actions that a group wants done. The order matters:
///
/// 1. `fetches`, `leadership`, `membership` and the read results: whenever it suits.
/// 2. `save` goes to the store; saves of one group are written in the order in which they came out.
/// 3. `messages` leave at once, without waiting for `save`: what depends on a save is held back by the core until
///    `RaftGroup.persisted(save:)` has reported it, and then comes out in a later output.
/// 4. `committed` is applied in order; each entry comes out once per life of the `RaftGroup`.
/// 5. `snapshotOffer`, after everything in `committed`.
public struct RaftOutput: Sendable {
    /// To be written durably, all of it or nothing.
    public struct Save: Hashable, Sendable {
        /// Counts up from 1; goes back in `RaftGroup.persisted(save:)`.
        public var number: UInt64
        /// Term and vote, when they changed.
        public var hardState: HardState?
        /// The newest snapshot, when it changed. Unless `replacesLog` is set, an earlier save has written the entry
        /// that it names, and the entries stay.
        public var snapshot: SnapshotMark?
        /// All entries of the group go first; the log then begins after `snapshot`.
        public var replacesLog = false
        /// Entries from here on go first. Set only when entries given out earlier are void.
        public var truncateFrom: UInt64?
        /// To be appended; contiguous.
        public var entries: [Entry] = []

        public init(number: UInt64) { self.number = number }
    }

    /// The leadership, as this server sees it.
    public struct Leadership: Hashable, Sendable {
        /// The role of this server.
        public var role: RaftGroup.Role
        /// Its term.
        public var term: UInt64
        /// The term's leader; `nil` while unknown.
        public var leader: ServerID?

        public init(role: RaftGroup.Role, term: UInt64, leader: ServerID?) {
            self.role = role
            self.term = term
            self.leader = leader
        }
    }

    /// A read may be answered from a state that has applied `index` (thesis §6.4).
    public struct ReadState: Hashable, Sendable {
        /// As given to `RaftGroup.readIndex(_:)`.
        public var token: UInt64
        /// To be applied before the read is answered.
        public var index: UInt64

        public init(token: UInt64, index: UInt64) {
            self.token = token
            self.index = index
        }
    }

    /// Entries that are on disk and no longer in memory; answered with `RaftGroup.fetched(_:for:)`.
    public struct Fetch: Hashable, Sendable {
        public enum Purpose: Hashable, Sendable {
            /// They are committed and to be applied here.
            case apply
            /// A follower is behind.
            case replicate(to: ServerID)
        }

        /// The purpose of the entries.
        public var purpose: Purpose
        /// From `range.lowerBound` on, as many as fit into `bytesMax`, at least one, at most to the range's end.
        public var range: ClosedRange<UInt64>
        /// A bound on the payloads' bytes, exceeded only by a single big entry.
        public var bytesMax: Int
        /// The term in which it was asked; an answer of another term is of no use.
        public var term: UInt64

        public init(purpose: Purpose, range: ClosedRange<UInt64>, bytesMax: Int, term: UInt64) {
            self.purpose = purpose
            self.range = range
            self.bytesMax = bytesMax
            self.term = term
        }
    }

    /// The leader's log no longer reaches back to ours: get this snapshot from it, make it durable, then call
    /// `RaftGroup.snapshotInstalled(_:)` or `snapshotInstallFailed(_:)`. A newer offer replaces this one.
    public struct SnapshotOffer: Hashable, Sendable {
        /// The leader that offers it, whose host has the data.
        public var from: ServerID
        /// The mark of the snapshot.
        public var mark: SnapshotMark

        public init(from: ServerID, mark: SnapshotMark) {
            self.from = from
            self.mark = mark
        }
    }

    /// To be written; `nil` when nothing changed.
    public var save: Save?
    /// To be sent, in order; any may be lost.
    public var messages: [RaftMessage] = []
    /// Committed and on disk here, in log order, of every kind; bounded by `RaftConfiguration.committedBytesMax`.
    public var committed: [Entry] = []
    /// Reads that may be answered once their index is applied.
    public var readStates: [ReadState] = []
    /// Tokens of reads that will not be answered, because leadership was lost.
    public var failedReads: [UInt64] = []
    /// Set when role, term or leader differ from the last output's.
    public var leadership: Leadership?
    /// Set when the membership in force differs from the last output's.
    public var membership: GroupMembership?
    /// Entries to be read from disk.
    public var fetches: [Fetch] = []
    /// A snapshot to be installed.
    public var snapshotOffer: SnapshotOffer?

    public init() {}

    /// Nothing to do.
    public var isEmpty: Bool {
        save == nil && messages.isEmpty && committed.isEmpty && readStates.isEmpty && failedReads.isEmpty
            && leadership == nil && membership == nil && fetches.isEmpty && snapshotOffer == nil
    }
}
