import ChatModel
import RoomCore
import RoomProtocol
import Telemetry
import Wire

/// Results of commands on their way to those who asked.
extension RoomActor {
    /// A result as it is shown; a member as listings show it: with the present stay, except for whoever is just being thrown out.
    private func complete(_ result: CommandResult) -> CommandResult {
        let durable: Member
        switch result {
        case .room(let info): return .room(shown(info))
        case .pinned(let pinned): return .pinned(shown(pinned))
        case .member(let member): durable = member
        default: return result
        }
        var member = durable
        member.online = false
        member = presence.overlay(member)
        if member.blacklisted { (member.online, member.enteredAt) = (false, nil) }
        return .member(member)
    }

    func answer(_ origin: Proposal.Origin, _ result: CommandResult, isRepeat: Bool) {
        if case .amendedBefore(let messageID) = result { return answerRepeatedAmend(of: messageID, to: origin) }
        if case .decidedBefore(let messageID?) = result { return answerRepeatedDecision(messageID, to: origin) }
        let result = complete(result)
        switch origin {
        case .room:
            break
        case .batch(let batches):
            if case .refused(let error) = result { batches.refused(error) }
        case .taps(let lane, let window):
            switch result {
            case .tapped(let results): stream.notify(lane, .taps(window: window, .success(results)))
            case .refused(let error): stream.notify(lane, .taps(window: window, .failure(error)))
            default: break
            }
        case .server(let to):
            if case .refused(let error) = result {
                answer(to, .failure(error))
            } else {
                answer(to, .success(.command(result)))
            }
        case .session(let to):
            if to.answer.isOfMessage { count(result, startedAt: to.startedAt) }
            guard let request = to.request else { return }
            var isRefused = false
            if case .refused = result { isRefused = true }
            stream.notify(
                Lane(node: to.address.node, number: to.address.lane),
                .reply(
                    to.address.session, request: request,
                    placed(to.answer.answer(result, online: state.exists ? Int64(presence.online) : 0)),
                    isRepeat: isRepeat && !isRefused, charged: isRepeat && !isRefused ? 0 : to.charged))
        }
    }

    func answer(_ to: ServerOrigin, _ result: Result<RoomAnswer, ChatError>) {
        turn.answers.append((to.node, ServerAnswer(to: to, .answered(result))))
    }

    private func count(_ result: CommandResult, startedAt: ContinuousClock.Instant) {
        guard case .refused = result else {
            context.figures.acked.add()
            return context.figures.ack.record(seconds: (ContinuousClock.now - startedAt) / .seconds(1))
        }
        context.figures.refused.add()
    }
}
