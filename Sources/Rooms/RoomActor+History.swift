import ChatModel
import History
import RoomCore
import RoomProtocol
import Wire

/// Reading what was kept. Storage is asked on its own thread. Other things happen in the room meanwhile: whoever waits
/// looks at its state again afterwards.
extension RoomActor {
    /// Begins something that waits: for storage, for another room, or for the hook. The room stays in memory until it
    /// has ended, and what it hands out then is taken.
    func begin(_ work: @escaping @Sendable (isolated RoomActor) async -> Void) {
        reading.count += 1
        Task {
            await work(self)
            reading.count -= 1
            wake()
        }
    }

    /// A page of messages, of everything that has been applied.
    func page(
        _ request: HistoryRequest, of life: Incarnation? = nil, for reader: HistoryReader? = nil
    ) async throws(ChatError) -> HistoryPage {
        let incarnation = if let life { life } else { try requireLife() }
        var query = HistoryQuery(
            incarnation: incarnation, order: request.ascending ? .ascending : .descending, limit: request.limit)
        query.startTime = request.startTime.milliseconds == 0 ? nil : request.startTime
        query.types = request.types.isEmpty ? nil : Set(request.types.map(\.number))
        query.beforeSeq = request.beforeSeq
        query.afterSeq = request.afterSeq
        let erasures = recent.erased.count
        let page = try await unchanged { [query] room throws(ChatError) in
            let page = try await room.rows(query, ofPast: life != nil, for: reader)
            return (page, page.rows.map(\.seq))
        }
        do {
            let messages = try page.rows.map { mindingRecalls(try HistoryCodec.decode($0.payload), since: erasures) }
            return HistoryPage(messages: messages, more: page.more)
        } catch {
            throw ChatError(.internal, "history can't be read")
        }
    }

    /// Reads until none of the messages was recalled or amended meanwhile: a viewer who has been told that must not be given
    /// what was before. Somebody who changes messages again and again holds nobody up.
    func unchanged<Value: Sendable>(
        _ read: @Sendable (isolated RoomActor) async throws(ChatError) -> (value: Value, seqs: [UInt64])
    ) async throws(ChatError) -> Value {
        for _ in 1..<Self.readsMax {
            let (erasures, amendments) = (recent.erased.count, recent.amended.count)
            let (value, seqs) = try await read(self)
            let isUnchanged = seqs.allSatisfy {
                recent.erased.contains($0, since: erasures) == false
                    && recent.amended.contains($0, since: amendments) == false
            }
            if isUnchanged { return value }
        }
        return try await read(self).value
    }

    private static var readsMax: Int { 4 }

    /// The life of the room. Throws 404 when there is no room.
    func requireLife() throws(ChatError) -> Incarnation {
        guard let incarnation = state.incarnation else { throw ChatError(.notFound, "there is no room \(id)") }
        return incarnation
    }

    /// A page of rows, of everything that has been applied.
    /// - Parameter isPast: of a life that has ended, for the webhook: for as long as its files are there.
    func rows(
        _ query: HistoryQuery, ofPast isPast: Bool = false, for reader: HistoryReader? = nil
    ) async throws(ChatError) -> StoredPage {
        await writtenRows()
        var query = query
        query.visibleSince = isPast ? nil : visibleSince
        return try await stored { [query] in storage.page(query, for: reader, completion: $0) }
    }

    /// One row, of everything that has been applied. Throws `missing` when there is none.
    func row(
        _ incarnation: Incarnation, _ seq: UInt64, orThrow missing: ChatError, withCopies: Bool = false,
        for reader: HistoryReader? = nil
    ) async throws(ChatError) -> HistoryRow {
        await writtenRows()
        let since = visibleSince
        let row = try await stored {
            storage.message(
                incarnation, seq: seq, visibleSince: since, withCopies: withCopies, for: reader, completion: $0)
        }
        guard let row else { throw missing }
        return row
    }

    func stored<Value: Sendable>(
        _ read: (@escaping @Sendable (Result<Value, StorageError>) -> Void) -> Void
    ) async throws(ChatError) -> Value {
        let result = await withCheckedContinuation { continuation in read { continuation.resume(returning: $0) } }
        do throws(StorageError) {
            return try result.get()
        } catch {
            throw ChatError(reading: error)
        }
    }

    /// One kept message of this room, from the tail or from storage. Throws 404 for anything else, and for one that has expired.
    func message(_ messageID: String, for reader: HistoryReader? = nil) async throws(ChatError) -> Message {
        let missing = ChatError(.notFound, "there is no message \(messageID) in \(id)", field: "messageId")
        guard case .kept(let incarnation, let seq)? = MessageID.parse(messageID), incarnation == state.incarnation
        else { throw missing }
        if let message = recent.tail.message(seq: seq) {
            // The newest messages stay in memory when they have expired.
            guard message.time >= visibleSince else { throw missing }
            return message
        }
        let erasures = recent.erased.count
        let row = try await unchanged { room throws(ChatError) in
            (try await room.row(incarnation, seq, orThrow: missing, for: reader), [seq])
        }
        guard let message = try? HistoryCodec.decode(row.payload) else { throw missing }
        return mindingRecalls(message, since: erasures)
    }
}
