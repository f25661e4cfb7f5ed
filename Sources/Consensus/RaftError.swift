/// Why the core refused something. Nothing has changed when it is thrown.
public struct RaftError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: Hashable, Sendable {
        /// Only the leader takes this; `leader` says who that may be.
        case notLeader
        /// Leadership is being handed over, so nothing new is accepted (thesis §3.10).
        case transferring
        /// `RaftConfiguration.proposalBytesMax` would be exceeded.
        case tooManyUncommitted
        /// There is nothing in the proposal.
        case emptyProposal
        /// A payload exceeds `RaftConfiguration.entryBytesMax`.
        case entryTooLarge
        /// `RaftConfiguration.readsMax` is reached.
        case tooManyReads
        /// An earlier membership change is not committed yet (thesis §4.1).
        case membershipChangeInProgress
        /// The server takes no leadership: its node is stopping, or may not lead.
        case leadershipDeclined
        /// The leader has not committed an entry of its own term yet; try again when it has.
        case termNotCommitted
        /// No such server in the group, or not in the role that the request needs.
        case unknownServer
        /// The server is in the group already.
        case alreadyMember
        /// The learner is not close enough to the end of the log, or has not been heard from (thesis §4.2.1).
        case notCaughtUp
        /// A leader hands over before it leaves (thesis §4.2.2).
        case leaderCannotLeave
        /// The node's name is too long to be written down (255 bytes).
        case invalidServer
        /// Too few voters of the new membership have been heard from.
        case quorumWouldBeLost
        /// `RaftConfiguration.serversMax` would be exceeded.
        case tooManyServers
        /// A write failed: this replica does nothing until it is made anew from what is on disk.
        case storageFailed
        /// The restored log contradicts itself.
        case corruptLog
        /// The restored log has a term above `RaftGroup.termMax`.
        case termTooHigh
    }

    /// For programs.
    public var code: Code
    /// For people.
    public var message: String
    /// With `notLeader`: the leader as far as known here.
    public var leader: ServerID?

    public init(_ code: Code, _ message: String, leader: ServerID? = nil) {
        self.code = code
        self.message = message
        self.leader = leader
    }

    public var description: String { "\(code): \(message)" }
}
