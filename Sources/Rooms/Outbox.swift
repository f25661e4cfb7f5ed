import ChatModel
import RoomLink

/// Publications of the rooms of one loop for the gateways, collected over a turn and handed over at its end.
final class Outbox {
    private var byNode: [NodeID: [NodePublication]] = [:]
    private let sink: any PublicationSink

    init(sink: any PublicationSink) { self.sink = sink }

    func add(_ publication: NodePublication, to node: NodeID) { byNode[node, default: []].append(publication) }

    func deliver() {
        guard !byNode.isEmpty else { return }
        sink.deliver(byNode)
        byNode.removeAll(keepingCapacity: true)
    }
}
