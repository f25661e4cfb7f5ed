/// What a user has asked for at one node within about a second, as it is told to the other nodes.
///
/// What all sessions of a user may ask together is counted by each node; by this, each counts what the others have let
/// through, too.
public struct UserUse: Sendable, Hashable {
    public var user: UserID
    public var changes: Int
    public var reads: Int
    /// Of changes, what a COMBINE has copied included.
    public var bytes: Int

    /// Users that one telling names; of more, the greediest.
    public static let usersMax = 1_000

    public init(user: UserID, changes: Int = 0, reads: Int = 0, bytes: Int = 0) {
        (self.user, self.changes, self.reads, self.bytes) = (user, changes, reads, bytes)
    }
}
