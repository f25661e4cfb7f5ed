import ChatModel
import History
import SQLite
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit

@Suite struct StorageFaultTests {
    let disk = FaultDisk()

    @Test(arguments: SeededGenerator.seeds(40))
    func `after a power cut the catalogue is as of one index and no history before it is missing`(seed: UInt64)
        async throws
    {
        var random = SeededGenerator(seed: seed)
        let shard = try TestShard(blockRowsMin: seed % 2 == 0 ? 8 : 1)
        var synced: UInt64 = 0
        var applied: UInt64 = 0
        for _ in 0..<4 {
            let storage = try shard.open(disk: disk) { $0.pendingBytesMax = 1 << 30 }
            let start = storage.appliedIndex
            #expect(start >= synced, "seed \(seed)")
            // Everything up to the catalogue's index is there, and the catalogue is exactly as of it.
            try await verify(storage, as: start, seed)
            disk.cutPower(after: .random(in: 0...400, using: &random))
            applied = start
            for _ in 0..<60 {
                let count = UInt64.random(in: 1...20, using: &random)
                storage.write(try batch((applied + 1)...(applied + count)))
                applied += count
                if Int.random(in: 0..<5, using: &random) == 0 {
                    do { synced = max(synced, try await storage.checkpoint()) } catch {}
                    #expect(storage.syncedIndex >= synced)
                }
            }
            synced = max(synced, storage.syncedIndex)
            disk.cutPower()
            storage.close()
            let loss: UInt64 = Bool.random(using: &random) ? 0 : .random(in: 1 ... .max, using: &random)
            #expect(disk.powerOn(seed: loss), "seed \(seed)")
        }
    }

    /// What applying the entries gives: each is a message, in one of three days, and a change of one catalogue row; every
    /// tenth also recalls the message nine before.
    private func batch(_ indices: ClosedRange<UInt64>) throws -> StorageBatch {
        var batch = StorageBatch(appliedIndex: indices.upperBound)
        for index in indices {
            batch.history.append(row(index, at: time(index)))
            batch.catalogue.append(try memberRow("a", "user\(index % 7)", index: index))
            if index % 10 == 0 {
                batch.erasures.append(
                    Erasure(incarnation: life, seq: index - 9, day: time(index - 9).day, index: index))
            }
        }
        batch.catalogue.append(try roomRow("a", index: indices.upperBound))
        return batch
    }

    private func time(_ index: UInt64) -> Timestamp { noon.adding(seconds: Int64(index) * 40) }

    private func verify(_ storage: ShardStorage, as index: UInt64, _ seed: UInt64) async throws {
        let loaded = try await storage.loadRoom(try room("a"))
        #expect(loaded.catalogue.first?.index == (index == 0 ? nil : index), "seed \(seed)")
        let users = loaded.catalogue.dropFirst().map(\.index).sorted()
        #expect(users == (index == 0 ? [] : Array((index > 7 ? index - 6 : 1)...index)), "seed \(seed)")
        guard index > 0 else { return }
        var query = HistoryQuery(incarnation: life, order: .ascending, limit: 100)
        var seqs: [UInt64] = []
        repeat {
            query.afterSeq = seqs.last
            query.beforeSeq = index + 1
            let page = try await storage.page(query)
            for row in page.rows {
                let recall = row.seq + 9
                if recall % 10 == 0, recall <= index { #expect(row.recalled, "seed \(seed), seq \(row.seq)") }
            }
            seqs += page.rows.map(\.seq)
            if !page.more { break }
        } while true
        #expect(seqs == Array(1...index), "seed \(seed)")
    }

    @Test func `a full disk is told, nothing is lost, and writing goes on when there is space`() async throws {
        let shard = try TestShard()
        let storage = try shard.open(disk: disk)
        storage.write([row(1)])
        #expect(try await storage.checkpoint() == 1)
        disk.isFull = true
        storage.write([row(2)], applied: 2)
        storage.write([try roomRow("a", index: 3)], applied: 3)
        do {
            _ = try await storage.checkpoint()
            Issue.record("a checkpoint on a full disk")
        } catch let error as StorageError {
            #expect(error.code == .full)
        }
        do {
            // A read must not pretend that the row does not exist.
            _ = try await storage.message(2)
            Issue.record("a read without what was written before it")
        } catch let error as StorageError {
            #expect(error.code == .full)
        }
        #expect(storage.syncedIndex == 1)
        disk.isFull = false
        #expect(try await storage.checkpoint() == 3)
        #expect(try await storage.message(2) == row(2))
        #expect(try await storage.rooms().count == 1)
        #expect(storage.health == .good)
        storage.close()
        let states = shard.health.withLock { $0 }
        #expect(states.count >= 2)
        if case .retrying = states.first {} else { Issue.record("\(states)") }
        #expect(states.last == .good)
    }

    @Test
    func `a checkpoint that fails on a full disk is told until one succeeds, whatever the logs beside the files take`()
        async throws
    {
        let shard = try TestShard()
        let storage = try shard.open(disk: disk)
        storage.write([row(1)])
        #expect(try await storage.checkpoint() == 1)
        disk.isDatabaseFull = true
        storage.write([row(2)], applied: 2)
        storage.write([try roomRow("a", index: 3)], applied: 3)
        await #expect(throws: StorageError.self) { try await storage.checkpoint() }
        #expect(storage.diskFailure?.code == .full)
        for seq in 4...8 as ClosedRange<UInt64> {
            storage.write([row(seq)])
            // Written before it is read.
            #expect(try await storage.message(seq) == row(seq))
            #expect(storage.diskFailure?.code == .full)
        }
        disk.isDatabaseFull = false
        try await poll("the next try succeeds, which nobody asks for") { storage.diskFailure == nil }
        #expect(storage.syncedIndex == 8 && storage.health == .good)
        storage.close()
        // Neither good in between.
        #expect(shard.health.withLock { $0 }.count == 2, "\(shard.health.withLock { $0 })")
    }

    /// On one thread, for the sake of the other connection.
    @MainActor
    @Test func `a reader that is in the way of a checkpoint is no fault of the disk`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([try roomRow("a", index: 1)], applied: 1)
        _ = try await storage.checkpoint()
        var options = DatabaseOptions()
        options.readOnly = true
        options.leavesWriteAheadLogOnClose = true
        let other = try Database(path: shard.directory.path + "/shard/catalogue.sqlite", options: options)
        defer { other.close() }
        let read = try other.prepare("SELECT room FROM catalogue")
        _ = try read.step()
        storage.write([try roomRow("a", index: 2)], applied: 2)
        await #expect(throws: StorageError.self) { try await storage.checkpoint() }
        #expect(storage.diskFailure == nil)
        read.reset()
        try await poll("the next try succeeds") { storage.syncedIndex == 2 }
    }

    @Test func `the host is told to stop at the bound, and again when it may go on`() async throws {
        let shard = try TestShard()
        let storage = try shard.open(disk: disk) { $0.pendingBytesMax = 100_000 }
        _ = try await storage.checkpoint()
        disk.isFull = true
        for seq in 1...12 as ClosedRange<UInt64> { storage.write([row(seq, bytes: 10_000)]) }
        #expect(storage.health == .overloaded)
        // What is told is how it is then: with space on the disk it might be good again.
        try await shard.told(.overloaded)
        disk.isFull = false
        #expect(try await storage.checkpoint() == 12)
        #expect(storage.health == .good)
        #expect(try await storage.page(HistoryQuery(incarnation: life)).rows.count == 12)
        storage.close()
        #expect(shard.health.withLock { $0 }.contains(.overloaded))
    }

    @Test func `a host that does not stop loses nothing that the log does not hold`() async throws {
        let shard = try TestShard()
        var storage = try shard.open(disk: disk) { $0.pendingBytesMax = 100_000 }
        storage.write([row(1)])
        #expect(try await storage.checkpoint() == 1)
        disk.isFull = true
        for seq in 2...40 as ClosedRange<UInt64> { storage.write([row(seq, bytes: 10_000)]) }
        guard case .halted(let error) = storage.health else {
            Issue.record("\(storage.health)")
            return
        }
        #expect(error.code == .overflowed)
        disk.isFull = false
        await #expect(throws: StorageError.self) { try await storage.checkpoint() }
        storage.close()
        storage = try shard.open(disk: disk)
        #expect(storage.appliedIndex == 1)
        storage.close()
    }

    @Test func `after a failed sync nothing counts as synced any more`() async throws {
        let shard = try TestShard()
        var storage = try shard.open(disk: disk)
        storage.write([row(1)])
        storage.write([try roomRow("a", index: 2)], applied: 2)
        #expect(try await storage.checkpoint() == 2)
        storage.write([row(3)])
        disk.failSyncs(1)
        await #expect(throws: StorageError.self) { try await storage.checkpoint() }
        // The next sync would succeed and prove nothing.
        await #expect(throws: StorageError.self) { try await storage.checkpoint() }
        #expect(storage.syncedIndex == 2)
        guard case .halted(let error) = storage.health else {
            Issue.record("\(storage.health)")
            return
        }
        #expect(error.code == .restartNeeded)
        disk.cutPower()
        storage.close()
        #expect(disk.powerOn(seed: 0))
        storage = try shard.open(disk: disk)
        #expect(storage.appliedIndex == 2)
        storage.write([row(3)])
        #expect(try await storage.checkpoint() == 3)
        #expect(try await storage.message(3) == row(3))
        storage.close()
    }

    @Test func `more reads than the bound are refused`() async throws {
        let shard = try TestShard()
        let storage = try shard.open { $0.waitingReadsMax = 0 }
        defer { storage.close() }
        do {
            _ = try await storage.page(HistoryQuery(incarnation: life))
            Issue.record("a read beyond the bound")
        } catch let error as StorageError {
            #expect(error.code == .overloaded)
        }
    }

    @Test func `after close reads are refused and writes ignored`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        storage.close()
        storage.close()
        storage.write([row(1)])
        await #expect(throws: StorageError.self) { try await storage.page(HistoryQuery(incarnation: life)) }
        await #expect(throws: StorageError.self) { try await storage.checkpoint() }
        let again = try shard.open()
        #expect(try await again.message(1) == nil)
        again.close()
    }

    @Test func `a file of another program is refused`() async throws {
        let shard = try TestShard()
        try shard.open().close()
        try shard.directory.write(
            Array("not a database, but long enough to be read as one".utf8), to: "shard/catalogue.sqlite")
        do {
            _ = try shard.open()
            Issue.record("opened")
        } catch let error as StorageError {
            #expect(error.code == .corrupt)
        }
    }
}
