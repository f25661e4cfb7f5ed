import ChatModel
import History
import RoomCore

/// The reads of history that a session waits for.
struct SessionReads {
    let reader = HistoryReader()
    var count = 0
}

/// A session's reads of history end with it: a session that has gone, or can't be reached, gets no answer anyway.
extension RoomActor {
    /// A session begins to read; `endReading` is due when it has its answer.
    func beginReading(_ key: PresenceKey) -> HistoryReader {
        let reads = reading.readers[key] ?? SessionReads()
        reading.readers[key] = reads
        reading.readers[key]?.count += 1
        return reads.reader
    }

    func endReading(_ key: PresenceKey, _ reader: HistoryReader) {
        // It may have gone meanwhile and read anew.
        guard let reads = reading.readers[key], reads.reader === reader else { return }
        reading.readers[key]?.count -= 1
        if reads.count <= 1 { reading.readers[key] = nil }
    }

    /// The session has gone: what it waits for is not read any more.
    func cancelReads(of key: PresenceKey) { reading.readers.removeValue(forKey: key)?.reader.leave() }

    /// Nobody would see the answer to one whose connection is gone.
    func requireReached(_ visitor: Visitor) throws(ChatError) {
        guard !visitor.isAway else { throw ChatError(reading: .init(.cancelled, "")) }
    }
}

extension ChatError {
    /// Why history could not be read.
    init(reading error: StorageError) {
        switch error.code {
        case .tooOften:
            self.init(.tooOften, "wait for what you have asked of history before", retryAfterMs: 1000)
        case .overloaded:
            self.init(.unavailable, "too many read history", retryAfterMs: 1000)
        case .full, .io, .busy:
            // Earlier rows can't be read before they are on the disk; another node takes over meanwhile.
            self.init(.unavailable, "this node's disk takes nothing; it keeps trying", retryAfterMs: 1000)
        case .cancelled:
            self.init(.unavailable, "the connection was lost meanwhile", retryAfterMs: 1000)
        default:
            self.init(.internal, "history can't be read")
        }
    }
}
