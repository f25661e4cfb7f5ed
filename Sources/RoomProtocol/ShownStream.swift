/// How far a lane's viewers of a room have been shown its messages, and which of them they were not shown and have not
/// been told of: those that the viewer budget left out, which the room names once a second (PROTOCOL.md, "Viewer
/// budget"). Should its leader die meanwhile, nobody else knows of them. Pure.
public struct ShownStream: Sendable {
    /// The place up to which viewers have been shown the stream, or are being shown it, or could not take it.
    public private(set) var place = StreamPlace(epoch: "", seq: .max)
    /// Ascending; they may cover some that were shown.
    public private(set) var untold: [ClosedRange<UInt64>] = []
    /// Beyond it the last range is widened.
    static let untoldMax = 64

    public init() {}

    /// Somebody enters, with everything up to this place: whatever others were not shown by now was left out.
    public mutating func enter(at place: StreamPlace) {
        if place.epoch == self.place.epoch { return leaveOut(through: place.seq) }
        (untold, self.place) = ([], place)
    }

    /// Everybody gets a frame about these seqs: it shows all of them, or tells that some were left out.
    public mutating func show(_ seqs: ClosedRange<UInt64>) {
        if seqs.lowerBound <= place.seq {
            // Only what tells of seqs that were left out names older ones.
            untold.removeAll { $0.upperBound <= seqs.upperBound }
        } else {
            leaveOut(through: seqs.lowerBound - 1)
        }
        place.seq = max(place.seq, seqs.upperBound)
    }

    /// Only some get a frame about these seqs.
    public mutating func showSome(_ seqs: ClosedRange<UInt64>) { leaveOut(through: seqs.upperBound) }

    /// Everybody is told that what follows up to this seq is only in history.
    public mutating func skip(through seq: UInt64) { place.seq = max(place.seq, seq) }

    /// Ranges that have to be told now, because the leader that would have told them leads no more, or was not heard.
    public mutating func takeUntold() -> [ClosedRange<UInt64>] {
        defer { untold = [] }
        return untold
    }

    private mutating func leaveOut(through seq: UInt64) {
        guard seq > place.seq else { return }
        let leftOut = place.seq + 1...seq
        place.seq = seq
        if let last = untold.last, last.upperBound + 1 == leftOut.lowerBound || untold.count == Self.untoldMax {
            untold[untold.count - 1] = last.lowerBound...seq
        } else {
            untold.append(leftOut)
        }
    }
}
