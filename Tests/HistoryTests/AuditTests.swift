import ChatModel
import History
import StorageTestKit
import Testing

/// The record of changing calls: kept for its days and no longer (PROTOCOL.md, "Audit").
@Suite struct AuditTests {
    private static let day: Int64 = 86_400
    private let directory: TemporaryDirectory
    private let clock = TestClock(noon)

    init() throws { directory = try TemporaryDirectory() }

    private func open() throws -> AuditFile {
        try AuditFile.open(path: directory.path + "/audit", retentionDays: 90) { [clock] in clock.now }
    }

    private func payloads(_ file: AuditFile) async throws -> [[UInt8]] {
        try await file.page(before: nil, limit: 100).get().map(\.payload)
    }

    @Test func `an item is there for exactly 90 days`() async throws {
        let file = try open()
        defer { file.close() }
        #expect(file.append([1], time: clock.now))
        clock.now = noon.adding(seconds: Self.day)
        #expect(file.append([2], time: clock.now))
        clock.now = noon.adding(seconds: 90 * Self.day)
        #expect(try await payloads(file) == [[2], [1]])
        clock.now = Timestamp(clock.now.milliseconds + 1)
        #expect(try await payloads(file) == [[2]])
    }

    @Test func `an item whose days are over leaves the file too, and no ID comes twice`() async throws {
        let file = try open()
        #expect(file.append([1], time: clock.now))
        let first = try #require(try await file.page(before: nil, limit: 1).get().first)
        file.close()
        clock.now = Timestamp(noon.adding(seconds: 90 * Self.day).milliseconds + 1)
        let pruned = try open()
        // Were it still in the file, a clock that goes back would show it again.
        clock.now = noon
        #expect(try await payloads(pruned) == [])
        #expect(pruned.append([2], time: clock.now))
        let second = try #require(try await pruned.page(before: nil, limit: 1).get().first)
        #expect(second.id > first.id && second.payload == [2])
        pruned.close()
    }

    @Test func `a file that is written on and on is pruned without a start`() async throws {
        let file = try open()
        defer { file.close() }
        #expect(file.append([1], time: clock.now))
        #expect(try await payloads(file) == [[1]])
        clock.now = noon.adding(seconds: 91 * Self.day)
        for _ in 0..<1_000 { #expect(file.append([2], time: clock.now)) }
        _ = try await payloads(file)
        clock.now = noon
        #expect(try await file.page(before: 2, limit: 100).get().isEmpty)
    }
}
