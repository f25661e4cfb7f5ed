import ChatModel
import RoomProtocol
import SessionCore
import Transport

/// The viewers of one room on one lane who are given the same bytes.
///
/// A frame costs nothing per viewer when it comes. Its round costs one write per viewer, of everything that this viewer
/// has still to be given; whoever cannot be written to, because something of its own waits or its socket is full, gets
/// the frames into its own, bounded queue. The rounds are driven by the lane, slice by slice.
final class Audience {
    let room: RoomID
    let encoding: ClientEncoding
    let form: FrameForm
    private unowned let lane: GatewayLane
    // By index, like the places in `fanOut`:
    private(set) var viewers: ContiguousArray<ClientConnection> = []
    private var targets: ContiguousArray<WriteTarget> = []
    private var fanOut = FanOut<LaneFrame>()
    private var pieces = FramePieces()
    private var waitingBytes = 0
    /// While viewers are written to nobody comes, goes or is settled: release builds do not check that `fanOut` is used once
    /// at a time.
    private var isWalking = false

    /// Whether the lane has it in its list of those that have frames to give.
    var isActive = false
    var window = DeliveryWindow()

    init(room: RoomID, encoding: ClientEncoding, form: FrameForm, lane: GatewayLane) {
        self.room = room
        self.encoding = encoding
        self.form = form
        self.lane = lane
    }

    var isEmpty: Bool { viewers.isEmpty }

    /// Whether the connection takes the bytes that this audience is given.
    func isFor(_ connection: ClientConnection) -> Bool {
        connection.encoding == encoding && connection.form(in: room) == form
    }

    /// Whether everybody has been given everything.
    var isIdle: Bool { fanOut.isIdle }

    // MARK: - Viewers

    /// The connection sees what is appended from now on.
    func add(_ connection: ClientConnection) {
        precondition(!isWalking, "a viewer came in the middle of a round")
        connection.views[room] = viewers.count
        viewers.append(connection)
        targets.append(connection.tcp.writeTarget)
        fanOut.add()
    }

    /// The viewer at `index` has left and gets nothing more; the last one takes its place.
    func remove(_ index: Int) {
        precondition(!isWalking, "a viewer left in the middle of a round")
        let last = viewers.removeLast()
        let target = targets.removeLast()
        fanOut.remove(index)
        if viewers.isEmpty { waitingBytes = 0 }
        guard index < viewers.count else { return }
        viewers[index] = last
        targets[index] = target
        last.views[room] = index
    }

    /// Gives the viewer at `index` what it lacks, before something that is for it alone.
    func settle(_ index: Int) {
        precondition(!isWalking, "a viewer was settled in the middle of a round")
        guard !fanOut.isIdle else { return }
        let frames = fanOut.take(index)
        if !frames.isEmpty { viewers[index].give(frames) }
    }

    // MARK: - Frames

    /// A frame for all viewers, but for those at the given indices, who have had something else in its place.
    func append(_ frame: LaneFrame, except excluded: [Int] = []) {
        guard !viewers.isEmpty else { return }
        for index in excluded { settle(index) }
        fanOut.append(frame)
        for index in excluded { _ = fanOut.take(index) }
        waitingBytes += frame.byteCount
        // A viewer that has had something else in its place counts too.
        lane.deliveredMessages += frame.messageCount * viewers.count
        lane.deliveredBarrage += frame.shownBarrageCount * viewers.count
        pieces = FramePieces()
        if waitingBytes > Self.waitingBytesMax {
            // The lane can't keep up: nothing else is served until this is.
            while lane.resume(with: self, atMost: .max) {}
        } else {
            lane.activate(self)
        }
    }

    /// Frames wait for a round once, not once per viewer; more than this ends the round at once.
    private static let waitingBytesMax = 1024 * 1024

    /// A frame of which the room has made no bytes for these viewers.
    func lose(_ shared: SharedFrame, except excluded: [ClientConnection]) {
        let spared = Set(excluded.map { ObjectIdentifier($0) })
        for index in viewers.indices where !spared.contains(ObjectIdentifier(viewers[index])) {
            settle(index)
            viewers[index].lose(shared, of: room)
        }
    }

    /// Goes on with the round: at most `limit` viewers are written to. Returns the frames that everybody has now, when
    /// this ended the round; else nil.
    ///
    /// The hot path: no counting of references, no allocation and no look-up per viewer. With TLS each viewer's bytes
    /// are sealed from the same plain ones, several frames in one record.
    @inline(never)
    func walk(atMost limit: Int) -> ArraySlice<LaneFrame>? {
        guard !fanOut.isIdle else { return [] }
        let frames = fanOut.frames
        var pieces = exchange(&self.pieces, with: FramePieces())
        if pieces.isEmpty { pieces = FramePieces(of: frames) }
        var sentBytes = 0
        isWalking = true
        defer { isWalking = false }
        let given = targets.withUnsafeBufferPointer { targets in
            fanOut.walk(atMost: limit) { index, from in
                var from = from
                repeat {
                    let piece = pieces.piece(from: from)
                    let target = targets[index]
                    let taken =
                        target.isSealed ? viewers[index].tcp.tryWrite(piece.bytes) : target.tryWrite(piece.bytes)
                    sentBytes += taken
                    guard taken == piece.bytes.count else {
                        return viewers[index].give(frames[from...], taken: taken)
                    }
                    from = piece.end
                } while from < frames.count
            }
        }
        lane.sentBytes += sentBytes
        if let given {
            for frame in given { waitingBytes -= frame.byteCount }
        } else {
            self.pieces = pieces
        }
        return given
    }
}
