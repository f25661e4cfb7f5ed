import ChatModel
import EventLoop
import Foundation
import LogStore
import Logging
import Testing
import Transport

@testable import Node

/// A node that can't start says why, and leaves nothing running: its data can be used at once.
@Suite(.timeLimit(.minutes(3))) struct FailingStartTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/start-\(UUID().uuidString)"
    private let logger: Logger

    init() throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        self.logger = logger
    }

    private func configuration(_ changes: [String: Any] = [:]) throws -> NodeConfiguration {
        try .test(in: directory, changes)
    }

    private func failure(of configuration: NodeConfiguration) async throws -> NodeError? {
        let node = try await ChatroomNode(
            configuration: configuration, logger: logger, logControl: LogControl(.critical)
        ) { _ in Issue.record("it serves") }
        return await #expect(throws: NodeError.self) { try await node.run() }
    }

    /// The log has one owner at a time.
    private func expectNothingRuns() throws {
        try LogStore.open(LogStoreConfiguration(directory: directory + "/store/log")).close()
    }

    @Test func `a client port that is taken`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await ChatroomNode.createCluster(configuration(), logger: logger)
        let loop = try EventLoop(name: "taken")
        loop.start()
        let taken = try await loop.run { () throws -> Int in
            try TCPListener(loop: loop, host: "127.0.0.1", port: 0, reusePort: false) { $0.close() }.port
        }
        let error = try await failure(of: configuration(["client": ["port": taken]]))
        #expect(error?.code == .address)
        #expect(error?.message.hasPrefix("the client port 127.0.0.1:\(taken) can't be used: ") == true)
        try expectNothingRuns()
        loop.shutdown()
        await loop.joined()
    }

    @Test func `an audit that is none`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await ChatroomNode.createCluster(configuration(), logger: logger)
        let audit = DataDirectory(path: directory + "/store").audit
        try? FileManager.default.removeItem(atPath: audit)
        try FileManager.default.createDirectory(atPath: audit, withIntermediateDirectories: true)
        let error = try await failure(of: configuration())
        #expect(error?.code == .storage)
        #expect(error?.message.hasPrefix("the audit can't be used: ") == true)
        try expectNothingRuns()
    }

    @Test func `an API port that is taken`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await ChatroomNode.createCluster(configuration(), logger: logger)
        let loop = try EventLoop(name: "taken")
        loop.start()
        let taken = try await loop.run { () throws -> Int in
            try TCPListener(loop: loop, host: "127.0.0.1", port: 0, reusePort: false) { $0.close() }.port
        }
        let error = try await failure(of: configuration(["api": ["port": taken]]))
        #expect(error?.code == .address)
        #expect(error?.message.hasPrefix("the API port 127.0.0.1:\(taken) can't be served: ") == true)
        try expectNothingRuns()
        loop.shutdown()
        await loop.joined()
    }
}
