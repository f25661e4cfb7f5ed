import ChatModel
import History
import RoomCore
import Wire

/// Reading what was kept. Storage is asked on its own thread; the room stays in memory until the answer is here.
extension RoomActor {
    /// Reads a page; the completion runs on the room, whose turn is published afterwards.
    func page(
        _ request: HistoryRequest,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<ChatModel.HistoryPage, ChatError>) -> Void
    ) {
        guard let incarnation = state.incarnation else {
            return completion(self, .failure(ChatError(.notFound, "there is no room \(id)")))
        }
        var query = HistoryQuery(
            incarnation: incarnation, order: request.ascending ? .ascending : .descending, limit: request.limit)
        query.startTime = request.startTime.milliseconds == 0 ? nil : request.startTime
        query.types = request.types.isEmpty ? nil : Set(request.types.map(\.number))
        query.beforeSeq = request.beforeSeq
        query.afterSeq = request.afterSeq
        readingHistory { [query] room in
            room.storage.page(query, completion: room.awaiting { completion($0, Self.messages($1)) })
        }
    }

    private static func messages(_ result: Result<History.HistoryPage, StorageError>) -> Result<
        ChatModel.HistoryPage, ChatError
    > {
        do {
            let page = try result.get()
            let messages = try page.rows.map { try HistoryCodec.decode($0.payload) }
            return .success(ChatModel.HistoryPage(messages: messages, more: page.more))
        } catch {
            return .failure(ChatError(.internal, "history can't be read"))
        }
    }
}
