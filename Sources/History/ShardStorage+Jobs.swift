import ChatModel
import SQLite

/// Jobs on the threads of the pool, and their end.
extension ShardStorage {
    /// Runs `body` on the storage thread and completes with its value.
    func withWriter<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, StorageError>) -> Void,
        _ body: @escaping @Sendable (ShardWriter, StorageWorker) throws -> Value
    ) {
        let isClosed = state.withLock { $0.isClosed }
        guard !isClosed else {
            completion(.failure(StorageError(.closed, "the storage was closed")))
            return
        }
        writerThread.submit { [number] worker in
            guard let writer = worker.writers[number] else {
                completion(.failure(StorageError(.closed, "the storage was closed")))
                return
            }
            do {
                completion(.success(try body(writer, worker)))
            } catch {
                completion(.failure(StorageError(any: error)))
            }
        }
    }

    /// Writes what waits and then runs `body` on the storage thread; `body` completes, at once or after a read on the
    /// reader thread.
    ///
    /// - Parameters:
    ///   - waitingMax: of reads without a reader.
    ///   - room: whose history is read; nil for what concerns the whole shard.
    ///   - reader: nothing is done when it has gone.
    ///   - writesFirst: false: what waits goes on waiting.
    func withReads<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, StorageError>) -> Void, waitingMax: Int? = nil,
        room: Incarnation? = nil, reader: HistoryReader? = nil, writesFirst: Bool = true,
        _ body:
            @escaping @Sendable (ShardWriter, @escaping @Sendable (Result<Value, StorageError>) -> Void) throws ->
            Void
    ) {
        let place = room?.number ?? 0
        let refusal: StorageError? = state.withLock { state in
            if state.isClosed { return StorageError(.closed, "the storage was closed") }
            return state.reads.begin(
                room: place, reader: reader, othersMax: waitingMax ?? configuration.waitingReadsMax, configuration)
        }
        if let refusal {
            completion(.failure(refusal))
            return
        }
        let done: @Sendable (Result<Value, StorageError>) -> Void = { [state] result in
            state.update { $0.reads.end(room: place, reader: reader) }
            completion(result)
        }
        writerThread.submit { [number] worker in
            guard let writer = worker.writers[number] else {
                done(.failure(StorageError(.closed, "the storage was closed")))
                return
            }
            guard reader?.isGone != true else { return done(.failure(Self.cancelled)) }
            do {
                if writesFirst { try writer.flush(on: worker.thread) }
                try body(writer, done)
            } catch {
                done(.failure(StorageError(any: error)))
            }
        }
    }

    /// Runs a read on the reader thread, a slice at a time, with others in between (`ReadQueue`).
    ///
    /// - Parameter room: nil for what concerns the whole shard.
    func read<Task: ReadTask>(
        _ task: Task, of room: Incarnation? = nil, for reader: HistoryReader? = nil,
        _ completion: @escaping @Sendable (Result<Task.Value, StorageError>) -> Void
    ) {
        let waiting = WaitingRead(
            reader: reader,
            slice: { [self] worker in
                var task = task
                do throws(SQLiteError) {
                    let value = try task.slice { (file) throws(SQLiteError) in try dayReader(file, worker) }
                    if reader?.isGone == true {
                        completion(.failure(Self.cancelled))
                    } else if let value {
                        completion(.success(value))
                    } else {
                        read(task, of: room, for: reader, completion)
                    }
                } catch {
                    completion(.failure(StorageError(error)))
                }
            },
            cancel: { completion(.failure(Self.cancelled)) })
        enqueue(waiting, of: room, for: reader)
    }

    /// A file on a reader thread; nil when there is none.
    func dayReader(_ file: HistoryFile, _ worker: StorageWorker) throws(SQLiteError) -> DayReader? {
        try worker.readers.reader(
            ReaderCache.Key(storage: number, file: file), path: directory + "/" + file.name, vfs: configuration.vfs)
    }

    func enqueue(_ waiting: WaitingRead, of room: Incarnation?, for reader: HistoryReader?) {
        let begins = lines.withLock { lines in
            lines.queue.append(waiting, room: room?.number ?? 0, reader: reader.map(ObjectIdentifier.init))
            defer { lines.isServed = true }
            return !lines.isServed
        }
        if begins { serveNext() }
    }

    /// One slice, then whatever other shards have for this thread.
    private func serveNext() {
        readerThread.submit { [self] worker in
            var skipped = 0
            while let read = lines.withLock({ $0.queue.next() }) {
                guard read.reader?.isGone == true else {
                    read.slice(worker)
                    break
                }
                // These cost nothing.
                read.cancel()
                skipped += 1
                if skipped >= ReadSlice.skippedMax { break }
            }
            let goesOn = lines.withLock { lines in
                lines.isServed = !lines.queue.isEmpty
                return lines.isServed
            }
            if goesOn { serveNext() }
        }
    }

    static let cancelled = StorageError(.cancelled, "whoever asked has gone")

    // MARK: - End

    /// Makes everything durable that can be and closes the files. Blocks; later calls do nothing. Reads that are under
    /// way are completed first.
    public func close() {
        let wasClosed = state.update { state in
            defer { state.isClosed = true }
            return state.isClosed
        }
        guard !wasClosed else { return }
        // The jobs of reads stand before this one. The indexes end with what it writes.
        _ = writerThread.ask { [number] worker in
            do throws(StorageError) { try worker.writers[number]?.flush(on: worker.thread) } catch {}
        }
        state.wait { $0.reads.isEmpty ? true : nil }
        closeIndexes()
        _ = readerThread.ask { [number] worker in
            worker.indexes.closeAll(of: number)
            worker.readers.closeAll(of: number)
            worker.closeSnapshots(of: number)
        }
        _ = writerThread.ask { [number] worker in
            guard let writer = worker.writers.removeValue(forKey: number) else { return }
            do throws(StorageError) { try writer.flush(on: worker.thread) } catch {}
            writer.close()
        }
    }
}
