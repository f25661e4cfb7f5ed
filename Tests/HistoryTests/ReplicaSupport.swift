import ChatModel
import Testing

@testable import History

extension ShardStorage {
    func openSnapshot() async throws -> SnapshotReader { try await answer { openSnapshot(completion: $0) } }

    func beginInstall(index: UInt64, mark: [UInt8] = [1, 2]) async throws {
        try await answer { beginInstall(index: index, mark: mark, completion: $0) }
    }

    func installSnapshot(_ bytes: [UInt8]) async throws {
        try await answer { installSnapshot(bytes, completion: $0) }
    }

    func finishInstall() async throws { try await answer { finishInstall(completion: $0) } }

    func historyManifest(atLeast index: UInt64 = 0) async throws -> HistoryManifest {
        try await answer { historyManifest(atLeast: index, completion: $0) }
    }

    func historyChunk(
        _ day: Int64, after cursor: HistoryCursor? = nil, changedAfter: UInt64 = 0, atLeast index: UInt64 = 0,
        bytesMax: Int
    ) async throws -> HistoryChunk {
        try await answer {
            historyChunk(
                day: day, after: cursor, changedAfter: changedAfter, atLeast: index, bytesMax: bytesMax,
                completion: $0)
        }
    }

    func plan(_ manifest: HistoryManifest, _ snapshotIndex: UInt64) async throws -> MissingHistory? {
        try await answer { planBackfill(manifest, snapshotIndex: snapshotIndex, completion: $0) }
    }

    func backfill(_ chunk: HistoryChunk, _ snapshotIndex: UInt64) async throws -> MissingHistory? {
        try await answer { backfill(chunk, snapshotIndex: snapshotIndex, completion: $0) }
    }

    /// The whole of a snapshot's stream.
    func snapshotBytes(chunkBytes: Int = 1_000) async throws -> (index: UInt64, bytes: [UInt8]) {
        let reader = try await openSnapshot()
        defer { reader.close() }
        var bytes: [UInt8] = []
        while true {
            let chunk = try await reader.next(chunkBytes)
            if chunk.isEmpty { return (reader.index, bytes) }
            bytes += chunk
        }
    }

    /// Installs the other's present catalogue.
    func install(from source: ShardStorage) async throws -> UInt64 {
        let (index, bytes) = try await source.snapshotBytes()
        try await beginInstall(index: index)
        try await installSnapshot(bytes)
        try await finishInstall()
        return index
    }

    /// Gets one more chunk of what is missing; false when nothing is missing any more.
    func backfillOnce(from source: ShardStorage, bytesMax: Int) async throws -> Bool {
        guard let missing = missingHistory else { return false }
        guard let days = missing.days else {
            let manifest = try await source.historyManifest(atLeast: missing.snapshotIndex)
            _ = try await plan(manifest, missing.snapshotIndex)
            return true
        }
        guard let day = days.last else { return false }
        let chunk = try await source.historyChunk(
            day.day, after: day.cursor, changedAfter: missing.knownIndex, atLeast: missing.snapshotIndex,
            bytesMax: bytesMax)
        _ = try await backfill(chunk, missing.snapshotIndex)
        return true
    }

    func backfillAll(from source: ShardStorage, bytesMax: Int = 2_000) async throws {
        while try await backfillOnce(from: source, bytesMax: bytesMax) {}
        #expect(isHistoryComplete)
    }

    /// All rows of all days, tombstones too, as they travel.
    func historyBytes() async throws -> [Int64: [UInt8]] {
        var found: [Int64: [UInt8]] = [:]
        for day in try await historyManifest().days.map(\.day) {
            var cursor: HistoryCursor?
            repeat {
                let chunk = try await historyChunk(day, after: cursor, bytesMax: 10_000)
                found[day, default: []] += chunk.bytes
                cursor = chunk.next
            } while cursor != nil
        }
        return found.filter { !$0.value.isEmpty }
    }
}

extension SnapshotReader {
    func next(_ bytesMax: Int) async throws -> [UInt8] {
        let result = await withCheckedContinuation { continuation in
            next(bytesMax: bytesMax) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}

/// Expects that `body` throws a storage error of this code.
func expectFailure(
    _ code: StorageError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("no failure", sourceLocation: sourceLocation)
    } catch let error as StorageError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
}
