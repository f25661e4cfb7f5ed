import Callbacks
import Moderation
import Wire

/// The app's callbacks as a node's rooms begin with them.
public struct CallbackSetup: Sendable {
    public var client: CallbackClient
    public var words = WordFilter()
    /// With its secret; nil: none.
    public var hook: HookSettings?
    /// With its secret; nil: none.
    public var webhook: WebhookSettings?

    public init(client: CallbackClient) { self.client = client }
}

extension RoomHost {
    /// Sets the moderation of rooms: when this returns, every loop of this node goes by it.
    public func setModeration(_ words: WordFilter, hook: HookSettings?) async {
        await onEachLoop { callbacks in
            callbacks.words = words
            callbacks.hook = hook
        }
    }

    /// The app's webhook from here on; nil: there is none, and what it was owed is forgotten.
    public func setWebhook(_ settings: WebhookSettings?) async { await onEachLoop { $0.setWebhook(settings) } }
}
