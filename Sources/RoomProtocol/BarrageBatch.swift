import ChatModel

/// The barrage of one gateway loop for one room at the end of a window: the best items, and the number of the others.
public struct BarrageBatch: Sendable, Hashable {
    /// The number of this window among those of this room on this loop.
    public var window: UInt64
    public var candidates: [BarrageCandidate]
    /// Items that no candidate stands for.
    public var leftOut: Int64

    public init(window: UInt64, candidates: [BarrageCandidate], leftOut: Int64) {
        self.window = window
        self.candidates = candidates
        self.leftOut = leftOut
    }
}
