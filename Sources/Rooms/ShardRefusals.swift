import ChatModel
import RoomCore
import RoomLink
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
            retryAfterMs: isFailing ? 1000 : 500, field: mayAskElsewhere ? ChatError.leaderField : nil)
    }

    // MARK: - Not here

    /// This node does not lead the room, so it can't take the call.
    func refuse(_ call: RoomCall) {
        // Sessions are announced to the next leader.
        guard case .operation = call.body, let request = call.request else { return }
        guard mayAskElsewhere else { return fail(call, notLeading()) }
        tell(.retry(call.address.session, request: request), call.address, call.room)
    }

    func refuse(_ waiting: [RoomWork]) {
        for work in waiting {
            switch work {
            case .call(let call): refuse(call)
            case .server(let call): call.fail(notLeading())
            case .visit(_, let body): body(nil)
            }
        }
    }

    // MARK: - Not at all

    func fail(_ work: RoomWork, _ error: ChatError) {
        switch work {
        case .call(let call): fail(call, error)
        case .server(let call): call.fail(error)
        case .visit(_, let body): body(nil)
        }
    }

    private func fail(_ call: RoomCall, _ error: ChatError) {
        guard let request = call.request else { return }
        let output: RoomOutput
        if case .operation(.enter) = call.body {
            output = .entered(call.address.session, request: request, .failure(error))
        } else {
            output = .reply(call.address.session, request: request, .failure(error))
        }
        tell(output, call.address, call.room)
    }

    /// - Parameter isInDoubt: whether gateways are to ask again, under the same number, where the leader is.
    func fail(_ proposal: Proposal, _ error: ChatError, isInDoubt: Bool) {
        switch proposal.origin {
        case .server(let completion): completion(.failure(error))
        case .session(let to):
            guard let request = to.request else { return }
            let output =
                isInDoubt
                ? RoomOutput.retry(to.address.session, request: request)
                : .reply(to.address.session, request: request, .failure(error))
            tell(output, to.address, proposal.command.room)
        case .room: break
        }
    }

    private func tell(_ output: RoomOutput, _ address: SessionAddress, _ room: RoomID) {
        outbox.add(
            NodePublication(room: room, term: log.term, lanes: [], outputs: [.lane(address.lane, output)]),
            to: address.node)
    }
}
