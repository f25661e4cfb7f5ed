import ChatModel

/// The frames that one side of a connection has to send: bounded queues, one for each lane, and the receiver's credit.
///
/// Frames of a lane leave in order. Between lanes control and consensus always go first; calls and publications take
/// turns; bulk gets what they leave, and one frame in `bulkShare` all the same, so that a loaded cluster still completes
/// its replicas.
public struct LinkOutbox: Sendable {
    /// One frame in so many is of bulk, if any waits, however much the others have.
    public static let bulkShare = 16

    private struct Queue: Sendable {
        var frames = Fifo<LinkFrame>()
        var bytes = 0
        /// Sent, and not dealt with by the receiver.
        var underWay = 0
    }

    private var queues = LinkLane.allCases.map { _ in Queue() }
    private var turn = 0

    public init() {}

    /// Whether nothing waits.
    public var isEmpty: Bool { queues.allSatisfy { $0.frames.count == 0 } }

    /// Bytes of a lane that wait here.
    public func waitingBytes(_ lane: LinkLane) -> Int { queues[Int(lane.rawValue)].bytes }

    /// Puts a frame behind those of its lane.
    ///
    /// - Returns: whether it was taken. Not when the lane is full or the frame over its bound: then the caller does what
    ///   its traffic needs (consensus tries again by itself, a call is answered 503, bulk waits for `waitingBytes` to
    ///   fall, publications begin anew from the room's state).
    public mutating func offer(_ frame: LinkFrame) -> Bool {
        let place = Int(frame.lane.rawValue)
        guard frame.payload.count <= frame.lane.frameBytesMax,
            queues[place].bytes + frame.byteCount <= frame.lane.queueBytesMax
        else { return false }
        queues[place].frames.append(frame)
        queues[place].bytes += frame.byteCount
        return true
    }

    /// Takes frames to write now, about `bytes` of them (at least one, if one may go), and appends them to `output`.
    public mutating func take(about bytes: Int, into output: inout [UInt8]) {
        let enough = output.count + bytes
        while output.count < enough, let lane = nextLane() {
            let place = Int(lane.rawValue)
            guard let frame = queues[place].frames.first else { return }
            frame.append(to: &output)
            if lane.windowBytes != nil { queues[place].underWay += frame.byteCount }
            queues[place].bytes -= frame.byteCount
            queues[place].frames.removeFirst()
        }
    }

    /// The receiver has dealt with so many bytes more than it had said. More than are under way are a fault of the other
    /// side's, and count as all.
    public mutating func credited(_ bytes: UInt32, on lane: LinkLane) {
        let place = Int(lane.rawValue)
        queues[place].underWay -= min(queues[place].underWay, Int(bytes))
    }

    private mutating func nextLane() -> LinkLane? {
        for lane in [LinkLane.control, .consensus] where maySend(lane) { return lane }
        turn = (turn + 1) % (2 * Self.bulkShare)
        let order: [LinkLane] =
            turn % Self.bulkShare == 0
            ? [.bulk, .calls, .publications]
            : turn % 2 == 0 ? [.calls, .publications, .bulk] : [.publications, .calls, .bulk]
        return order.first(where: maySend)
    }

    /// A frame may go while the window is not full; so one frame may go beyond it, and a frame as big as the window is
    /// not stuck.
    private func maySend(_ lane: LinkLane) -> Bool {
        let queue = queues[Int(lane.rawValue)]
        guard queue.frames.count > 0 else { return false }
        return lane.windowBytes.map { queue.underWay < $0 } ?? true
    }
}

/// The receiver's side of the windows: gathers what was dealt with, and says so in few frames.
public struct LinkCredit: Sendable {
    private var unsaid = [Int](repeating: 0, count: LinkLane.allCases.count)
    /// Came, and no credit was said for it.
    private var uncredited = [Int](repeating: 0, count: LinkLane.allCases.count)

    public init() {}

    /// A frame has come.
    /// - Throws: `malformed` when the other side goes beyond its window: what waits here would have no bound.
    public mutating func came(on lane: LinkLane, bytes: Int) throws(LinkError) {
        guard let window = lane.windowBytes else { return }
        let place = Int(lane.rawValue)
        // A frame may begin as long as the window has one byte left.
        guard uncredited[place] < window else {
            throw LinkError(.malformed, "more than \(window) bytes of \(lane) came without credit")
        }
        uncredited[place] += bytes
    }

    /// A frame was dealt with. Returns the credit to send now: a quarter of a window at a time.
    public mutating func dealt(with lane: LinkLane, bytes: Int) -> LinkControl? {
        guard let window = lane.windowBytes else { return nil }
        let place = Int(lane.rawValue)
        unsaid[place] += bytes
        guard unsaid[place] >= window / 4 else { return nil }
        defer { unsaid[place] = 0 }
        uncredited[place] -= min(uncredited[place], unsaid[place])
        return .credit(lane, bytes: UInt32(clamping: unsaid[place]))
    }
}
