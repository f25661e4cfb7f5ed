import Callbacks
import ChatModel
import Moderation
import Wire

/// The app's callbacks as they are in force on one loop: what the rooms there are moderated by, and the webhook. Every
/// loop has its own, so that asking costs no lock.
final class LoopCallbacks {
    let client: CallbackClient
    var words = WordFilter()
    /// With its secret; nil: none.
    var hook: HookSettings? {
        didSet { if hook != oldValue { breaker = CircuitBreaker() } }
    }
    var breaker = CircuitBreaker()
    /// With its secret; nil: none.
    private(set) var webhook: WebhookSettings?
    private var dispatchers: [ShardID: WebhookDispatcher] = [:]

    init(client: CallbackClient) { self.client = client }

    /// Whether anything has to be decided about what people send.
    var moderates: Bool { !words.isEmpty || hook != nil }

    func add(_ dispatcher: WebhookDispatcher, of shard: ShardID) { dispatchers[shard] = dispatcher }

    func setWebhook(_ settings: WebhookSettings?) {
        webhook = settings
        for dispatcher in dispatchers.values { dispatcher.settingsChanged() }
    }

    /// The room owes the webhook something.
    func note(_ room: RoomID, _ shard: ShardID) { dispatchers[shard]?.note(room) }

    /// Something that goes out at best effort, if anybody wants it.
    func offer(_ event: WebhookEvent, _ shard: ShardID, _ item: () -> WebhookItem) {
        guard let webhook, webhook.wants(event) else { return }
        dispatchers[shard]?.offer(item())
    }
}
