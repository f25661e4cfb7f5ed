import ChatModel
import SQLite
import Synchronization

/// A record of who did what, on a thread of its own: nobody waits for its disk. It holds a node's own calls, and copies
/// of those of other nodes.
///
/// Appended rows are written soon after; a power cut may lose the newest rows, never the order. Rows go after the
/// retention, and the oldest ones of each node beyond `AuditRow.Kind.rowsMax`.
public final class AuditFile: Sendable {
    /// A row of this node before it has its place.
    public struct Appended: Sendable {
        public var time: Timestamp
        public var subject: AuditRow.Subject
        public var payload: [UInt8]

        public init(time: Timestamp, subject: AuditRow.Subject, payload: [UInt8]) {
            self.time = time
            self.subject = subject
            self.payload = payload
        }
    }

    private struct Pending {
        var rows: [Appended] = []
        var isScheduled = false
    }

    /// The path of a record of an earlier format, and a function that reads a row's subject.
    public struct Former: Sendable {
        public var path: String
        public var subject: @Sendable (_ payload: [UInt8]) -> AuditRow.Subject

        public init(path: String, subject: @escaping @Sendable (_ payload: [UInt8]) -> AuditRow.Subject) {
            self.path = path
            self.subject = subject
        }
    }

    /// Rows that may wait for the disk; further ones are not taken.
    public static let pendingMax = 10_000
    /// Rows of a former record that are taken at once.
    private static let formerRowsAtOnce = 500

    private let thread = StorageThread("audit", isInBackground: true)
    private let pending = Mutex(Pending())
    private let written = Atomic<Int>(0)
    private let retentionDays: Int64
    private let now: @Sendable () -> Timestamp

    private init(retentionDays: Int64, now: @escaping @Sendable () -> Timestamp) {
        self.retentionDays = retentionDays
        self.now = now
    }

    /// Opens or makes the file. Blocks: at start only. Throws when it can't be used.
    /// - Parameters:
    ///   - own: the node whose rows `append` takes.
    ///   - former: its rows are taken in the background; where there is none, nothing is.
    ///   - level: the cluster's feature level: the file is of the format that it brings.
    public static func open(
        path: String, own: NodeID, former: Former? = nil, retentionDays: Int64, level: FeatureLevel = .newest,
        now: @escaping @Sendable () -> Timestamp
    ) throws -> AuditFile {
        let file = AuditFile(retentionDays: retentionDays, now: now)
        let cutoff = file.cutoff
        let result = file.thread.ask { worker -> Result<Void, StorageError> in
            do {
                let table = try AuditTable(path: path, own: own, level: level)
                worker.audit = table
                worker.formerAudit = try former.flatMap { try FormerAudit(path: $0.path, level: level) }
                try table.prune(before: cutoff)
                return .success(())
            } catch {
                return .failure(
                    (error as? StorageError) ?? (error as? SQLiteError).map(StorageError.init)
                        ?? StorageError(.io, "\(error)"))
            }
        }
        switch result {
        case .success?: break
        case .failure(let error)?:
            file.close()
            throw error
        case nil: throw StorageError(.closed, "the audit was closed")
        }
        if let former { file.thread.submit { file.take(former, $0) } }
        return file
    }

    private var cutoff: Timestamp { now().adding(seconds: -retentionDays * 86_400) }

    /// Takes rows of a former record, and comes back for the next ones: others get their turns meanwhile. A failure ends
    /// it until the next start.
    private func take(_ former: Former, _ worker: StorageWorker) {
        guard let file = worker.formerAudit, let table = worker.audit else { return }
        let cutoff = cutoff
        do throws(SQLiteError) {
            let rows = try file.rows(after: try table.formerMark(), limit: Self.formerRowsAtOnce)
            if let last = rows.last {
                let kept = rows.filter { $0.time >= cutoff }.map {
                    Appended(time: $0.time, subject: former.subject($0.payload), payload: $0.payload)
                }
                try table.take(former: kept, upTo: last.id)
                written.wrappingAdd(1, ordering: .relaxed)
                if thread.submit({ [self] in take(former, $0) }) { return }
            }
        } catch {}
        file.close()
        worker.formerAudit = nil
    }

    /// Takes a row. False when too many wait.
    public func append(_ row: Appended) -> Bool {
        let taken: Bool? = pending.withLock { pending in
            guard pending.rows.count < Self.pendingMax else { return nil }
            pending.rows.append(row)
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        if taken == true { thread.submit { [self] in write($0) } }
        return taken != nil
    }

    /// Another number whenever there are rows of this node that were not there before.
    public var version: Int { written.load(ordering: .relaxed) }

    private func write(_ worker: StorageWorker) {
        let rows = pending.withLock { pending in
            defer {
                pending.rows = []
                pending.isScheduled = false
            }
            return pending.rows
        }
        do throws(SQLiteError) {
            try worker.audit?.append(rows)
            written.wrappingAdd(1, ordering: .relaxed)
            prune(worker)
        } catch {
            // Kept in front of what has come since, and tried again; the bound holds for both.
            let isFree = pending.withLock { pending in
                pending.rows = rows + pending.rows
                defer { pending.isScheduled = true }
                return !pending.isScheduled
            }
            if isFree { thread.submit(after: .seconds(1)) { [self] in write($0) } }
        }
    }

    /// The rows that were written stay written when this fails; it is tried again a thousand rows later.
    private func prune(_ worker: StorageWorker) {
        do throws(SQLiteError) { try worker.audit?.pruneIfDue(before: cutoff) } catch {}
    }

    /// Takes copies of another node's rows, the oldest first. Returns when they are written.
    /// - Parameter store: that of the node whose rows they are, if it has sent them itself.
    public func keep(_ rows: [AuditRow], from store: UInt64? = nil) async -> Result<Void, StorageError> {
        let cutoff = cutoff
        return await ask { table throws(SQLiteError) in
            try table.keep(rows, from: store)
            try table.pruneIfDue(before: cutoff)
        }
    }

    /// Rows within the retention, newest first, behind what was appended before.
    public func page(_ query: AuditQuery) async -> Result<[AuditRow], StorageError> {
        let cutoff = cutoff
        return await ask { table throws(SQLiteError) in try table.page(query, since: cutoff) }
    }

    /// The nodes of which there are rows.
    public func nodes() async -> Result<[NodeID], StorageError> {
        await ask { table throws(SQLiteError) in try table.nodes() }
    }

    /// Rows of a node, the oldest first, that another node's store has not got as far as this record knows.
    /// - Parameter id: only rows behind it.
    public func uncopied(of node: NodeID, to store: UInt64, after id: Int64 = 0, limit: Int) async
        -> Result<[AuditRow], StorageError>
    {
        let cutoff = AuditPlace.firstID(at: cutoff) - 1
        return await ask { table throws(SQLiteError) in
            let first = max(id, try table.copied(of: node, to: store), cutoff)
            return try table.rows(of: node, after: first, limit: limit)
        }
    }

    /// Notes that a store has all rows of the node up to this one.
    public func note(copied id: Int64, of node: NodeID, to store: UInt64) async -> Result<Void, StorageError> {
        await ask { table throws(SQLiteError) in try table.note(copied: id, of: node, to: store) }
    }

    private func ask<Value: Sendable>(
        _ body: @escaping @Sendable (AuditTable) throws(SQLiteError) -> Value
    ) async -> Result<Value, StorageError> {
        await withCheckedContinuation { continuation in
            let isTaken = thread.submit { worker in
                guard let table = worker.audit else {
                    return continuation.resume(returning: .failure(StorageError(.closed, "the audit was closed")))
                }
                do throws(SQLiteError) {
                    continuation.resume(returning: .success(try body(table)))
                } catch {
                    continuation.resume(returning: .failure(StorageError(error)))
                }
            }
            if !isTaken {
                continuation.resume(returning: .failure(StorageError(.closed, "the audit was closed")))
            }
        }
    }

    /// Writes what waits and closes the file. Blocks until then.
    public func close() { thread.stop() }
}
