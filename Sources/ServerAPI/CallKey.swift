/// The identity of a call, which a repeat shares: the same key with another call is another call.
public struct CallKey: Sendable, Hashable {
    /// Method and path, as sent.
    public var call: String
    /// The caller's `Idempotency-Key`, or the `clientId` of a message.
    public var text: String

    public init(call: String, text: String) {
        self.call = call
        self.text = text
    }
}
