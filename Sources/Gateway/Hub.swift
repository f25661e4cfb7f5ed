import ChatModel
import RoomProtocol
import Wire

/// The viewers of one room on one lane, as an ``Audience`` for each form of the bytes that some of them understand.
final class Hub {
    let room: RoomID
    private unowned let lane: GatewayLane
    /// One for each form that somebody has asked for: four at most.
    private var audiences: [Audience] = []
    /// The messages that viewers were not given because they were slow.
    private(set) var messagesDropped = 0
    private(set) var barrageDropped = 0

    /// The stream that its viewers have been shown, and the losses that they have still to be told.
    var shown = ShownStream()

    /// Only creator and managers may speak.
    var isMuted = false
    /// The intake of the room's barrage; nil before there was any.
    var intake: BarrageIntake?

    init(room: RoomID, lane: GatewayLane) {
        self.room = room
        self.lane = lane
    }

    /// All of them, for people who ask about them.
    var viewers: ContiguousArray<ClientConnection> {
        audiences.reduce(into: []) { $0 += $1.viewers }
    }

    var isEmpty: Bool { audiences.allSatisfy(\.isEmpty) }

    private func audience(of connection: ClientConnection) -> Audience? {
        audiences.first { $0.isFor(connection) }
    }

    func add(_ connection: ClientConnection) {
        guard connection.views[room] == nil else { return }
        if let audience = audience(of: connection) { return audience.add(connection) }
        let audience = Audience(
            room: room, encoding: connection.encoding, isCompressed: connection.isCompressed, lane: lane)
        audiences.append(audience)
        audience.add(connection)
    }

    /// Gives the viewer what it has still to be given and ends its view.
    func remove(_ connection: ClientConnection) {
        settle(connection)
        guard let index = connection.views.removeValue(forKey: room) else { return }
        audience(of: connection)?.remove(index)
    }

    /// Gives a viewer what the others may get later, because something follows that is for it alone.
    func settle(_ connection: ClientConnection) {
        guard let index = connection.views[room] else { return }
        audience(of: connection)?.settle(index)
    }

    func noteDropped(_ frame: LaneFrame) {
        messagesDropped += frame.messageCount
        barrageDropped += frame.barrageCount
    }

    // MARK: - Frames

    /// For all viewers but `excluded`: made, and compressed, once for each audience, and one append.
    func broadcast(_ shared: SharedFrame, except excluded: [ClientConnection] = []) {
        if let seqs = shared.keptSeqs { shown.show(seqs) }
        for audience in audiences where !audience.isEmpty {
            let compression = audience.isCompressed ? lane.compression : nil
            let made = LaneFrame(
                shared, in: audience.encoding, of: room, countedIn: lane.buffers, compression: compression)
            guard let frame = made else {
                audience.lose(shared, except: excluded)
                continue
            }
            let others = excluded.filter { audience.isFor($0) }
            audience.append(frame, except: others.compactMap { $0.views[room] })
        }
    }

    /// Tells all viewers of messages that they can only find in history.
    func tellGap(_ seqs: ClosedRange<UInt64>) {
        shown.skip(through: seqs.upperBound)
        tellGap([seqs], .slow)
    }

    /// The room's stream goes on from what was shown: what its leader had still to tell nobody else tells.
    func goOn() {
        let untold = shown.takeUntold()
        if !untold.isEmpty { tellGap(untold, .budget) }
    }

    /// Tells all viewers how it stands with the room: made once for each audience.
    func tell(_ state: StatePush) {
        for audience in audiences where !audience.isEmpty {
            audience.append(LaneFrame(.push(.state(state)), in: audience.encoding))
        }
    }

    private func tellGap(_ ranges: [ClosedRange<UInt64>], _ cause: GapCause) {
        let told = ranges.map { SeqRange(from: $0.lowerBound, to: $0.upperBound) }
        let push = ServerItem.push(.gap(GapPush(room: room, ranges: told, cause: cause)))
        for audience in audiences { audience.append(LaneFrame(push, in: audience.encoding)) }
    }
}
