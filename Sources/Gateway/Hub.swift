import ChatModel
import RoomLink
import Wire

/// The viewers of one room on one lane: a flat array for each form of the bytes, so that a broadcast is one pass without
/// look-ups or branches.
final class Hub {
    /// Viewers who get the same bytes.
    private struct Group {
        let encoding: ClientEncoding
        let isCompressed: Bool
        var viewers: ContiguousArray<ClientConnection> = []
    }

    let room: RoomID
    private let compression: LaneCompression?
    /// One for each form that somebody has asked for: four at most.
    private var groups: [Group] = []
    /// What viewers were not given because they were slow.
    private(set) var messagesDropped = 0
    private(set) var barrageDropped = 0

    /// What its viewers have been shown, or could not take.
    var place = StreamPlace(epoch: "", seq: .max)

    /// Only creator and managers may speak.
    var isMuted = false
    /// Of the room's barrage; nil before there was any.
    var intake: BarrageIntake?

    init(room: RoomID, compression: LaneCompression?) {
        self.room = room
        self.compression = compression
    }

    /// All of them, for people who ask about them.
    var viewers: ContiguousArray<ClientConnection> { groups.reduce(into: []) { $0 += $1.viewers } }

    var isEmpty: Bool { groups.allSatisfy(\.viewers.isEmpty) }

    private func group(of connection: ClientConnection) -> Int? {
        groups.firstIndex { $0.encoding == connection.encoding && $0.isCompressed == connection.isCompressed }
    }

    func add(_ connection: ClientConnection) {
        guard connection.views[room] == nil else { return }
        let index = group(of: connection) ?? groups.count
        if index == groups.count {
            groups.append(Group(encoding: connection.encoding, isCompressed: connection.isCompressed))
        }
        connection.views[room] = groups[index].viewers.count
        groups[index].viewers.append(connection)
    }

    /// The last one takes the place of the one who goes.
    func remove(_ connection: ClientConnection) {
        guard let place = connection.views.removeValue(forKey: room), let index = group(of: connection) else { return }
        let last = groups[index].viewers.removeLast()
        guard place < groups[index].viewers.count else { return }
        groups[index].viewers[place] = last
        last.views[room] = place
    }

    func noteDropped(_ frame: LaneFrame) {
        messagesDropped += (frame.keptSeqs?.count ?? 0) + frame.unkeptCount
        barrageDropped += frame.barrageCount
    }

    /// One append per viewer; the writes come at the end of the turn.
    func broadcast(_ shared: SharedFrame) {
        // What tells of seqs that were left out names older ones.
        if let last = shared.keptSeqs?.upperBound { place.seq = max(place.seq, last) }
        for group in groups where !group.viewers.isEmpty {
            if let frame = frame(shared, for: group) {
                for viewer in group.viewers { viewer.enqueue(frame) }
            } else {
                for viewer in group.viewers { viewer.lose(shared, of: room) }
            }
        }
    }

    func broadcast(_ shared: SharedFrame, except excluded: Set<ObjectIdentifier>) {
        for group in groups where !group.viewers.isEmpty {
            let frame = frame(shared, for: group)
            for viewer in group.viewers where !excluded.contains(ObjectIdentifier(viewer)) {
                if let frame { viewer.enqueue(frame) } else { viewer.lose(shared, of: room) }
            }
        }
    }

    /// Made once, and compressed once, for all of a group.
    private func frame(_ shared: SharedFrame, for group: Group) -> LaneFrame? {
        LaneFrame(
            shared, in: group.encoding, of: room, compression: group.isCompressed ? compression : nil)
    }

    /// Tells all viewers of messages that they can only find in history.
    func tellGap(_ seqs: ClosedRange<UInt64>) {
        place.seq = max(place.seq, seqs.upperBound)
        let push = GapPush(
            room: room, ranges: [SeqRange(from: seqs.lowerBound, to: seqs.upperBound)], cause: .slow)
        for viewer in viewers { viewer.push(.gap(push)) }
    }
}
