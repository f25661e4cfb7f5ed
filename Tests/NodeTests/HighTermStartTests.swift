import ChatModel
import Consensus
import Foundation
import LogStore
import Logging
import Testing

@testable import Node

/// A node whose store holds a term that no election leads to would be deaf: it says so instead, and what to do.
@Suite(.timeLimit(.minutes(3))) struct HighTermStartTests {
    /// The group of the first shard, and that of the system.
    @Test(arguments: [GroupID(0), .system], [RaftGroup.termMax, 1 << 62])
    func `a node that starts on such a store refuses, with a sentence`(group: GroupID, term: UInt64) async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/term-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let configuration = try NodeConfiguration.test(in: directory)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        try await ChatroomNode.createCluster(configuration, logger: logger)
        let log = try LogStore.open(LogStoreConfiguration(directory: directory + "/store/log"))
        let saved: Result<Void, LogStoreError> = await withCheckedContinuation { continuation in
            log.save([GroupSave(group: group, hardState: HardState(term: term))]) { continuation.resume(returning: $0) }
        }
        log.close()
        try saved.get()

        let node = try await ChatroomNode(
            configuration: configuration, logger: logger, logControl: LogControl(.critical)
        ) { _ in Issue.record("it serves") }
        let error = await #expect(throws: NodeError.self) { try await node.run() }
        let message = try #require(error?.message)
        for words in [
            "the term of group \(group.number) is \(term)", "no election leads to", "move this data directory",
        ] {
            #expect(message.contains(words), "\(message)")
        }
    }
}
