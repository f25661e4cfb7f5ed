import ChatModel
import ClientCore
import Wire

/// Messages that wait for a manager. Only where `features` has `held`.
extension Chatroom {
    /// A page of the messages that wait, the oldest first; for managers. The ID of each is its `heldID`.
    /// - Parameter after: `next` of the page before.
    public func held(after: String? = nil, limit: Int64 = Limits.pageItemsDefault) async throws(ClientError)
        -> Page<Message, String>
    {
        let request = HeldRequest(room: id, after: after, limit: limit)
        guard case .held(let result) = try await client.perform(.held(request)) else { throw .mismatch }
        return Page(items: result.messages ?? [], next: result.next)
    }

    /// Lets a held message through: it becomes a message now. 409 when somebody else was faster.
    /// - Returns: the message; nil when it has expired since.
    @discardableResult
    public func allowHeld(_ heldID: String) async throws(ClientError) -> Message? {
        try await decide(heldID, HeldDecision(isAllowed: true))
    }

    /// Denies a held message. 409 when somebody else was faster.
    /// - Parameter reason: for its sender, at most 256 bytes.
    public func denyHeld(_ heldID: String, reason: String? = nil) async throws(ClientError) {
        _ = try await decide(heldID, HeldDecision(isAllowed: false, reason: reason))
    }

    private func decide(_ heldID: String, _ decision: HeldDecision) async throws(ClientError) -> Message? {
        let request = HeldRequest(room: id, heldID: heldID, decision, clientID: Self.freshID())
        guard case .held(let result) = try await client.perform(.held(request)) else { throw .mismatch }
        return result.message
    }
}
