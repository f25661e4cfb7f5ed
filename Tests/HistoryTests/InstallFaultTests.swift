import ChatModel
import StorageTestKit
import Testing

@testable import History

/// A snapshot is installed on a disk that fails at every possible place.
@Suite struct InstallFaultTests {
    /// The state before and after, as a snapshot's stream.
    private struct States {
        var old: [UInt8]
        var new: [UInt8]
    }

    private let oldIndex: UInt64 = 4
    private let newIndex: UInt64 = 9

    private func source() async throws -> (shard: TestShard, storage: ShardStorage) {
        let shard = try TestShard()
        let storage = try shard.open()
        storage.write([row(1, index: 1), row(2, index: 6)])
        var rows = [try roomRow("a", index: 1)]
        for number in 2...9 as ClosedRange<UInt64> {
            rows.append(try memberRow("a", "user\(number)", index: number, value: [UInt8](repeating: 7, count: 900)))
        }
        storage.write(rows, applied: newIndex)
        return (shard, storage)
    }

    /// Opens a replica that is behind: all of it on the disk but its newest rows.
    private func replica(_ shard: TestShard, _ disk: FaultDisk) async throws -> ShardStorage {
        let storage = try shard.open(disk: disk)
        storage.write([row(1, index: 1)])
        storage.write([try roomRow("a", index: 1), try roomRow("b", index: 2)], applied: 3)
        _ = try await storage.checkpoint()
        storage.write([try memberRow("b", "bob", index: 4)], applied: oldIndex)
        return storage
    }

    private func install(_ bytes: [UInt8], in storage: ShardStorage) async throws {
        try await storage.beginInstall(index: newIndex)
        for start in stride(from: 0, to: bytes.count, by: 2_000) {
            try await storage.installSnapshot(Array(bytes[start..<min(bytes.count, start + 2_000)]))
        }
        try await storage.finishInstall()
    }

    @Test(arguments: [0, 1] as [Int64])
    func `a power cut at any write of an installation leaves the old or the new state`(first: Int64) async throws {
        let (there, source) = try await source()
        defer { source.close() }
        withExtendedLifetime(there) {}
        let new = try await source.snapshotBytes().bytes
        // How many writes there are.
        let count: Int64
        do {
            let (shard, disk) = (try TestShard(), FaultDisk())
            let storage = try await replica(shard, disk)
            let before = disk.operations
            try await install(new, in: storage)
            count = disk.operations - before
            storage.close()
        }
        #expect(count > 10)
        var (olds, news) = (0, 0)
        // Every other one; the rest are the other half's.
        for operation in stride(from: first, through: count, by: 2) {
            let (shard, disk) = (try TestShard(), FaultDisk())
            var storage = try await replica(shard, disk)
            disk.cutPower(after: operation)
            let isInstalled: Bool
            do {
                try await install(new, in: storage)
                isInstalled = true
            } catch {
                isInstalled = false
            }
            disk.cutPower()
            storage.close()
            #expect(disk.powerOn(seed: UInt64(operation)))
            storage = try shard.open(disk: disk)
            let index = storage.appliedIndex
            if index == newIndex {
                news += 1
                #expect(try await storage.snapshotBytes().bytes == new)
                #expect(storage.missingHistory?.snapshotIndex == newIndex, "operation \(operation)")
                #expect(storage.installedMark == [1, 2])
                // What it says is here must be here.
                let known = try #require(storage.missingHistory?.knownIndex)
                #expect((3...oldIndex).contains(known))
            } else {
                olds += 1
                #expect(!isInstalled, "operation \(operation)")
                #expect((3...oldIndex).contains(index), "operation \(operation)")
                #expect(storage.isHistoryComplete)
                #expect(storage.installedMark == nil)
                let members = try await storage.loadRoom(try room("b")).catalogue.count
                #expect(members == (index == oldIndex ? 2 : 1), "operation \(operation)")
            }
            #expect(try await storage.message(1) == row(1, index: 1))
            // One catalogue, and nothing of an installation.
            let names = try shard.directory.names().contains("shard") ? try shard.fileNames() : []
            #expect(names.filter { $0.hasPrefix("catalogue") }.count == 1, "operation \(operation): \(names)")
            let all = try TemporaryDirectory.names(in: shard.directory.path + "/shard")
            #expect(!all.contains { $0.contains("install") }, "operation \(operation): \(all)")
            // It works on either.
            if index != newIndex { try await install(new, in: storage) }
            try await storage.backfillAll(from: source)
            #expect(try await storage.message(2) == row(2, index: 6))
            storage.close()
        }
        #expect(olds > 0)
        #expect(news > 0)
    }

    @Test func `a disk that is full during an installation leaves the old state, and says so`() async throws {
        let (there, source) = try await source()
        defer { source.close() }
        withExtendedLifetime(there) {}
        let new = try await source.snapshotBytes().bytes
        let (shard, disk) = (try TestShard(), FaultDisk())
        let storage = try await replica(shard, disk)
        _ = try await storage.checkpoint()
        let old = try await storage.snapshotBytes().bytes
        var failures = 0
        for writes in 0..<200 as Range<Int64> {
            disk.fillUp(after: writes)
            do {
                try await install(new, in: storage)
                break
            } catch let error as StorageError {
                failures += 1
                #expect(error.code == .full, "\(error)")
            }
            disk.isFull = false
            #expect(try await storage.snapshotBytes().bytes == old)
            #expect(storage.appliedIndex == oldIndex)
            #expect(storage.isHistoryComplete)
            #expect(storage.health == .good)
        }
        #expect(failures > 3)
        #expect(storage.appliedIndex == newIndex)
        disk.isFull = false
        #expect(try await storage.snapshotBytes().bytes == new)
        storage.close()
    }

    @Test func `a start finds the newer of two catalogues, and removes the other and what was unfinished`() async throws
    {
        let (there, source) = try await source()
        let new = try await source.snapshotBytes().bytes
        source.close()
        let whole = try there.directory.bytes("shard/catalogue.sqlite")
        let shard = try TestShard()
        var storage = try shard.open()
        storage.write([try roomRow("b", index: 2)], applied: 2)
        storage.close()
        // The power was cut before the name was given, and behind it.
        try shard.directory.write(Array(whole.prefix(5_000)), to: "shard/catalogue-1.sqlite.install")
        storage = try shard.open()
        #expect(storage.appliedIndex == 2)
        storage.close()
        #expect(try shard.fileNames() == ["catalogue.sqlite"])
        try shard.directory.write(whole, to: "shard/catalogue-1.sqlite")
        // A snapshot names the commands that made the messages.
        let days = try there.fileNames().filter { !$0.hasPrefix("catalogue") }
        for day in days { try shard.directory.write(try there.directory.bytes("shard/" + day), to: "shard/" + day) }
        storage = try shard.open()
        #expect(storage.appliedIndex == newIndex)
        #expect(try await storage.snapshotBytes().bytes == new)
        storage.close()
        let names = try TemporaryDirectory.names(in: shard.directory.path + "/shard")
        #expect(names.filter { $0.hasPrefix("catalogue") } == ["catalogue-1.sqlite"])
    }
}
