import ChatModel
import Consensus
import Foundation
import LogStore
import Logging
import Testing
import Wire

@testable import Node

/// A node that meets content which its program does not understand stops with a sentence that says what to start, and
/// with an exit code of its own. Nothing is skipped, and nothing traps.
@Suite(.timeLimit(.minutes(3))) struct UnknownContentTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/unknown-\(UUID().uuidString)"

    private func configuration(levelMax: Int = FeatureLevel.newest.number) throws -> NodeConfiguration {
        try .test(in: directory, ["featureLevel": ["max": levelMax]])
    }

    private var logger: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }

    private func create(_ configuration: NodeConfiguration) async throws {
        try await ChatroomNode.createCluster(configuration, logger: logger)
    }

    /// Runs a node until it ends by itself.
    private func run(_ configuration: NodeConfiguration) async throws -> NodeError {
        let node = try await ChatroomNode(
            configuration: configuration, logger: logger, logControl: LogControl(.critical))
        return try #require(await #expect(throws: NodeError.self) { try await node.run() })
    }

    /// A command of which this program knows nothing, or all but one field, as the last one of a log.
    @Test(arguments: [GroupID(0), .system], [false, true])
    func `an entry of the log`(group: GroupID, isKnownBesides: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let configuration = try configuration()
        try await create(configuration)
        let log = try LogStore.open(LogStoreConfiguration(directory: directory + "/store/log"))
        let stored = try log.restored(group)
        let term = max(stored.hardState.term, 1)
        var payload: [UInt8] = []
        if isKnownBesides {
            let lobby = try #require(RoomID("lobby"))
            payload =
                group == .system
                ? SystemCodec.encode(SystemEntry(time: Timestamp(1), key: nil, command: .nonce))
                : LogCodec.encode(
                    Command(id: nil, room: lobby, actor: .system, body: .expire), time: Timestamp(1))
        }
        // Field 999, which no version has.
        let entry = Entry(
            index: stored.lastIndex + 1, term: term, kind: .command, payload: payload + [0xBA, 0x3E, 0])
        let saved: Result<Void, LogStoreError> = await withCheckedContinuation { continuation in
            log.save([GroupSave(group: group, hardState: HardState(term: term), entries: [entry])]) {
                continuation.resume(returning: $0)
            }
        }
        log.close()
        try saved.get()

        // Again and again: the log stays as it is.
        for _ in 0..<2 {
            let error = try await run(configuration)
            #expect(error.code == .version && error.exitCode == 65)
            for words in [
                "the log entry \(entry.index) of", group == .system ? "the system group" : "shard 0",
                "can't be understood", "feature level \(FeatureLevel.newest)", "Start the version",
                "or the disk has damaged it", "let it join anew",
            ] {
                #expect(error.message.contains(words), "\(error.message)")
            }
        }
    }

    @Test func `the level of the cluster`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await create(try configuration())
        let error = try await run(try configuration(levelMax: 1))
        #expect(error.code == .version && error.exitCode == 65)
        #expect(error.message.contains("the cluster has feature level \(FeatureLevel.newest)"), "\(error.message)")
        #expect(error.message.contains("this program can do 1"), "\(error.message)")
    }
}
