import ChatModel
import ClientCore
import Wire

/// Looking for messages. Only where `features` has `search`.
extension Chatroom {
    /// A page of the messages that have a text, the newest first; for managers. Beginnings of words are found, and single
    /// characters of Chinese, Japanese and Korean.
    ///
    /// A page with few messages, or none, may have a `next`: the search took long. Two a second are allowed.
    /// - Parameters:
    ///   - text: 1 to 64 characters.
    ///   - types: only messages of these types; empty: of all.
    ///   - from: only messages at or after this time.
    ///   - to: only messages at or before this time.
    ///   - after: `next` of the page before.
    public func search(
        _ text: String, of user: UserID? = nil, types: [MessageType] = [], from: Timestamp? = nil,
        to: Timestamp? = nil, after: String? = nil, limit: Int64 = Limits.searchItemsDefault
    ) async throws(ClientError) -> Page<Message, String> {
        let request = SearchRequest(
            room: id, text: text, user: user, types: types, startTime: from ?? Timestamp(0),
            endTime: to ?? Timestamp(0), limit: limit, after: after)
        guard case .search(let result) = try await client.perform(.search(request)) else { throw .mismatch }
        return Page(items: result.messages, next: result.next)
    }
}
