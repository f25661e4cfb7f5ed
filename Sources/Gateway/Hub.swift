import ChatModel
import RoomLink
import Wire

/// The viewers of one room on one lane: a flat array for each encoding, so that a broadcast is one pass without
/// look-ups or branches.
final class Hub {
    let room: RoomID
    private var json: ContiguousArray<ClientConnection> = []
    private var protobuf: ContiguousArray<ClientConnection> = []
    /// What viewers were not given because they were slow.
    private(set) var messagesDropped = 0
    private(set) var barrageDropped = 0

    /// What its viewers have been shown, or could not take.
    var place = StreamPlace(epoch: "", seq: .max)

    init(room: RoomID) { self.room = room }

    /// All of them, for people who ask about them.
    var viewers: ContiguousArray<ClientConnection> { json + protobuf }

    var isEmpty: Bool { json.isEmpty && protobuf.isEmpty }

    func add(_ connection: ClientConnection) {
        guard connection.views[room] == nil else { return }
        switch connection.encoding {
        case .json: Self.add(connection, to: &json, room)
        case .protobuf: Self.add(connection, to: &protobuf, room)
        }
    }

    private static func add(
        _ connection: ClientConnection, to viewers: inout ContiguousArray<ClientConnection>, _ room: RoomID
    ) {
        connection.views[room] = viewers.count
        viewers.append(connection)
    }

    func remove(_ connection: ClientConnection) {
        guard let index = connection.views.removeValue(forKey: room) else { return }
        switch connection.encoding {
        case .json: Self.remove(index, from: &json, room)
        case .protobuf: Self.remove(index, from: &protobuf, room)
        }
    }

    /// The last one takes the place of the one who goes.
    private static func remove(
        _ index: Int, from viewers: inout ContiguousArray<ClientConnection>, _ room: RoomID
    ) {
        let last = viewers.removeLast()
        guard index < viewers.count else { return }
        viewers[index] = last
        last.views[room] = index
    }

    func noteDropped(_ frame: LaneFrame) {
        messagesDropped += (frame.keptSeqs?.count ?? 0) + frame.unkeptCount
        barrageDropped += frame.barrageCount
    }

    /// One append per viewer; the writes come at the end of the turn.
    func broadcast(_ shared: SharedFrame) {
        // What tells of seqs that were left out names older ones.
        if let last = shared.keptSeqs?.upperBound { place.seq = max(place.seq, last) }
        broadcast(shared, in: .json, to: json)
        broadcast(shared, in: .protobuf, to: protobuf)
    }

    /// Tells all viewers of messages that they can only find in history.
    func tellGap(_ seqs: ClosedRange<UInt64>) {
        place.seq = max(place.seq, seqs.upperBound)
        let push = GapPush(
            room: room, ranges: [SeqRange(from: seqs.lowerBound, to: seqs.upperBound)], cause: .slow)
        for viewer in viewers { viewer.push(.gap(push)) }
    }

    private func broadcast(
        _ shared: SharedFrame, in encoding: ClientEncoding, to viewers: ContiguousArray<ClientConnection>
    ) {
        guard !viewers.isEmpty else { return }
        if let frame = LaneFrame(shared, in: encoding, of: room) {
            for viewer in viewers { viewer.enqueue(frame) }
        } else {
            for viewer in viewers { viewer.lose(shared, of: room) }
        }
    }

    func broadcast(_ shared: SharedFrame, except excluded: Set<ObjectIdentifier>) {
        var frames = LaneFrames(shared, of: room)
        for viewers in [json, protobuf] {
            for viewer in viewers where !excluded.contains(ObjectIdentifier(viewer)) { frames.enqueue(to: viewer) }
        }
    }
}
