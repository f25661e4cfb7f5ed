import Consensus
import LogStore
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit

/// Collects what a callback delivers, and waits for it.
final class Waiting<Value: Sendable>: Sendable {
    private let values: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (values, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded) }

    func deliver(_ value: Value) { continuation.yield(value) }

    func next() async throws -> Value {
        let value = try await withDeadline("a callback") { [values] in await values.first { _ in true } }
        return try #require(value)
    }
}

extension LogStore {
    func save(_ saves: [GroupSave]) async throws(LogStoreError) {
        let result = await withCheckedContinuation { continuation in
            save(saves) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    func save(_ save: GroupSave) async throws(LogStoreError) { try await self.save([save]) }

    func entries(_ group: GroupID, _ range: ClosedRange<UInt64>, bytesMax: Int = .max) async throws(LogStoreError)
        -> [Entry]
    {
        let result = await withCheckedContinuation { continuation in
            entries(group, from: range.lowerBound, through: range.upperBound, bytesMax: bytesMax) {
                continuation.resume(returning: $0)
            }
        }
        return try result.get()
    }
}

/// Both that this program writes.
enum LogFormat: CaseIterable, Sendable {
    /// Version 2: rows of a table.
    case table
    /// Version 3.
    case segments
}

func configuration(
    _ directory: TemporaryDirectory, create: Bool = false, disk: FaultDisk? = nil, _ format: LogFormat = .segments
) -> LogStoreConfiguration {
    var configuration = LogStoreConfiguration(directory: directory.path)
    configuration.create = create
    configuration.makesSegments = format == .segments
    // So that a test that opens many logs reads little.
    configuration.segmentBytes = 64 << 10
    // All segments, or all but the newest ones, are read as the older ones of a large log.
    configuration.openedBytesMax = 3_000
    configuration.vfs = disk?.vfs
    return configuration
}

func entry(_ index: UInt64, term: UInt64 = 1, bytes: Int = 20) -> Entry {
    Entry(
        index: index, term: term, kind: .command,
        payload: (0..<bytes).map { UInt8(truncatingIfNeeded: index &* 31 &+ UInt64($0)) })
}

func entries(_ range: ClosedRange<UInt64>, term: UInt64 = 1, bytes: Int = 20) -> [Entry] {
    range.map { entry($0, term: term, bytes: bytes) }
}

let groupA = GroupID(1)
let groupB = GroupID(2)
