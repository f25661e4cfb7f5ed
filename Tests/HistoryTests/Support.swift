import ChatModel
import History
import SQLite
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit

/// A wall clock that stands still until a test moves it.
final class TestClock: Sendable {
    private let time: Mutex<Timestamp>

    init(_ time: Timestamp) { self.time = Mutex(time) }

    var now: Timestamp {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
}

/// The storage of one shard in a directory of its own, on threads of its own.
final class TestShard: Sendable {
    let directory: TemporaryDirectory
    let clock: TestClock
    let pool = StoragePool(writers: 1, readers: 1)
    let health = Mutex<[StorageHealth]>([])
    private let healthChanges = Changes()
    private let (blockRowsMin, inlinePayloadsMax): (Int, Int)

    /// - Parameters:
    ///   - blockRowsMin: by default each message of its own is a block, which is what changes have most to do with.
    ///   - inlinePayloadsMax: by default all payloads of blocks are in the file beside the database, for the same reason.
    init(now: Timestamp = noon, blockRowsMin: Int = 1, inlinePayloadsMax: Int = 0) throws {
        (self.blockRowsMin, self.inlinePayloadsMax) = (blockRowsMin, inlinePayloadsMax)
        directory = try TemporaryDirectory()
        clock = TestClock(now)
    }

    deinit { pool.close() }

    func open(disk: FaultDisk? = nil, _ change: (inout StorageConfiguration) -> Void = { _ in }) throws -> ShardStorage
    {
        var configuration = StorageConfiguration { [clock] in clock.now }
        configuration.linger = .milliseconds(1)
        configuration.vfs = disk?.vfs
        configuration.blockRowsMin = blockRowsMin
        configuration.inlinePayloadsMax = inlinePayloadsMax
        configuration.erased = { payload in payload.isEmpty ? [] : [0] }
        configuration.onHealthChange = { [weak self] health in
            self?.health.withLock { $0.append(health) }
            self?.healthChanges.note()
        }
        change(&configuration)
        return try ShardStorage.open(
            ShardID(0), directory: directory.path + "/shard", pool: pool, configuration: configuration)
    }

    /// Waits until the host has been told of a state.
    func told(_ wanted: StorageHealth) async throws {
        try await healthChanges.wait(for: "the host to be told: \(wanted)") {
            health.withLock { $0.contains(wanted) } ? () : nil
        }
    }

    func fileNames() throws -> [String] {
        try directory.names().contains("shard")
            ? TemporaryDirectory.names(in: directory.path + "/shard").filter { $0.hasSuffix(".sqlite") } : []
    }
}

/// 2026-06-15T12:00:00Z.
let noon = Timestamp(1_781_524_800_000)
let life = Incarnation(1)

extension ShardStorage {
    func checkpoint() async throws -> UInt64 {
        try await answer { checkpoint(completion: $0) }
    }

    func loadRoom(_ room: RoomID) async throws -> LoadedRoom {
        try await answer { loadRoom(room, completion: $0) }
    }

    func page(_ query: HistoryQuery, for reader: HistoryReader? = nil) async throws -> History.StoredPage {
        try await answer { page(query, for: reader, completion: $0) }
    }

    func message(
        _ seq: UInt64, of incarnation: Incarnation = life, withCopies: Bool = false
    ) async throws -> HistoryRow? {
        try await answer { message(incarnation, seq: seq, withCopies: withCopies, completion: $0) }
    }

    func rooms(_ kind: CatalogueKind = .room, after: RoomID? = nil, limit: Int = 100) async throws -> [CatalogueRow] {
        try await answer { rooms(kind, after: after, limit: limit, completion: $0) }
    }

    func dueDeadlines(at time: Timestamp, limit: Int = 100) async throws -> [DueDeadline] {
        try await answer { dueDeadlines(at: time, limit: limit, completion: $0) }
    }

    func removeExpiredFiles() async throws {
        try await answer { removeExpiredFiles(completion: $0) }
    }

    func answer<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StorageError>) -> Void) -> Void
    ) async throws -> Value {
        let result = await withCheckedContinuation { continuation in
            call { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Blocks until there is an answer: for tests that have a connection of their own, which belongs to one thread.
    func waited<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StorageError>) -> Void) -> Void
    ) throws -> Value {
        let answer = Monitor<Result<Value, StorageError>?>(nil)
        call { result in answer.update { $0 = result } }
        return try answer.wait { $0 }.get()
    }

    /// Writes history rows as one batch.
    func write(_ rows: [HistoryRow], _ erasures: [Erasure] = [], applied: UInt64? = nil) {
        var batch = StorageBatch(
            appliedIndex: applied ?? max(rows.map(\.index).max() ?? 0, erasures.map(\.index).max() ?? 0))
        batch.history = HistoryRows(rows)
        batch.erasures = erasures
        write(batch)
    }

    func write(_ rows: [CatalogueRow], retired: [RetiredRoom] = [], applied: UInt64) {
        var batch = StorageBatch(appliedIndex: applied)
        batch.catalogue = rows
        batch.retired = retired
        write(batch)
    }
}

func row(
    _ seq: UInt64, at time: Timestamp = noon, index: UInt64? = nil, of incarnation: Incarnation = life, type: Int = 0,
    sender: String? = "ann", bytes: Int = 10
) -> HistoryRow {
    HistoryRow(
        incarnation: incarnation, seq: seq, index: index ?? seq, time: time, type: type, sender: sender,
        command: CommandKey(high: seq, low: ~seq),
        payload: [UInt8](repeating: UInt8(truncatingIfNeeded: seq), count: bytes))
}

func room(_ name: String) throws -> RoomID { try #require(RoomID(name)) }

func roomRow(_ name: String, index: UInt64, incarnation: UInt64 = 1, deadline: Timestamp? = nil, _ value: UInt8 = 1)
    throws -> CatalogueRow
{
    CatalogueRow(
        room: try room(name), incarnation: Incarnation(incarnation), kind: CatalogueKind.room.rawValue, key: "",
        value: [value], deadline: deadline, index: index)
}

func memberRow(
    _ name: String, _ user: String, index: UInt64, incarnation: UInt64 = 1, deadline: Timestamp? = nil,
    value: [UInt8]? = [2]
) throws -> CatalogueRow {
    CatalogueRow(
        room: try room(name), incarnation: Incarnation(incarnation), kind: CatalogueKind.member.rawValue, key: user,
        value: value, deadline: deadline, index: index)
}

let (n1, n2) = (nodeID("n1"), nodeID("n2"))

private func nodeID(_ text: String) -> NodeID {
    guard let node = NodeID(text) else { preconditionFailure("\(text) is a node ID") }
    return node
}
