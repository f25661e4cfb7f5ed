/// One user's requests at one node within about a second, as the node reports them to the others.
///
/// Each node counts the requests of all sessions of a user. This report lets it count those at other nodes, too.
public struct UserUse: Sendable, Hashable {
    public var user: UserID
    public var changes: Int
    public var reads: Int
    /// The bytes of changes, including the copies of a COMBINE.
    public var bytes: Int

    /// One report names so many users; if there are more, the greediest.
    public static let usersMax = 1_000

    public init(user: UserID, changes: Int = 0, reads: Int = 0, bytes: Int = 0) {
        (self.user, self.changes, self.reads, self.bytes) = (user, changes, reads, bytes)
    }
}
