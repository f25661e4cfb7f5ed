import ChatModel
import Gateway
import RoomProtocol
import Synchronization
import Wire

/// Rooms that keep nothing: every message is acked and shown in the turn in which it came. For a gateway with one loop,
/// which calls it.
final class EphemeralRooms: RoomRouter {
    private struct Answers {
        var outputs: [RoomOutput] = []
        var entered: [RoomOutput] = []
        var writer = SharedFrameWriter([.json])
        var seqs: ClosedRange<UInt64>?
    }

    private let node: NodeID
    private let lastSeqs = Mutex<[RoomID: UInt64]>([:])
    private let gateway = Mutex<Gateway?>(nil)

    init(node: NodeID) { self.node = node }

    func serve(_ gateway: Gateway) { self.gateway.withLock { $0 = gateway } }

    func route(_ calls: [RoomRequest], to node: NodeID, from lane: Int) {
        var byRoom: [RoomID: Answers] = [:]
        for call in calls {
            if case .operation(let operation) = call.body, let session = call.session {
                answer(operation, of: call.room, session, &byRoom[call.room, default: Answers()])
            }
        }
        let publications = byRoom.map { room, answers in
            var outputs = answers.outputs
            if let seqs = answers.seqs { outputs.append(.frame(answers.writer.frame(.messages, keptSeqs: seqs))) }
            return NodePublication(
                room: room, term: 1, lanes: [lane], outputs: (outputs + answers.entered).map { .lane(lane, $0) })
        }
        gateway.withLock { $0 }?.deliver(publications, from: self.node)
    }

    func ask(_ request: TallyRequest, of node: NodeID) {}
    func recount(_ recount: LaneRecount, at node: NodeID) {}
    func notify(_ uses: [UserUse]) {}
    func drop(_ node: NodeID) {}
    func reaches(_ node: NodeID) -> Bool { true }

    private func answer(
        _ operation: ClientOperation, of room: RoomID, _ origin: SessionOrigin, _ answers: inout Answers
    ) {
        guard let request = origin.request else { return }
        let session = origin.address.session
        switch operation {
        case .enter:
            var result = EnterResult.blank
            result.epoch = "1"
            // Runs at the turn's end, after the turn's messages have been shown.
            result.seq = lastSeqs.withLock { $0[room] ?? 0 }
            answers.entered.append(.entered(session, request: request, .success(result)))
        case .exit:
            answers.outputs.append(.exited(session, request: request))
        case .send(let send):
            let seq = lastSeqs.withLock { seqs in
                seqs[room, default: 0] += 1
                return seqs[room] ?? 0
            }
            var message = Message(
                room: room, place: .kept(seq: seq), messageID: "1000000000000-\(seq)", time: Self.time,
                from: Sender(user: origin.caller.user, profile: origin.caller.tokenProfile, role: .guest),
                body: send.draft.body)
            message.clientID = send.clientID
            answers.outputs.append(
                .reply(
                    session, request: request,
                    .success(.send(SendResult(messageID: message.messageID, time: Self.time, place: .kept(seq: seq))))))
            answers.writer.append(message)
            answers.seqs = (answers.seqs?.lowerBound ?? seq)...seq
        default:
            answers.outputs.append(
                .reply(session, request: request, .failure(ChatError(.badParameter, "these rooms only show messages"))))
        }
    }

    static let time = Timestamp(1_700_000_000_000)
}
