import ChatModel

/// The last line of an export: nothing up to `seq` is left out before it.
public struct ExportEnd: WireMessage, Sendable, Hashable {
    public var end = true
    /// The last message's; the call's `after` when there was none.
    public var seq: UInt64

    public init(seq: UInt64) { self.seq = seq }

    public static var blank: ExportEnd { ExportEnd(seq: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "end", &end)
        try walker.shown(2, "seq", &seq)
    }
}
