import ChatModel

/// What one gateway loop has for one room's barrage at the end of a window: the best of what came, and how much more
/// there was.
public struct BarrageBatch: Sendable, Hashable {
    /// Of the windows of this room on this loop.
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
