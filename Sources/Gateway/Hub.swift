import ChatModel
import RoomProtocol
import SessionCore
import Wire

/// The viewers of one room on one lane, as an ``Audience`` for each form of the bytes that some of them understand.
final class Hub {
    let room: RoomID
    private unowned let lane: GatewayLane
    /// One for each form that somebody has asked for: six at most.
    private var audiences: [Audience] = []
    /// The compressed stream; nil while nobody reads it.
    private(set) var window: CompressedStream?
    /// The messages that viewers were not given because they were slow.
    private(set) var messagesDropped = 0
    private(set) var barrageDropped = 0

    /// The stream that its viewers have been shown, and the losses that they have still to be told.
    var shown = ShownStream()
    private(set) var totals: ToldTotals

    /// Only creator and managers may speak.
    var isMuted = false
    /// The intake of the room's barrage; nil before there was any.
    var intake: BarrageIntake?

    init(room: RoomID, lane: GatewayLane) {
        self.room = room
        self.lane = lane
        totals = ToldTotals(of: room)
    }

    /// All of them, for people who ask about them.
    var viewers: ContiguousArray<ClientConnection> {
        audiences.reduce(into: []) { $0 += $1.viewers }
    }

    var isEmpty: Bool { audiences.allSatisfy(\.isEmpty) }

    private func audience(of connection: ClientConnection) -> Audience? {
        audiences.first { $0.isFor(connection) }
    }

    private func audience(in encoding: ClientEncoding, _ form: FrameForm) -> Audience {
        if let audience = audiences.first(where: { $0.encoding == encoding && $0.form == form }) { return audience }
        let audience = Audience(room: room, encoding: encoding, form: form, lane: lane)
        audiences.append(audience)
        return audience
    }

    func add(_ connection: ClientConnection) {
        guard connection.views[room] == nil else { return }
        if connection.compression == .shared, connection.followed == nil {
            connection.followed = ClientConnection.FollowedStream(room: room)
        }
        audience(in: connection.encoding, connection.form(in: room)).add(connection)
    }

    /// Gives the viewer what it has still to be given and ends its view.
    func remove(_ connection: ClientConnection) {
        settle(connection)
        guard let index = connection.views.removeValue(forKey: room) else { return }
        audience(of: connection)?.remove(index)
        guard connection.followed?.room == room else { return }
        connection.followed = nil
        if !isStreamRead { window = nil }
    }

    /// Gives a viewer what the others may get later, because something follows that is for it alone.
    func settle(_ connection: ClientConnection) {
        guard let index = connection.views[room] else { return }
        audience(of: connection)?.settle(index)
    }

    func noteDropped(_ frame: LaneFrame) {
        messagesDropped += frame.messageCount
        barrageDropped += frame.shownBarrageCount
    }

    // MARK: - Frames

    /// For all viewers but `excluded`: made, and compressed, once for each audience, and one append.
    func broadcast(_ shared: SharedFrame, except excluded: [ClientConnection] = []) {
        lane.regroup()
        if let seqs = shared.keptSeqs { shown.show(seqs) }
        if shared.traffic == .totals, !totals.note(shared) { return }
        var frames = LaneFrames(shared, of: room, countedIn: lane.buffers)
        let inStep = isStreamRead ? continueStream(shared, except: excluded) : nil
        for audience in audiences where !audience.isEmpty {
            let made: LaneFrame?
            switch audience.form {
            case .alone: made = frames.frame(in: audience.encoding, by: lane.compression)
            case .inStep: made = inStep ?? frames.frame(in: audience.encoding)
            case .plain, .unprimed: made = frames.frame(in: audience.encoding)
            }
            guard let frame = made else {
                audience.lose(shared, except: excluded)
                continue
            }
            let others = excluded.filter { audience.isFor($0) }
            audience.append(frame, except: others.compactMap { $0.views[room] })
        }
    }

    // MARK: - The compressed stream

    /// Whether somebody reads it, or waits to.
    private var isStreamRead: Bool {
        audiences.contains { ($0.form == .inStep || $0.form == .unprimed) && !$0.isEmpty }
    }

    /// The frame for those in step, whom others have joined by then; nil where it goes to everybody as it is.
    private func continueStream(_ shared: SharedFrame, except excluded: [ClientConnection]) -> LaneFrame? {
        guard let compression = lane.compression else { return nil }
        let unprimed = audience(in: .json, .unprimed)
        var window = exchange(&window, with: nil) ?? CompressedStream(room: room)
        defer { self.window = window }
        let needsPrimer = unprimed.viewers.suffix(Self.primedAtATime).contains(where: Self.mayBePrimed)
        guard let step = window.append(shared, needsPrimer: needsPrimer, by: compression),
            let frame = LaneFrame(shared, in: .json, of: room, countedIn: lane.buffers, written: step.bytes)
        else { return nil }
        for viewer in excluded { fallBehind(viewer) }
        if let primer = step.primer { bringIntoStep(unprimed, primer, except: excluded) }
        return frame
    }

    /// Gives the primer to viewers, who then read the stream.
    private func bringIntoStep(_ unprimed: Audience, _ primer: [UInt8], except excluded: [ClientConnection]) {
        let frame = primer.isEmpty ? nil : LaneFrame(primer: primer, of: room, countedIn: lane.buffers)
        let inStep = audience(in: .json, .inStep)
        for index in unprimed.viewers.indices.suffix(Self.primedAtATime).reversed() {
            let viewer = unprimed.viewers[index]
            guard Self.mayBePrimed(viewer), !excluded.contains(where: { $0 === viewer }) else { continue }
            unprimed.settle(index)
            unprimed.remove(index)
            viewer.followed?.isInStep = true
            if let frame { viewer.enqueue(frame) }
            inStep.add(viewer)
        }
    }

    /// A viewer that has lost something is told so first.
    private static func mayBePrimed(_ viewer: ClientConnection) -> Bool {
        viewer.session?.state.losses.isEmpty == true
    }

    /// The others get their primer with a later frame.
    private static let primedAtATime = 1024

    /// The viewer has not been given all of the stream: it gets frames as they are until it is primed again.
    func fallBehind(_ viewer: ClientConnection) {
        guard let index = viewer.views[room], viewer.form(in: room) == .inStep else { return }
        let inStep = audience(in: .json, .inStep)
        inStep.settle(index)
        inStep.remove(index)
        viewer.followed = ClientConnection.FollowedStream(room: room)
        audience(in: .json, .unprimed).add(viewer)
    }

    // MARK: - Other frames

    /// Tells all viewers of messages that they can only find in history.
    func sendGap(_ seqs: ClosedRange<UInt64>) {
        shown.skip(through: seqs.upperBound)
        sendGap([seqs], .slow)
    }

    /// The room's stream goes on from what was shown: what its leader had still to tell nobody else tells. The totals
    /// follow, all of them: tallies may have been removed that nobody has told of.
    func resume() {
        totals = ToldTotals(of: room)
        let untold = shown.takeUntold()
        if !untold.isEmpty { sendGap(untold, .budget) }
    }

    /// Tells all viewers how it stands with the room: made once for each audience.
    func notify(_ state: StatePush) {
        for audience in audiences where !audience.isEmpty {
            audience.append(LaneFrame(.push(.state(state)), in: audience.encoding))
        }
    }

    private func sendGap(_ ranges: [ClosedRange<UInt64>], _ cause: GapCause) {
        let told = ranges.map { SeqRange(from: $0.lowerBound, to: $0.upperBound) }
        let push = ServerItem.push(.gap(GapPush(room: room, ranges: told, cause: cause)))
        for audience in audiences { audience.append(LaneFrame(push, in: audience.encoding)) }
    }
}
