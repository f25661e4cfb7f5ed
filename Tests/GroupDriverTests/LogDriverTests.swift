import Consensus
import EventLoop
import LogStore
import Logging
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit

@testable import GroupDriver

/// The lines in which the drivers of a node tell of the store that they share.
@Suite(.timeLimit(.minutes(3))) struct LogDriverTests {
    private struct NoTransport: ConsensusTransport {
        func send(_ messages: [RaftMessage]) {}
    }

    private final class Lines: Sendable {
        private let logged = Mutex<[String]>([])

        var all: [String] { logged.withLock { $0 } }

        /// Other lines are of the loop, which may stand still on a busy machine.
        func note(_ line: String) {
            if line.hasPrefix("the log") { logged.withLock { $0.append(line) } }
        }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        init(lines: Lines) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.note("\(event.message)") }
    }

    /// A driver and its group, which is alone on its disk.
    private struct Driven {
        let driver: LogDriver
        let log: GroupLog
    }

    @Test func `a disk that takes nothing is told once, however many drivers and groups meet it, and so is its end`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let disk = FaultDisk()
        var settings = LogStoreConfiguration(directory: directory.path + "/log")
        (settings.create, settings.vfs) = (true, disk.vfs)
        let store = try LogStore.open(settings)
        // No file of the disk may be open when it goes.
        defer { withExtendedLifetime(disk) { store.close() } }
        let server = ServerID(node: "n1", store: store.storeID)
        let groups = [GroupID(0), GroupID(1)]
        let saves = try groups.map { try #require(try GroupLog.bootstrap($0, server)) }
        try await withCheckedThrowingContinuation { continuation in
            store.save(saves) { continuation.resume(with: $0) }
        }
        let lines = Lines()
        let logger = Logger(label: "test", factory: { _ in Handler(lines: lines) })
        let loop = try EventLoop(name: "drivers")
        loop.start()
        // The drivers stay until the loop has ended.
        let result: Result<LoopBound<[Driven]>, any Error>
        do {
            disk.isFailing = true
            // Each votes for itself, and can't save that.
            let all = try await loop.run {
                let driven = try groups.map { group in
                    let log = try GroupLog(group: group, server: server, store: store, loop: loop, appliedIndex: 0)
                    let driver = LogDriver(
                        loop: loop, store: store, transport: NoTransport(), logger: logger,
                        tellsOfStore: group == groups[0])
                    driver.add(log)
                    return Driven(driver: driver, log: log)
                }
                return LoopBound(onLoop: driven, loop: loop)
            }
            try await poll("both groups to fail") {
                await loop.run { all.value.allSatisfy { $0.log.hasFailed } }
            }
            try await poll("the line") { !lines.all.isEmpty }
            disk.isFailing = false
            try await poll("both groups to lead") {
                await loop.run { all.value.allSatisfy { $0.log.isLeader } }
            }
            try await poll("the end to be told") { lines.all.last == "the log can be written again" }
            result = .success(all)
        } catch {
            result = .failure(error)
        }
        loop.shutdown()
        await loop.joined()
        _ = try result.get()
        #expect(
            lines.all == [
                "the log can't be written; this node leads nothing that another one can lead until it can",
                "the log can be written again",
            ])
    }
}
