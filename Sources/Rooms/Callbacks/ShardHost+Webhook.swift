import ChatModel
import EventLoop
import GroupDriver
import RoomCore
import Webhooks

/// The rooms of a shard, as far as the webhook needs them.
extension ShardHost {
    func makeWebhook() -> WebhookDispatcher {
        let (log, callbacks) = (log, context.callbacks)
        return WebhookDispatcher(
            WebhookDispatcher.Shard(
                id: shard, storage: storage, isLeader: { log.isEstablished },
                read: { [unowned self] reading, completion in
                    take(
                        .visit(reading.room) { room in
                            guard let room else { return completion(nil) }
                            // As they are now: while the room was loaded, the webhook may have been switched on.
                            guard let settings = callbacks.value.webhook else {
                                return completion(room.onLoop { $0.forgetOwed() })
                            }
                            room.onLoop {
                                $0.webhookSlice(
                                    after: reading.after, limit: reading.itemsMax, settings, completion)
                            }
                        })
                },
                record: { [unowned self] id, progress, completion in
                    take(
                        .visit(id) { [unowned self] room in
                            guard let progress = progress() else { return }
                            guard let room else { return completion(.roomIsGone) }
                            completion(record(progress, in: room))
                        })
                },
                pumpLater: { [unowned self] in noteWork() }),
            loop: context.loop, callbacks: callbacks, figures: context.figures.webhook, logger: context.logger,
            now: context.now)
    }

    /// Proposes that the room is delivered so far.
    private func record(_ given: WebhookProgress, in room: RoomActor) -> WebhookDispatcher.Record {
        var progress = given
        progress.forgotten = context.cluster.level.brings(.owedPast) ? given.forgotten ?? 0 : nil
        guard !room.onLoop({ $0.state.knowsDelivered(progress) }) else { return .isThere }
        let command = Command(id: nil, room: room.id, actor: .system, body: .webhookDelivered(progress))
        room.onLoop { $0.propose(Proposal(command: command, key: nil, origin: .room)) }
        collect(room)
        return .proposed
    }
}
