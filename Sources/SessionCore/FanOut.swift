/// The frames that a room's viewers on one lane have still to be given, and how far each viewer is.
///
/// A frame is appended once and given to every viewer in rounds, which may be cut into slices of any size: between two
/// slices frames may be appended and viewers may come, go, or be given what they lack ahead of their turn (``take(_:)``,
/// before something that is for one viewer alone). Each viewer gets exactly what was appended while it was there, in
/// order and once. Viewers have indices, `0..<count`; the last one takes the place of one that goes.
///
/// Appending costs nothing per viewer. The frames that wait are bounded by the owner, who can end the round at any time.
public struct FanOut<Frame> {
    /// Frames that not everybody has been given yet, in order.
    public private(set) var frames: ContiguousArray<Frame> = []
    /// The number of the first of `frames`, counted from the beginning of the stream.
    @usableFromInline var first: UInt64 = 0
    /// For each viewer, the number of the next frame that it gets.
    @usableFromInline var places: ContiguousArray<UInt64> = []
    /// The round goes downwards: viewers from here on have had their turn. So whoever takes the place of a viewer that
    /// has gone has had it too, or still gets it.
    @usableFromInline var cursor = 0
    /// When the round is over, everybody has been given the frames before this one.
    @usableFromInline var target: UInt64 = 0

    public init() {}

    /// The number of viewers.
    @inlinable public var count: Int { places.count }

    /// Whether every viewer has been given everything.
    public var isIdle: Bool { frames.isEmpty }

    /// The number of the frame that will be appended next.
    @inlinable var end: UInt64 { first &+ UInt64(frames.count) }

    /// A frame for all viewers of now; nothing without viewers.
    public mutating func append(_ frame: Frame) {
        guard !places.isEmpty else { return }
        if frames.isEmpty { (cursor, target) = (places.count, first + 1) }
        frames.append(frame)
    }

    /// A viewer that gets what is appended from now on. Its index is the former ``count``.
    public mutating func add() { places.append(end) }

    /// The viewer at `index` gets nothing more; the last one has its index from now on.
    public mutating func remove(_ index: Int) {
        let last = places.removeLast()
        if index < places.count { places[index] = last }
        cursor = min(cursor, places.count)
        if places.isEmpty {
            first = end
            frames = []
        }
    }

    /// The frames that the viewer at `index` has not been given: it gets them now, ahead of its turn.
    public mutating func take(_ index: Int) -> ArraySlice<Frame> {
        let lacking = Int(places[index] &- first)
        places[index] = end
        return lacking < frames.count ? ArraySlice(frames[lacking...]) : []
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

    @usableFromInline
    mutating func endRound() -> ArraySlice<Frame> {
        let done = Int(target &- first)
        let given = ArraySlice(frames.prefix(done))
        frames.removeFirst(done)
        first = target
        cursor = places.count
        // Frames that came during the round: counted from the `first` of now.
        target = end
        return given
    }
}
