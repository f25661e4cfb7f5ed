import ChatModel

/// The viewers of one room on one lane: a flat array, so that a broadcast is one pass without look-ups.
final class Hub {
    let room: RoomID
    private(set) var viewers: ContiguousArray<ClientConnection> = []

    init(room: RoomID) { self.room = room }

    func add(_ connection: ClientConnection) {
        guard connection.views[room] == nil else { return }
        connection.views[room] = viewers.count
        viewers.append(connection)
    }

    func remove(_ connection: ClientConnection) {
        guard let index = connection.views.removeValue(forKey: room) else { return }
        let last = viewers.removeLast()
        if last !== connection {
            viewers[index] = last
            last.views[room] = index
        }
    }

    /// One append per viewer; the writes come at the end of the turn.
    func broadcast(_ frame: LaneFrame) {
        for viewer in viewers { viewer.enqueue(frame) }
    }

    func broadcast(_ frame: LaneFrame, except excluded: [ClientConnection]) {
        for viewer in viewers where !excluded.contains(where: { $0 === viewer }) { viewer.enqueue(frame) }
    }
}
