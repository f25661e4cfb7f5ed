import ChatModel
import Moderation
import Webhooks
import Wire

extension RoomHost {
    /// Sets the moderation of rooms: when this returns, every loop of this node goes by it.
    public func setModeration(_ words: WordFilter, hook: HookSettings?, hold: HoldPolicy = HoldPolicy()) async {
        await onEachLoop { callbacks in
            callbacks.words = words
            callbacks.hook = hook
            callbacks.hold = hold
        }
    }

    /// The app's webhook from here on; nil: there is none, and what it was owed is forgotten.
    public func setWebhook(_ settings: WebhookSettings?) async { await onEachLoop { $0.setWebhook(settings) } }
}
