import ChatModel
import Consensus
import Dispatch
import EventLoop
import LogStore
import StorageTestKit
import Testing
import WaitTestKit

@testable import GroupDriver

/// A group whose core is made anew after a failed write, on a loop that has other things to do.
@Suite(.timeLimit(.minutes(1))) struct GroupRestartTests {
    private let group = GroupID(0)

    /// A group that is alone on its disk, and has just failed to write something.
    private func withFailedGroup(
        _ body: (LoopBound<GroupLog>, LogStore, EventLoop) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        var settings = LogStoreConfiguration(directory: directory.path + "/log")
        settings.create = true
        let store = try LogStore.open(settings)
        defer { store.close() }
        let server = ServerID(node: "n1", store: store.storeID)
        let save = try #require(try GroupLog.bootstrap(group, server))
        try await withCheckedThrowingContinuation { continuation in
            store.save([save]) { continuation.resume(with: $0) }
        }
        let loop = try EventLoop(name: "group")
        loop.start()
        let result: Result<Void, any Error>
        do {
            let log = try await loop.run { [group] in
                let log = try GroupLog(group: group, server: server, store: store, loop: loop, appliedIndex: 0)
                // It votes for itself.
                while log.takeOutput() == nil { log.tick() }
                log.persistFailed(generation: 0)
                #expect(log.hasFailed && log.generation == 0)
                return LoopBound(onLoop: log, loop: loop)
            }
            result = .success(try await body(log, store, loop))
        } catch {
            result = .failure(error)
        }
        loop.shutdown()
        await loop.joined()
        try result.get()
    }

    /// The thread that writes and reads the log's disk.
    private final class HungDisk: Sendable {
        private let end = DispatchSemaphore(value: 0)

        /// Returns when it hangs.
        init(_ store: LogStore) async {
            await withCheckedContinuation { continuation in
                store.entries(GroupID(9), from: 1, through: 1, bytesMax: 1) { [end] _ in
                    continuation.resume()
                    end.wait()
                }
            }
        }

        func goOn() { end.signal() }
    }

    private func tick(_ log: LoopBound<GroupLog>, _ loop: EventLoop) async {
        await loop.run { for _ in 0..<10 { log.value.tick() } }
    }

    private func isRestarted(_ log: LoopBound<GroupLog>, _ loop: EventLoop) async -> Bool {
        await loop.run { !log.value.hasFailed && log.value.generation == 1 }
    }

    @Test func `a loop goes on while the disk hangs from which a group is to be restored`() async throws {
        try await withFailedGroup { log, store, loop in
            let disk = await HungDisk(store)
            defer { disk.goOn() }
            try await withDeadline("the loop's turn") { [self] in await tick(log, loop) }
            // A second later it does not ask once more.
            await tick(log, loop)
            #expect(await loop.run { log.value.hasFailed })
            disk.goOn()
            try await poll("a new core") { await self.isRestarted(log, loop) }
            // It tries again.
            await loop.run { while log.value.takeOutput() == nil { log.value.tick() } }
        }
    }

    @Test func `a core is not made while a state is being put in place, however late the disk has answered`()
        async throws
    {
        try await withFailedGroup { log, store, loop in
            let disk = await HungDisk(store)
            await tick(log, loop)
            await loop.run { log.value.isInstalling = { true } }
            disk.goOn()
            // Behind the answer to the group, which comes to the loop before this.
            _ = try store.restored(group)
            await loop.run {}
            #expect(await loop.run { log.value.hasFailed && log.value.generation == 0 })
            await loop.run { log.value.isInstalling = { false } }
            await tick(log, loop)
            try await poll("a new core") { await self.isRestarted(log, loop) }
        }
    }

    @Test func `a group whose log is closed stays where it is`() async throws {
        try await withFailedGroup { log, store, loop in
            store.close()
            await tick(log, loop)
            await loop.run {}
            #expect(await loop.run { log.value.hasFailed && log.value.generation == 0 })
        }
    }
}
