import ChatModel
import History
import RoomCore
import Wire

/// Reading what was kept. Storage is asked on its own thread; the room stays in memory until the answer is here.
extension RoomActor {
    /// Reads a page; the completion runs on the room, whose turn is published afterwards.
    func page(
        _ request: HistoryRequest, for reader: HistoryReader? = nil,
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
        readPage(query, for: reader) { completion($0, Self.messages($1)) }
    }

    /// A page of rows, of everything that has been applied.
    func readPage(
        _ query: HistoryQuery, for reader: HistoryReader? = nil,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<History.HistoryPage, StorageError>) -> Void
    ) {
        readingHistory { $0.storage.page(query, for: reader, completion: $0.awaiting(completion)) }
    }

    /// One row, of everything that has been applied; fails with `missing` when there is none.
    func readRow(
        _ incarnation: Incarnation, _ seq: UInt64, _ missing: ChatError, withCopies: Bool = false,
        for reader: HistoryReader? = nil,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<HistoryRow, ChatError>) -> Void
    ) {
        readingHistory {
            $0.storage.message(
                incarnation, seq: seq, withCopies: withCopies, for: reader,
                completion: $0.awaiting { room, result in
                    switch result {
                    case .success(let row): completion(room, row.map { .success($0) } ?? .failure(missing))
                    case .failure(let error): completion(room, .failure(ChatError(reading: error)))
                    }
                })
        }
    }

    private static func messages(_ result: Result<History.HistoryPage, StorageError>) -> Result<
        ChatModel.HistoryPage, ChatError
    > {
        do {
            let page = try result.get()
            let messages = try page.rows.map { try HistoryCodec.decode($0.payload) }
            return .success(ChatModel.HistoryPage(messages: messages, more: page.more))
        } catch let error as StorageError {
            return .failure(ChatError(reading: error))
        } catch {
            return .failure(ChatError(.internal, "history can't be read"))
        }
    }
}
