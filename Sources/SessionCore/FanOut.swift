/// The frames that a room's viewers on one lane have still to be given, and how far each viewer is.
///
/// A frame is appended once and given to every viewer in rounds, which may be cut into slices of any size: between two
/// slices frames may be appended and viewers may come, go, or be given what they lack ahead of their turn (``take(_:)``,
/// before something that is for one viewer alone). Each viewer gets exactly what was appended while it was there, in
/// order and once. Viewers have indices, `0..<count`; the last one takes the place of one that goes.
///
/// Appending costs nothing per viewer. The frames that wait are bounded by the owner, who can end the round at any time.
///
/// It is inlinable: the gateway would run its generic form, which looks up its types in each call.
public struct FanOut<Frame> {
    @usableFromInline var queued: ContiguousArray<Frame> = []
    /// The number of the first of `frames`, counted from the beginning of the stream.
    @usableFromInline var first: UInt64 = 0
    /// For each viewer, the number of the next frame that it gets.
    @usableFromInline var places: ContiguousArray<UInt64> = []
    /// The round goes downwards: viewers from here on have had their turn. So whoever takes the place of a viewer that
    /// has gone has had it too, or still gets it.
    @usableFromInline var cursor = 0
    /// When the round is over, everybody has been given the frames before this one.
    @usableFromInline var target: UInt64 = 0

    @inlinable
    public init() {}

    /// Frames that not everybody has been given yet, in order.
    @inlinable public var frames: ContiguousArray<Frame> { queued }

    /// The number of viewers.
    @inlinable public var count: Int { places.count }

    /// Whether every viewer has been given everything.
    @inlinable public var isIdle: Bool { queued.isEmpty }

    /// The number of the frame that will be appended next.
    @inlinable var end: UInt64 { first &+ UInt64(queued.count) }

    /// A frame for all viewers of now; nothing without viewers.
    @inlinable
    public mutating func append(_ frame: Frame) {
        guard !places.isEmpty else { return }
        if queued.isEmpty { (cursor, target) = (places.count, first + 1) }
        queued.append(frame)
    }

    /// A viewer that gets what is appended from now on. Its index is the former ``count``.
    @inlinable
    public mutating func add() { places.append(end) }

    /// The viewer at `index` gets nothing more; the last one has its index from now on.
    @inlinable
    public mutating func remove(_ index: Int) {
        let last = places.removeLast()
        if index < places.count { places[index] = last }
        cursor = min(cursor, places.count)
        if places.isEmpty {
            first = end
            queued = []
        }
    }

    /// The frames that the viewer at `index` has not been given: it gets them now, ahead of its turn.
    @inlinable
    public mutating func take(_ index: Int) -> ArraySlice<Frame> {
        let lacking = Int(places[index] &- first)
        places[index] = end
        return lacking < queued.count ? ArraySlice(queued[lacking...]) : []
    }

    /// Goes on with the round: gives what they lack to the next viewers, at most `limit` of them.
    ///
    /// - Parameter give: gets the viewer's index and from which of ``frames`` on it lacks them, always at least the
    ///   last. It must not use this value.
    /// - Returns: the frames that everybody has now, when this ended the round; else nil.
    @inlinable
    public mutating func walk(atMost limit: Int, _ give: (_ index: Int, _ from: Int) -> Void)
        -> ArraySlice<Frame>?
    {
        let (first, end, begin, stop) = (first, end, cursor, max(0, cursor - limit))
        places.withUnsafeMutableBufferPointer { places in
            var index = begin
            while index > stop {
                index -= 1
                let place = places[index]
                guard place != end else { continue }
                places[index] = end
                give(index, Int(truncatingIfNeeded: place &- first))
            }
        }
        cursor = stop
        return stop == 0 ? endRound() : nil
    }

    @inlinable
    mutating func endRound() -> ArraySlice<Frame> {
        let done = Int(target &- first)
        let given = ArraySlice(queued[..<done])
        if done == queued.count { queued.removeAll() } else { queued.removeFirst(done) }
        first = target
        cursor = places.count
        // Frames that came during the round: counted from the `first` of now.
        target = end
        return given
    }
}
