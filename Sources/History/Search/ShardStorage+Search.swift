import ChatModel
import SQLite

extension ShardStorage {
    /// Whether messages can be looked for.
    public var isSearchable: Bool { search != nil }

    /// Messages of a room that have a text, the newest first.
    ///
    /// - Parameter reader: as in `page`.
    public func search(
        _ query: SearchQuery, for reader: HistoryReader? = nil,
        completion: @escaping @Sendable (Result<SearchPage, StorageError>) -> Void
    ) {
        guard let search else {
            completion(.failure(StorageError(.refused, "search is off")))
            return
        }
        noteHistoryRead()
        withReads(completion, room: query.incarnation, reader: reader) { [self] writer, done in
            let task = SearchTask(query, files: writer.fileNames, search, configuration, reader: reader)
            run(task, of: query.incarnation, for: reader, search, done)
        }
    }

    private func run(
        _ task: SearchTask, of room: Incarnation, for reader: HistoryReader?, _ search: SearchState,
        _ completion: @escaping @Sendable (Result<SearchPage, StorageError>) -> Void
    ) {
        let waiting = WaitingRead(
            reader: reader,
            slice: { [self] worker in
                var task = task
                do throws(SQLiteError) {
                    let page = try task.turn(searchFiles(worker, search))
                    if reader?.isGone == true {
                        completion(.failure(Self.cancelled))
                    } else if let page {
                        completion(.success(page))
                    } else {
                        run(task, of: room, for: reader, search, completion)
                    }
                } catch {
                    completion(.failure(StorageError(error)))
                }
            },
            cancel: { completion(.failure(Self.cancelled)) })
        enqueue(waiting, of: room, for: reader)
    }

    private func searchFiles(_ worker: StorageWorker, _ search: SearchState) -> SearchTask.Files {
        SearchTask.Files(
            day: { [self] file throws(SQLiteError) in try dayReader(file, worker) },
            index: { [self] file, generation throws(SQLiteError) in
                try worker.indexes.reader(
                    SearchReaderCache.Key(
                        file: ReaderCache.Key(storage: number, file: file), generation: generation),
                    path: directory + "/" + SearchFile.name(of: file.name), vfs: configuration.vfs)
            },
            ask: { [self] file in if search.ask(for: file) { wakeIndexer(isHurried: true) } },
            giveUp: { [self] file, generation, error in
                worker.indexes.close(ReaderCache.Key(storage: number, file: file))
                let isDamaged = StorageError(error).code != .busy
                if search.giveUp(file, generation, isDamaged: isDamaged) { wakeIndexer() }
            })
    }

    /// Completes when everything that was passed to `write` before is in the indexes, and nothing that was recalled before is in
    /// their files any more.
    public func awaitIndexes(completion: @escaping @Sendable (Result<Void, StorageError>) -> Void) {
        withWriter({ [self] (result: Result<Void, StorageError>) in
            guard search != nil, case .success = result else { return completion(result) }
            let isAsked = indexThread.submit { [self] worker in
                guard let indexer = worker.indexers[number] else { return completion(.success(())) }
                indexer.whenDone { completion(.success(())) }
                Self.runIndexer(number, worker)
            }
            if !isAsked { completion(.failure(StorageError(.closed, "the storage threads have ended"))) }
        }) { writer, worker in try writer.flush(on: worker.thread) }
    }

    // MARK: - Indexer

    /// Lets the index thread look for something to do.
    func wakeIndexer(isHurried: Bool = false) {
        guard let search else { return }
        search.wake(on: indexThread, number, isHurried: isHurried)
    }

    /// A step of a shard's indexer, and another one behind the jobs of others.
    /// - Parameter isNext: it is such another one, of which there is one at a time.
    static func runIndexer(_ number: UInt64, _ worker: StorageWorker, isNext: Bool = false) {
        guard let indexer = worker.indexers[number], isNext || !indexer.isBusy else { return }
        indexer.isBusy = false
        guard !indexer.isResting else { return }
        switch indexer.step(worker) {
        case .now: indexer.isBusy = worker.thread.submit { runIndexer(number, $0, isNext: true) }
        case .nothing: break
        case .later(let time):
            // One timer at a time: an earlier one does for a later one, which is set then.
            if let wakesAt = indexer.wakesAt, wakesAt <= time { return }
            indexer.wakesAt = time
            worker.thread.submit(after: max(.zero, time - .now)) { worker in
                if worker.indexers[number]?.wakesAt == time { worker.indexers[number]?.wakesAt = nil }
                runIndexer(number, worker)
            }
        }
    }

    /// Makes the indexer of a shard, and removes indexes of days that are gone, or all of them where search is off.
    func openIndexes(_ search: SearchState?) {
        let files = search?.shared.withLock { Set($0.files.keys) } ?? []
        var names: [String] = []
        // Names that are not found now are at the next start.
        do throws(SQLiteError) { names = try FileSystem.names(in: directory) } catch {}
        for name in names {
            guard let dayFile = SearchFile.dayFile(of: name) else { continue }
            if let file = HistoryFile(name: dayFile), files.contains(file) { continue }
            do throws(SQLiteError) { try FileSystem.remove(directory + "/" + name) } catch {}
        }
        guard let search else { return }
        indexThread.submit { [number, directory, configuration, readerThread] worker in
            worker.indexers[number] = SearchIndexer(
                number: number, directory: directory, configuration: configuration, state: search,
                readerThread: readerThread)
            Self.runIndexer(number, worker)
        }
    }

    /// Begins no step any more. A host calls it for all shards before it closes the first one, so that a step of one does
    /// not hold up the others.
    public func restIndexes() { search?.rest() }

    func closeIndexes() {
        restIndexes()
        _ = indexThread.ask { [number] worker in
            worker.indexers.removeValue(forKey: number)?.close(worker)
            worker.readers.closeAll(of: number)
        }
    }
}

extension SearchState {
    /// Lets the index thread look for something to do, once: when changes have waited for others, or now.
    func wake(on thread: StorageThread, _ number: UInt64, isHurried: Bool = false) {
        let isFirst = shared.withLock { shared in
            let isFirst = isHurried ? !shared.isHurried : !shared.isAwake
            if isHurried { shared.isHurried = true } else { shared.isAwake = true }
            return isFirst
        }
        guard isFirst else { return }
        let job: StorageThread.Job = { [self] worker in
            shared.withLock { shared in
                if isHurried { shared.isHurried = false } else { shared.isAwake = false }
            }
            ShardStorage.runIndexer(number, worker)
        }
        if isHurried { thread.submit(job) } else { thread.submit(after: configuration.linger, job) }
    }
}
