/// Barrage on its way into a room's sample: one item, or all equal texts of one gateway's window, of which this is the
/// first.
public struct BarrageCandidate: Sendable, Hashable {
    /// Who sent the first of them.
    public var sender: SessionID
    public var text: String
    public var ext: String?
    public var style: String?
    /// The highest of theirs.
    public var priority = Priority.normal
    /// How many items it stands for.
    public var count: Int64 = 1
    /// What the sample goes by, within the priority: the smallest of theirs.
    public var hash: UInt64

    public init(sender: SessionID, text: String, hash: UInt64) {
        self.sender = sender
        self.text = text
        self.hash = hash
    }
}
