import ChatModel
import RoomProtocol

/// Publications of the rooms of one loop for the gateways, and behind them answers to the server API: collected over a
/// turn and handed over at its end.
final class Outbox {
    private var byNode: [NodeID: [NodePublication]] = [:]
    private var answers: [NodeID: [ServerAnswer]] = [:]
    private let sink: any PublicationSink

    init(sink: any PublicationSink) { self.sink = sink }

    func add(_ publication: NodePublication, to node: NodeID) { byNode[node, default: []].append(publication) }

    func add(_ answer: ServerAnswer, to node: NodeID) { answers[node, default: []].append(answer) }

    func deliver() {
        if !byNode.isEmpty {
            sink.deliver(byNode)
            byNode.removeAll(keepingCapacity: true)
        }
        guard !answers.isEmpty else { return }
        sink.answer(answers)
        answers.removeAll(keepingCapacity: true)
    }
}
