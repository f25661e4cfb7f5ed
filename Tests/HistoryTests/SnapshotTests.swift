import ChatModel
import SQLite
import StorageTestKit
import Testing
import WaitTestKit
import Wire

@testable import History

@Suite struct SnapshotTests {
    @Test func `a snapshot is as of one index while writing goes on`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        var rows = [try roomRow("a", index: 1, deadline: noon)]
        for number in 2...50 as ClosedRange<UInt64> { rows.append(try memberRow("a", "user\(number)", index: number)) }
        storage.write(rows, applied: 50)
        let reader = try await storage.openSnapshot()
        #expect(reader.index == 50)
        storage.write(
            [try memberRow("a", "user2", index: 51, value: nil), try memberRow("a", "user3", index: 52, value: [9])],
            retired: [RetiredRoom(room: try room("a"), incarnation: Incarnation(1))], applied: 52)
        _ = try await storage.checkpoint()
        var stream = SnapshotStream(index: 50)
        var found: [CatalogueRow] = []
        while true {
            let bytes = try await reader.next(100)
            if bytes.isEmpty { break }
            found += try stream.append(bytes)
        }
        #expect(stream.isComplete)
        #expect(found.sorted { $0.index < $1.index } == rows)
        reader.close()
        // It lets go on a thread of its own.
        try await poll("everything counts as synced") { try await storage.checkpoint() == 52 }
    }

    @Test func `while a snapshot is open nothing later counts as synced, and afterwards all of it does`() async throws {
        let shard = try TestShard()
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([try roomRow("a", index: 1)], applied: 1)
        let reader = try await storage.openSnapshot()
        storage.write([try roomRow("b", index: 2)], applied: 2)
        #expect(try await storage.checkpoint() == 1)
        #expect(storage.syncedIndex == 1)
        #expect(storage.writtenIndex == 2)
        #expect(storage.health == .good)
        reader.close()
        await expectFailure(.expired) { _ = try await reader.next(1) }
        #expect(try await storage.checkpoint() == 2)
        #expect(storage.syncedIndex == 2)
    }

    @Test func `a snapshot that is open for too long is closed`() async throws {
        let shard = try TestShard()
        let storage = try shard.open { $0.snapshotDurationMax = .milliseconds(1) }
        defer { storage.close() }
        storage.write([try roomRow("a", index: 1)], applied: 1)
        let reader = try await storage.openSnapshot()
        try await poll("the snapshot is closed") {
            do {
                _ = try await reader.next(1)
                return false
            } catch let error as StorageError {
                return error.code == .expired
            }
        }
        storage.write([try roomRow("b", index: 2)], applied: 2)
        #expect(try await storage.checkpoint() == 2)
    }

    @Test func `more snapshots than the bound are refused, and one that nobody holds is closed`() async throws {
        let shard = try TestShard()
        let storage = try shard.open { $0.snapshotsMax = 2 }
        var readers = [try await storage.openSnapshot(), try await storage.openSnapshot()]
        await expectFailure(.overloaded) { _ = try await storage.openSnapshot() }
        readers.removeLast()
        // The reader thread closes it before it opens another.
        try await poll("the place is free") { storage.state.withLock { $0.snapshots } == 1 }
        readers.append(try await storage.openSnapshot())
        storage.close()
        await expectFailure(.expired) { _ = try await readers[0].next(1) }
    }

    @Test func `an installed snapshot takes the place of the catalogue, and what was written before is void`()
        async throws
    {
        let (here, there) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write([try roomRow("a", index: 1), try memberRow("a", "ann", index: 5)], applied: 7)
        var storage = try here.open()
        storage.write([try roomRow("a", index: 1), try roomRow("gone", index: 2)], applied: 2)
        _ = try await storage.checkpoint()
        // In memory only: the source has no such rows.
        storage.write([try memberRow("a", "bob", index: 3)], applied: 3)
        storage.write([row(1, index: 3, of: Incarnation(9))])
        let (index, bytes) = try await source.snapshotBytes()
        #expect(index == 7)
        try await storage.beginInstall(index: index)
        for byte in bytes { try await storage.installSnapshot([byte]) }
        #expect(storage.appliedIndex < 7)
        #expect(try await storage.rooms().count == 2)
        try await storage.finishInstall()
        // An old batch that comes late.
        storage.write([try memberRow("a", "late", index: 3)], applied: 3)
        for _ in 0..<2 {
            #expect(storage.appliedIndex == 7)
            #expect(storage.writtenIndex == 7)
            #expect(storage.syncedIndex == 7)
            #expect(storage.installedMark == [1, 2])
            #expect(try await storage.snapshotBytes().bytes == bytes)
            #expect(try await storage.message(1, of: Incarnation(9)) == row(1, index: 3, of: Incarnation(9)))
            #expect(storage.missingHistory == MissingHistory(snapshotIndex: 7, knownIndex: 3))
            #expect(!storage.isHistoryComplete)
            storage.close()
            #expect(try here.fileNames() == ["catalogue-1.sqlite", "history-2026-06-15.sqlite"])
            storage = try here.open()
        }
        storage.write([try memberRow("a", "cat", index: 8)], applied: 8)
        #expect(try await storage.checkpoint() == 8)
        #expect(try await storage.loadRoom(try room("a")).catalogue.count == 3)
        storage.close()
    }

    @Test func `a snapshot that is older, not whole or of another index is refused and changes nothing`() async throws {
        let (here, there) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        source.write([try roomRow("a", index: 1)], applied: 5)
        let bytes = try await source.snapshotBytes().bytes
        let storage = try here.open()
        defer { storage.close() }
        storage.write([try roomRow("b", index: 2)], applied: 2)
        _ = try await storage.checkpoint()
        await expectFailure(.refused) { try await storage.beginInstall(index: 1) }
        await expectFailure(.refused) { try await storage.installSnapshot(bytes) }
        await expectFailure(.refused) { try await storage.finishInstall() }
        try await storage.beginInstall(index: 6)
        await expectFailure(.malformed) { try await storage.installSnapshot(bytes) }
        try await storage.beginInstall(index: 5)
        try await storage.installSnapshot(bytes.dropLast())
        await expectFailure(.malformed) { try await storage.finishInstall() }
        try await storage.beginInstall(index: 5)
        await expectFailure(.malformed) { try await storage.installSnapshot(bytes + [0]) }
        #expect(try await storage.rooms().map(\.room.text) == ["b"])
        #expect(storage.appliedIndex == 2)
        #expect(storage.health == .good)
        #expect(try here.fileNames() == ["catalogue.sqlite"])
        // Given up for another one.
        try await storage.beginInstall(index: 9)
        try await storage.beginInstall(index: 5)
        try await storage.installSnapshot(bytes)
        try await storage.finishInstall()
        #expect(try await storage.rooms().map(\.room.text) == ["a"])
    }

    @Test func `a snapshot is taken whole wherever it is cut, and garbage is refused`() throws {
        var bytes: [UInt8] = []
        let rows = [try roomRow("a", index: 3, deadline: Timestamp(-1)), try memberRow("a", "", index: 4, value: [])]
        WireProtobuf.appendDelimited(SnapshotRecord(index: 7), to: &bytes)
        for row in rows { WireProtobuf.appendDelimited(SnapshotRecord(row: row), to: &bytes) }
        WireProtobuf.appendDelimited(SnapshotRecord(rowCount: 2), to: &bytes)
        for cut in 0...bytes.count {
            var stream = SnapshotStream(index: 7)
            var found = try stream.append(Array(bytes[..<cut]))
            #expect(stream.isComplete == (cut == bytes.count))
            found += try stream.append(Array(bytes[cut...]))
            #expect(found == rows)
            #expect(stream.isComplete)
        }
        func refused(_ bytes: [UInt8]) -> Bool {
            var stream = SnapshotStream(index: 7)
            do throws(StorageError) {
                _ = try stream.append(bytes)
                return false
            } catch {
                return error.code == .malformed
            }
        }
        #expect(refused([UInt8](repeating: 0xFF, count: 11)))
        // A record of 16 MiB and a byte.
        #expect(refused([0x81, 0x80, 0x80, 0x08]))
        #expect(!refused([0x80, 0x80, 0x80, 0x08]))
        #expect(refused([2, 0xFF, 0xFF]))
        var random = SeededGenerator(seed: 1)
        for _ in 0..<200 {
            // Whatever it is, it ends; a changed byte may still be a row.
            var damaged = bytes
            damaged[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            _ = refused(damaged)
        }
    }

    @Test func `of the catalogues in a directory the newest is live and the others are rests`() {
        let names = [
            "catalogue.sqlite", "catalogue.sqlite-wal", "catalogue-2.sqlite", "catalogue-2.sqlite-shm",
            "catalogue-10.sqlite", "catalogue-10.sqlite-wal", "catalogue-11.sqlite.install",
            "catalogue-11.sqlite.install-wal", "catalogue-03.sqlite", "catalogue-x.sqlite", "catalogue.sqlite-deleted",
            "history-2026-06-15.sqlite",
        ]
        #expect(CatalogueName.newest(in: names) == 10)
        #expect(
            CatalogueName.rests(in: names, live: 10) == [
                "catalogue.sqlite", "catalogue.sqlite-wal", "catalogue-2.sqlite", "catalogue-2.sqlite-shm",
                "catalogue-11.sqlite.install", "catalogue-11.sqlite.install-wal",
            ])
        #expect(CatalogueName.newest(in: ["catalogue-1.sqlite.install"]) == nil)
        #expect(CatalogueName.newest(in: ["catalogue.sqlite"]) == 0)
    }
}
