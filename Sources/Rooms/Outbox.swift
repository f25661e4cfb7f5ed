import RoomCore
import RoomLink

/// What the rooms of one loop have for the lanes, collected over a turn and handed over once per lane.
final class Outbox {
    private var byLane: [Lane: [Publication]] = [:]
    private let sink: any PublicationSink

    init(sink: any PublicationSink) { self.sink = sink }

    func add(_ publication: Publication, to lane: Lane) { byLane[lane, default: []].append(publication) }

    func deliver() {
        guard !byLane.isEmpty else { return }
        for (lane, publications) in byLane { sink.deliver(publications, to: lane.number, of: lane.node) }
        byLane.removeAll(keepingCapacity: true)
    }
}
