import ChatModel
import Synchronization
import Wire

/// A room's history as lines of JSON, oldest first: a page in memory at a time, asked for when the one before is with the
/// caller. The last line says that nothing is left out before it (PROTOCOL.md, "Export").
final class RoomExport: Sendable {
    /// The cluster, as far as an export asks it.
    struct Source: Sendable {
        var page: @Sendable (HistoryRequest) async throws(ChatError) -> HistoryPage
        /// When the room was created: another one may have come under its ID.
        var createdAt: @Sendable () async throws(ChatError) -> Timestamp
        var pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(1)) }
    }

    private struct Place {
        /// For the next page.
        var request: HistoryRequest
        /// Everything up to here is with the caller.
        var seq: UInt64
        var isOver = false
    }

    /// How often the cluster is asked while nobody leads the room, and for how long: each question waits for a leader, too.
    static let attemptsMax = 30
    private static let waitMax = Duration.seconds(30)

    private let source: Source
    private let endTime: Timestamp?
    private let createdAt: Timestamp
    private let place: Mutex<Place>

    /// - Parameters:
    ///   - request: of the first page, ascending.
    ///   - endTime: of the last messages; nil: to the newest.
    init(_ source: Source, _ request: HistoryRequest, endTime: Timestamp?) async throws(ChatError) {
        (self.source, self.endTime) = (source, endTime)
        createdAt = try await source.createdAt()
        place = Mutex(Place(request: request, seq: request.afterSeq ?? 0))
    }

    /// The lines of the next page; nil behind the end. Not to be called again before it has returned.
    /// - Throws: `notFound` when the room has gone meanwhile, and what the cluster says for longer than the attempts.
    func piece() async throws -> [UInt8]? {
        var place = place.withLock { $0 }
        guard !place.isOver else { return nil }
        let page = try await asked { [source, place] () async throws(ChatError) in try await source.page(place.request)
        }
        guard try await asked(source.createdAt) == createdAt else {
            throw ChatError(.notFound, "the room was deleted during its export")
        }
        var lines: [UInt8] = []
        place.isOver = !page.more
        for message in page.messages {
            guard let seq = message.seq, seq > place.seq else { continue }
            if let endTime, message.time > endTime {
                place.isOver = true
                break
            }
            lines += WireJSON.encode(message) + [UInt8(ascii: "\n")]
            place.seq = seq
        }
        guard place.isOver || place.seq > place.request.afterSeq ?? 0 else {
            throw ChatError(.internal, "a page of history brings nothing and is not the last")
        }
        place.request.afterSeq = place.seq
        if place.isOver { lines += WireJSON.encode(ExportEnd(seq: place.seq)) + [UInt8(ascii: "\n")] }
        self.place.withLock { [place] in $0 = place }
        return lines
    }

    /// Asks until a leader answers, as often as is allowed and at most for so long.
    private func asked<Value>(_ ask: () async throws(ChatError) -> Value) async throws -> Value {
        let end = ContinuousClock.now + Self.waitMax
        for _ in 1..<Self.attemptsMax {
            do throws(ChatError) {
                return try await ask()
            } catch {
                guard error.code == .unavailable, ContinuousClock.now < end else { throw error }
            }
            try await source.pause()
        }
        return try await ask()
    }
}
