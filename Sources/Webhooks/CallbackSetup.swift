import ChatModel
import Moderation
import Wire

/// The app's callbacks as a node's rooms begin with them.
public struct CallbackSetup: Sendable {
    public var client: CallbackClient
    public var words = WordFilter()
    /// With its secret; nil: none.
    public var hook: HookSettings?
    /// How held messages end.
    public var hold = HoldPolicy()
    /// With its secret; nil: none.
    public var webhook: WebhookSettings?

    public init(client: CallbackClient) { self.client = client }
}
