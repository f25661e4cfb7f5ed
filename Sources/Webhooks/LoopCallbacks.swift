import ChatModel
import Moderation
import Wire

/// The app's callbacks as they are in force on one loop: what the rooms there are moderated by, and the webhook. Every
/// loop has its own, so that asking costs no lock.
package final class LoopCallbacks {
    package let client: CallbackClient
    package var words = WordFilter()
    /// With its secret; nil: none.
    package var hook: HookSettings? {
        didSet { if hook != oldValue { breaker = CircuitBreaker() } }
    }
    /// How held messages end.
    package var hold = HoldPolicy()
    package var breaker = CircuitBreaker()
    /// With its secret; nil: none.
    package private(set) var webhook: WebhookSettings?
    private var dispatchers: [ShardID: WebhookDispatcher] = [:]

    package init(client: CallbackClient) { self.client = client }

    /// Whether anything has to be decided about what people send.
    package var moderates: Bool { !words.isEmpty || hook != nil }

    package func add(_ dispatcher: WebhookDispatcher, of shard: ShardID) { dispatchers[shard] = dispatcher }

    package func setWebhook(_ settings: WebhookSettings?) {
        webhook = settings
        for dispatcher in dispatchers.values { dispatcher.settingsChanged() }
    }

    /// The room owes the webhook something.
    package func note(_ room: RoomID, _ shard: ShardID) { dispatchers[shard]?.note(room) }

    /// Something that goes out at best effort, if anybody wants it.
    package func offer(_ event: WebhookEvent, _ shard: ShardID, _ item: () -> WebhookItem) {
        guard let webhook, webhook.wants(event) else { return }
        dispatchers[shard]?.offer(item())
    }
}
