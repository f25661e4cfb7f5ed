/// Barrage on its way into a room's sample: one item, or all equal texts of one gateway's window, of which this is the
/// first.
public struct BarrageCandidate: Sendable, Hashable {
    /// The sender of the first of them.
    public var sender: SessionID
    public var text: String
    public var ext: String?
    public var style: String?
    /// The highest of theirs.
    public var priority = Priority.normal
    /// How many items it stands for.
    public var count: Int64 = 1
    /// The rank within a priority: the smallest hash of its items.
    public var hash: UInt64

    public init(sender: SessionID, text: String, hash: UInt64) {
        self.sender = sender
        self.text = text
        self.hash = hash
    }
}
