import ChatModel
import Consensus
import SQLite

/// The logs of all consensus groups of a node, in one SQLite database with one writer thread (ARCHITECTURE.md, "Log").
///
/// Everything that waits for the writer goes into one transaction, so one sync serves all groups. A save whose
/// completion reports success has reached the disk. All calls are safe from any thread; completions run on the writer
/// thread and must hand over to where they belong. `close()` must be called.
public final class LogStore: Sendable {
    /// The identity of this store: random, made with the directory. A node whose store ID has changed is another
    /// server.
    public let storeID: UInt64
    private let configuration: LogStoreConfiguration
    private let queue: Monitor<LogQueue>

    private init(storeID: UInt64, configuration: LogStoreConfiguration, queue: Monitor<LogQueue>) {
        self.storeID = storeID
        self.configuration = configuration
        self.queue = queue
    }

    /// Opens the log, verifies every row of it and compares it with its marks. Blocks for as long as that takes.
    ///
    /// Throws `.missing`, `.alreadyExists`, `.inUse`, `.unsupported`, `.corrupt`, `.behindMarks`, `.full` or `.io`,
    /// with a message that tells an operator what to do.
    public static func open(_ configuration: LogStoreConfiguration) throws(LogStoreError) -> LogStore {
        let queue = Monitor(LogQueue())
        let opened = Monitor<Result<UInt64, LogStoreError>?>(nil)
        startDatabaseThread("log-writer") {
            do throws(LogStoreError) {
                let opening = try LogOpening(configuration) { .random(in: 1...UInt64(Int64.max)) }
                let marks = MarksKeeper(
                    path: LogOpening.marksPath(configuration.directory), marks: opening.marks,
                    interval: configuration.marksInterval, files: configuration.files,
                    onWrite: { failure in
                        queue.withLock { queue in
                            queue.status.marksFailure = failure
                            if failure != nil { queue.status.marksFailures += 1 }
                        }
                    })
                marks.start()
                let writer = LogWriter(configuration, queue: queue, opening: opening, marks: marks)
                opened.update { $0 = .success(opening.store) }
                writer.run()
            } catch {
                opened.update { $0 = .failure(error) }
            }
        }
        let storeID = try opened.wait { $0 }.get()
        return LogStore(storeID: storeID, configuration: configuration, queue: queue)
    }

    // MARK: - Writing

    /// Makes saves durable, in the order of the calls. `completion` is called once, when all of them are on disk or
    /// with the first error; each save counts on its own, so after an error ask `restored` what is there: before that
    /// no further save of the group is taken.
    ///
    /// At most `waitingBytesMax` bytes wait; beyond that, and after `close()`, the completion is called at once, on the
    /// caller's thread, and nothing of the saves is kept.
    public func save(_ saves: [GroupSave], completion: @escaping @Sendable (Result<Void, LogStoreError>) -> Void) {
        guard !saves.isEmpty else {
            completion(.success(()))
            return
        }
        let bytes = saves.map(\.bytes)
        let sum = bytes.reduce(0, +)
        let shared = saves.count == 1 ? nil : SaveCompletion(count: saves.count, completion)
        let refusal: LogStoreError? = queue.update { queue in
            if let refusal = queue.refusal { return refusal }
            if queue.isClosing { return LogStoreError(.closed, "the log was closed") }
            if queue.savesBytes > 0, queue.savesBytes + sum > configuration.waitingBytesMax {
                queue.failed.formUnion(saves.map(\.group))
                return LogStoreError(.overloaded, "\(queue.savesBytes) bytes wait for the disk")
            }
            for (save, bytes) in zip(saves, bytes) {
                queue.append(
                    LogQueue.Save(save: save, bytes: bytes, completion: shared.map { $0.finish } ?? completion))
            }
            return nil
        }
        if let refusal { completion(.failure(refusal)) }
    }

    /// Gives up the entries of a group up to and including `index`, as far as they are on disk. They are unreachable
    /// with the next commit; their space is freed in slices that delay no save by more than a few milliseconds.
    public func trim(_ group: GroupID, through index: UInt64) {
        queue.update { queue in
            guard queue.refusal == nil, !queue.isClosing else { return }
            queue.trims[group] = max(queue.trims[group] ?? 0, index)
        }
    }

    /// Writes what comes to segments from now on, and brings there what is in the table; nothing happens where the log is
    /// written to segments already. From then on only programs open this log that know them: it is called when the
    /// cluster's feature level brings `Feature.logSegments`.
    public func useSegments() {
        queue.update { $0.isConversionDue = true }
    }

    // MARK: - Reading

    /// Reads entries `from` ... `through`, as far as they are there: at least the first one, further ones up to
    /// `bytesMax` of payload in all. Served in slices between commits. Fails with `.unavailable` when the first one has
    /// been trimmed or is not there yet.
    public func entries(
        _ group: GroupID, from: UInt64, through: UInt64, bytesMax: Int,
        completion: @escaping @Sendable (Result<[Entry], LogStoreError>) -> Void
    ) {
        let refusal: LogStoreError? = queue.update { queue in
            if queue.isClosing { return LogStoreError(.closed, "the log was closed") }
            if queue.reads.count >= configuration.waitingReadsMax {
                return LogStoreError(.overloaded, "\(queue.reads.count) reads wait")
            }
            queue.reads.append(
                LogQueue.Read(
                    group: group, next: from, through: max(from, through), bytesLeft: max(0, bytesMax),
                    completion: completion))
            return nil
        }
        if let refusal { completion(.failure(refusal)) }
    }

    /// The state of a group on disk, with its newest entries; empty for a group that never saved anything. Blocks until
    /// the writer has read it: for start-up, not for a loop.
    public func restored(_ group: GroupID) throws(LogStoreError) -> StoredGroup {
        try ask { $0.stored(group) }.get()
    }

    /// The same without blocking: for a loop.
    public func restored(
        _ group: GroupID, completion: @escaping @Sendable (Result<StoredGroup, LogStoreError>) -> Void
    ) {
        let isAsked = queue.update { queue in
            guard !queue.isClosing else { return false }
            queue.requests.append { writer in completion(writer.stored(group)) }
            return true
        }
        if !isAsked { completion(.failure(LogStoreError(.closed, "the log was closed"))) }
    }

    /// The groups that have saved anything. Blocks like `restored`.
    public func groups() throws(LogStoreError) -> [GroupID] {
        try ask { .success($0.groups) }.get()
    }

    private func ask<Value: Sendable>(
        _ question: @escaping @Sendable (LogWriter) -> Result<Value, LogStoreError>
    ) -> Result<Value, LogStoreError> {
        let answer = Monitor<Result<Value, LogStoreError>?>(nil)
        let isAsked = queue.update { queue in
            guard !queue.isClosing else { return false }
            queue.requests.append { writer in
                let value = question(writer)
                answer.update { $0 = value }
            }
            return true
        }
        guard isAsked else { return .failure(LogStoreError(.closed, "the log was closed")) }
        return answer.wait { $0 }
    }

    // MARK: - Health and end

    public var status: LogStoreStatus {
        queue.withLock { queue in
            var status = queue.status
            status.failure = queue.failure(hangLimit: configuration.hangLimit)
            return status
        }
    }

    /// Whether the last write succeeded: a save's, a probe's, a checkpoint's, and none takes too long. While one has failed the
    /// disk is probed once a second.
    public var takesWrites: Bool {
        queue.withLock { $0.failure(hangLimit: configuration.hangLimit) == nil && $0.refusal == nil }
    }

    /// Set once the disk can no longer be trusted; every save then fails with it.
    public var refusal: LogStoreError? { queue.withLock { $0.refusal } }

    /// Writes everything that waits, brings the marks up to date and closes the files. Blocks until that is done; later
    /// calls do nothing.
    public func close() {
        queue.update { $0.isClosing = true }
        queue.wait { $0.isClosed ? true : nil }
    }
}

/// Calls back once for several saves: with the first error, if there was one.
private final class SaveCompletion: Sendable {
    private struct State: Sendable {
        var left: Int
        var failure: LogStoreError?
    }

    private let state: Monitor<State>
    private let completion: @Sendable (Result<Void, LogStoreError>) -> Void

    init(count: Int, _ completion: @escaping @Sendable (Result<Void, LogStoreError>) -> Void) {
        state = Monitor(State(left: count))
        self.completion = completion
    }

    func finish(_ result: Result<Void, LogStoreError>) {
        let outcome: Result<Void, LogStoreError>? = state.withLock { state in
            if case .failure(let error) = result, state.failure == nil { state.failure = error }
            state.left -= 1
            guard state.left == 0 else { return nil }
            return state.failure.map { .failure($0) } ?? .success(())
        }
        if let outcome { completion(outcome) }
    }
}
