import ChatModel
import GroupDriver
import RoomCore
import RoomProtocol
import Wire

/// Answers to calls and commands that a shard's host can't take, or has to give up.
struct ShardRefusals {
    let log: GroupLog
    let outbox: Outbox

    /// Whether another node could; what a sole voter can't write nobody can.
    var mayAskElsewhere: Bool { !(isFailing && log.isSoleVoter) }
    /// This node's disk takes nothing: what is to be durable goes to others at once, or to nobody.
    private var isFailing: Bool { log.hasFailed || !log.takesWrites }

    func notLeading(_ reason: String = "no leader for this room yet") -> ChatError {
        ChatError(
            .unavailable, isFailing ? "this node can't write to its disk; it keeps trying" : reason,
            retryAfterMs: isFailing ? 1000 : 500)
    }

    // MARK: - Not here

    /// This node does not lead the room, so it can't take the call.
    func refuse(_ request: RoomRequest) {
        // Sessions are announced to the next leader.
        guard request.isAsked else { return }
        guard mayAskElsewhere else { return fail(request, notLeading()) }
        switch request.origin {
        case .session(let session):
            guard let number = session.request else { return }
            notify(.retry(session.address.session, request: number), session.address, request.room)
        case .server(let server):
            outbox.add(ServerAnswer(to: server, .retry), to: server.node)
        }
    }

    func refuse(_ waiting: [RoomWork]) {
        for work in waiting {
            switch work {
            case .request(let request): refuse(request)
            case .visit(_, let body): body(nil)
            }
        }
    }

    // MARK: - Not at all

    func fail(_ work: RoomWork, _ error: ChatError) {
        switch work {
        case .request(let request): fail(request, error)
        case .visit(_, let body): body(nil)
        }
    }

    private func fail(_ request: RoomRequest, _ error: ChatError) {
        switch request.origin {
        case .session(let session):
            guard let number = session.request else { return }
            let output: RoomOutput
            if case .operation(.enter) = request.body {
                output = .entered(session.address.session, request: number, .failure(error))
            } else {
                output = .reply(session.address.session, request: number, .failure(error))
            }
            notify(output, session.address, request.room)
        case .server(let server):
            outbox.add(ServerAnswer(to: server, .answered(.failure(error))), to: server.node)
        }
    }

    /// - Parameter isInDoubt: whether it is to be asked again, under the same number, where the leader is.
    func fail(_ proposal: Proposal, _ error: ChatError, isInDoubt: Bool) {
        switch proposal.origin {
        case .server(let to):
            outbox.add(ServerAnswer(to: to, isInDoubt ? .retry : .answered(.failure(error))), to: to.node)
        case .session(let to):
            guard let request = to.request else { return }
            let output =
                isInDoubt
                ? RoomOutput.retry(to.address.session, request: request)
                : .reply(to.address.session, request: request, .failure(error))
            notify(output, to.address, proposal.command.room)
        case .batch(let batches): batches.refused(error)
        case .taps(let lane, let window):
            // In doubt, the lane sends it again under the same number.
            guard !isInDoubt else { return }
            outbox.add(
                NodePublication(
                    room: proposal.command.room, term: log.term, lanes: [],
                    outputs: [.lane(lane.number, .taps(window: window, .failure(error)))]), to: lane.node)
        case .room: break
        }
    }

    private func notify(_ output: RoomOutput, _ address: SessionAddress, _ room: RoomID) {
        outbox.add(
            NodePublication(room: room, term: log.term, lanes: [], outputs: [.lane(address.lane, output)]),
            to: address.node)
    }
}
