import ChatModel
import GroupDriver
import History
import RoomCore
import Wire

/// Looking for messages of the room.
extension RoomActor {
    /// A page of the messages that have the text, of everything that has been applied.
    ///
    /// Throws 414 for a text without a letter, a digit or a symbol, and for an `after` that no page has given; 503 where search
    /// is off.
    func search(_ request: SearchRequest, for reader: HistoryReader? = nil) async throws(ChatError) -> SearchResult {
        if !context.cluster.level.brings(.search) { throw .upgrading(.search) }
        guard storage.isSearchable else {
            throw ChatError(
                .unavailable, "search is turned off on this node (search.enabled)", retryAfterMs: 60_000)
        }
        guard let pattern = SearchPattern(request.text) else {
            throw ChatError(.badParameter, "text has nothing to look for", field: "text")
        }
        var query = SearchQuery(incarnation: try requireLife(), pattern: pattern)
        if let after = request.after, !after.isEmpty {
            guard let cursor = SearchCursor(after) else {
                throw ChatError(.badParameter, "after is not the next of a page", field: "after")
            }
            query.after = cursor
        }
        query.sender = request.user?.text
        query.types = request.types.isEmpty ? nil : Set(request.types.map(\.number))
        query.startTime = request.startTime.milliseconds == 0 ? nil : request.startTime
        query.endTime = request.endTime.milliseconds == 0 ? nil : request.endTime
        query.limit = Int(request.limit)
        query.visibleSince = visibleSince
        let erasures = recent.erased.count
        let page = try await unchanged { [query] room throws(ChatError) in
            await room.writtenRows()
            let page = try await room.stored { room.storage.search(query, for: reader, completion: $0) }
            return (page, page.rows.map(\.seq))
        }
        do {
            let messages = try page.rows.map { mindingRecalls(try HistoryCodec.decode($0.payload), since: erasures) }
            return SearchResult(messages: messages.filter { !$0.isRecalled }, next: page.next?.text)
        } catch {
            throw ChatError(.internal, "history can't be read")
        }
    }

    /// Throws 403 for everybody but creator and managers.
    func requireManager(_ user: UserID) throws(ChatError) {
        guard state.role(of: user).rank > 0 else {
            throw ChatError(.forbidden, "this is for managers of \(id)")
        }
    }
}
