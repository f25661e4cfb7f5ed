import ChatModel
import EventLoop
import GroupDriver
import RoomCore
import Webhooks

/// The facts of a command that the room knows without asking storage.
extension RoomActor {
    func facts(_ users: [UserID], _ body: CommandBody? = nil) -> CommandFacts {
        var names: [UserID: Profile] = [:]
        for user in users { names[user] = presence.profile(of: user) }
        var facts = CommandFacts(policy: context.policy, names: names)
        facts.webhook = context.callbacks.value.webhook != nil
        if case .setBlacklist(let user, enable: true, _)? = body {
            facts.addressHash = presence.visitors(of: user).last { $0.anonymous }?.addressHash
            facts.addressBarSeconds = context.policy.anonymousBarSeconds
        }
        if case .registerUpload(let draft)? = body {
            let random = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
            facts.mediaID = MediaID(in: id, random: random, isAvatar: draft.kind == .avatar).text
        }
        if body?.namesContent == true { facts.keptSince = contentKeptSince }
        if case .openPoll? = body {
            facts.pollKey = PollKey(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
        }
        switch body {
        case .pin, .report, .importMessages: facts.keptSince = visibleSince
        // For rooms that have no life of their own.
        case .updateRoom(let set, _) where set.historyDays != nil:
            facts.keptSince = context.policy.keptSince(context.now())
        // The message that waits may name content.
        case .decideHeld, .expire:
            if state.heldCount > 0 {
                facts.keptSince = contentKeptSince
                facts.heldBySender = context.cluster.level.brings(.held)
            }
        default: break
        }
        if case .post(let draft)? = body, !draft.to.isEmpty {
            facts.delivered = Int64(Set(draft.to).count { presence.isAddressable($0) })
        }
        return facts
    }
}
