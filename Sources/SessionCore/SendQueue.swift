import ChatModel

/// The knowledge that the send queue needs of a frame.
public protocol QueuedFrame {
    var byteCount: Int { get }
    var traffic: FrameTraffic { get }
    /// nil for what belongs to no room.
    var room: RoomID? { get }
    /// The seqs in it, if any.
    var keptSeqs: ClosedRange<UInt64>? { get }
    var unkeptCount: Int { get }
    var barrageCount: Int { get }
}

/// Classes of frames, by what may happen to them under pressure.
public enum FrameTraffic: Sendable, Hashable {
    /// Answers and pushes to this session alone: never dropped.
    case reply
    /// Messages of a room: replaced by a `gap`.
    case messages
    /// Dropped first, and counted; by the highest priority in it, LOW before HIGH.
    case barrage(Priority)
    /// Counts and states: dropped with barrage; the next one says more.
    case status
    /// Totals of tallies: dropped in the same way; the next frame says others, so all are told when the client keeps up.
    case totals
}

/// Frames that wait for one connection whose socket is full, bounded in bytes.
///
/// 1. Order is kept: a frame goes out after all that were queued before it.
/// 2. At the bound status and barrage go first (LOW, NORMAL, HIGH), then all messages; replies never (whoever asks too much is read no
///    further until the socket has taken the answers).
/// 3. Nothing is dropped silently: what went is returned as `Loss`es, of which the session tells its client.
/// 4. A frame of which a byte was written is finished first, so it is not in the queue any more.
public struct SendQueue<Frame: QueuedFrame> {
    /// Waiting frames start at `head`; the array is compacted when half of it is dead. A `Fifo` would cost several times as
    /// much in `shed`: nothing specialises one generic type within another, so each call looks up what it is made of.
    private var frames: ContiguousArray<Frame> = []
    private var head = 0
    public private(set) var byteCount = 0
    /// The part of ``byteCount`` that nobody else holds: frames that are for this connection alone.
    public private(set) var ownByteCount = 0

    public init() {}

    public var isEmpty: Bool { head == frames.count }
    public var count: Int { frames.count - head }
    public var first: Frame? { isEmpty ? nil : frames[head] }

    public mutating func append(_ frame: Frame) {
        frames.append(frame)
        byteCount += frame.byteCount
        if frame.traffic == .reply { ownByteCount += frame.byteCount }
    }

    public mutating func popFirst() -> Frame? {
        guard head < frames.count else { return nil }
        let frame = frames[head]
        head += 1
        byteCount -= frame.byteCount
        if frame.traffic == .reply { ownByteCount -= frame.byteCount }
        if head == frames.count {
            frames = []
            head = 0
        } else if head > 64, head * 2 > frames.count {
            frames.removeFirst(head)
            head = 0
        }
        return frame
    }

    /// Drops what may be dropped until at most `bytesMax` wait: status and LOW barrage, oldest first, then NORMAL, then
    /// HIGH barrage; then all messages, because a viewer who is that far behind reads history, and one gap is better than
    /// many.
    /// - Parameter dropped: told of each frame that went, for the figures.
    public mutating func shed(to bytesMax: Int, losses: inout Losses, dropped: (Frame) -> Void = { _ in }) {
        for priority in [Priority.low, .normal, .high] {
            shed(to: bytesMax, &losses, dropped) { traffic in
                traffic == .barrage(priority) || priority == .low && (traffic == .status || traffic == .totals)
            }
        }
        if byteCount > bytesMax { shed(to: 0, &losses, dropped) { $0 == .messages } }
    }

    private mutating func shed(
        to bytesMax: Int, _ losses: inout Losses, _ dropped: (Frame) -> Void, _ mayGo: (FrameTraffic) -> Bool
    ) {
        guard byteCount > bytesMax else { return }
        var kept: ContiguousArray<Frame> = []
        for frame in frames[head...] {
            if byteCount > bytesMax, mayGo(frame.traffic) {
                byteCount -= frame.byteCount
                losses.note(frame)
                dropped(frame)
            } else {
                kept.append(frame)
            }
        }
        frames = kept
        head = 0
    }
}
