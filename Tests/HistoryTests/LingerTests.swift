import ChatModel
import StorageTestKit
import Synchronization
import Testing

@testable import History

/// Rows wait for others to share a transaction.
@Suite struct LingerTests {
    private func page(_ storage: ShardStorage) async throws -> Int {
        try await storage.answer { storage.page(HistoryQuery(incarnation: life), completion: $0) }.rows.count
    }

    @Test("however often reads have rows written, one timer waits for what comes later")
    func oneTimer() async throws {
        let shard = try TestShard()
        let storage = try shard.open { $0.linger = .seconds(3_600) }
        for seq in 1...50 as ClosedRange<UInt64> {
            storage.write([row(seq)])
            _ = try await page(storage)
        }
        #expect(shard.pool.writer(of: 0).timerCount == 1)
        storage.close()
    }

    @Test("what comes behind a read is written when it has waited")
    func comesLater() async throws {
        let shard = try TestShard()
        let storage = try shard.open { $0.linger = .milliseconds(20) }
        for seq in 1...5 as ClosedRange<UInt64> {
            storage.write([row(2 * seq - 1)])
            _ = try await page(storage)
            try await storage.answer { (done: @escaping @Sendable (Result<Void, StorageError>) -> Void) in
                var batch = StorageBatch(appliedIndex: 2 * seq)
                batch.history = [row(2 * seq)]
                batch.onWritten = { done(.success(())) }
                storage.write(batch)
            }
        }
        storage.close()
    }

    @Test("who asks for deadlines again and again leaves waiting what waits")
    func deadlines() async throws {
        let shard = try TestShard()
        let storage = try shard.open { $0.linger = .seconds(3_600) }
        let isWritten = Flag()
        var batch = StorageBatch(appliedIndex: 1)
        batch.history = [row(1)]
        batch.onWritten = { isWritten.set() }
        storage.write(batch)
        _ = try await storage.answer {
            storage.dueDeadlines(at: noon, limit: 10, writesFirst: false, completion: $0)
        }
        #expect(!isWritten.isSet)
        _ = try await storage.answer { storage.dueDeadlines(at: noon, limit: 10, completion: $0) }
        #expect(isWritten.isSet)
        storage.close()
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
