import ChatModel
import SQLite

/// Giving the catalogue to others, and replacing it by another's.
extension ShardWriter {
    /// Opens the catalogue for reading on the reader thread, as of everything that was passed to `write` before.
    func openSnapshot(_ snapshot: UInt64, on thread: StorageThread) throws -> SnapshotReader {
        guard state.withLock({ $0.snapshots }) < configuration.snapshotsMax else {
            throw StorageError(.overloaded, "\(configuration.snapshotsMax) snapshots are open")
        }
        try flush(on: thread)
        _ = try checkpoint().get()
        state.update { $0.snapshots += 1 }
        let path = catalogue.database.path
        let files = fileNames
        // While this thread waits nothing can replace the file or add to history. The reader thread never waits for it.
        let opened = readerThread.ask {
            [number, directory, configuration, state] worker -> Result<UInt64, StorageError> in
            let readers = worker.readers
            do throws(SQLiteError) {
                let commands = try CommandSource(files: files, memorySeconds: configuration.commandMemorySeconds) {
                    (file) throws(SQLiteError) in
                    try readers.reader(
                        ReaderCache.Key(storage: number, file: file), path: directory + "/" + file.name,
                        vfs: configuration.vfs)
                }
                let reader = try CatalogueReader(
                    storage: number, path: path, vfs: configuration.vfs, commands: commands
                ) { state.update { $0.snapshots -= 1 } }
                worker.snapshots[snapshot] = reader
                return .success(reader.index)
            } catch {
                state.update { $0.snapshots -= 1 }
                return .failure(StorageError(error))
            }
        }
        guard let opened else { throw StorageError(.closed, "the storage threads have ended") }
        let reader = SnapshotReader(snapshot, index: try opened.get(), thread: readerThread)
        readerThread.submit(after: configuration.snapshotDurationMax) { worker in
            worker.snapshots.removeValue(forKey: snapshot)?.close()
        }
        return reader
    }

    /// Begins to receive a snapshot; one that was being received is given up.
    func beginInstall(index: UInt64, mark: [UInt8]) throws {
        abandonInstall()
        guard index >= appliedIndex else {
            throw StorageError(.refused, "a snapshot as of \(index) is older than what is here, \(appliedIndex)")
        }
        // Never twice the same name: what is left of one can't be taken for a part of the other.
        lastGeneration += 1
        install = try SnapshotInstall(
            index: index, mark: mark, generation: lastGeneration, directory: directory, configuration: configuration)
    }

    func install(_ bytes: [UInt8]) throws {
        guard let install else { throw StorageError(.refused, "no snapshot is being installed") }
        do {
            try install.take(bytes)
        } catch {
            abandonInstall()
            throw error
        }
    }

    func abandonInstall() {
        install?.discard()
        install = nil
    }

    /// Puts the snapshot in the place of the catalogue. The steps, and what a start finds after a crash behind each:
    /// 1. what was applied here before goes to history, and is synced: the old catalogue;
    /// 2. the snapshot is synced under the name of something unfinished: the old catalogue, the rest is removed;
    /// 3. it gets the name of a newer generation, synced: one of both, and from the end of the step on the new one;
    /// 4. the old one is removed: the new one.
    func finishInstall(on thread: StorageThread) throws {
        guard let install else { throw StorageError(.refused, "no snapshot is being installed") }
        self.install = nil
        let missing: MissingHistory?
        do {
            guard install.index >= appliedIndex else {
                throw StorageError(.refused, "entries after \(install.index) have been applied meanwhile")
            }
            try flush(on: thread)
            // Also what is older than the snapshot is needed: it says from where on history is missing.
            _ = try checkpoint().get()
            missing = MissingHistory.after(install: install.index, over: appliedIndex, before: self.missing)
            delaySync()
            try install.finish(missing)
        } catch {
            install.discard()
            throw error
        }
        closeSnapshots()
        let path = directory + "/" + CatalogueName.fileName(install.generation)
        do throws(SQLiteError) {
            try FileSystem.rename(install.path, to: path)
        } catch {
            install.discard()
            throw error
        }
        do {
            try FileSystem.syncDirectory(of: path)
            let old = catalogue
            catalogue = try CatalogueFile(path: path, vfs: configuration.vfs, level: configuration.level)
            old.close()
        } catch {
            // Which one a start would find is not known here, so nothing may be written to either.
            throw note(StorageError(.restartNeeded, "the installed catalogue can't be used: \(error)"))
        }
        changes = CatalogueChanges()
        appliedIndex = install.index
        installedIndex = install.index
        self.missing = missing
        state.update { state in
            state.appliedIndex = install.index
            state.writtenIndex = install.index
            state.syncedIndex = install.index
            state.missing = missing
            state.installedMark = install.mark
        }
        // A failure is mended at the next start.
        do throws(SQLiteError) { try removeRests(live: install.generation) } catch {}
    }

    /// Removes what belongs to other catalogues than the live one.
    func removeRests(live: UInt64) throws(SQLiteError) {
        let rests = CatalogueName.rests(in: try FileSystem.names(in: directory), live: live)
        guard !rests.isEmpty else { return }
        // The live one's name first: the old file must not go before it.
        try FileSystem.syncDirectory(of: directory + "/")
        for name in rests { try FileSystem.remove(directory + "/" + name) }
    }

    private func closeSnapshots() {
        _ = readerThread.ask { [number] worker in worker.closeSnapshots(of: number) }
    }
}
