import ChatModel
import Consensus
import SQLite

extension LogWriter {
    /// Bytes of older entries that are read between two commits.
    private static let readSliceBytes = 256 << 10

    /// Serves the oldest waiting read for a bounded time, so that commits come in between.
    func readSlice() {
        guard var read = queue.withLock({ $0.reads.popFirst() }) else { return }
        guard let log = logs[read.group], read.next >= log.firstIndex, read.next <= log.lastIndex else {
            read.completion(
                .failure(
                    LogStoreError(
                        .unavailable, "entry \(read.next) of group \(read.group.number) is not in the log")))
            return
        }
        var sliceBytes = 0
        do throws(LogStoreError) {
            while read.next <= min(read.through, log.lastIndex) {
                let entry = try log.entry(read.next, of: read.group, in: home)
                guard read.entries.isEmpty || entry.payload.count <= read.bytesLeft else { break }
                read.entries.append(entry)
                read.bytesLeft -= entry.payload.count
                read.next += 1
                sliceBytes += 64 + entry.payload.count
                if sliceBytes >= Self.readSliceBytes, read.next <= read.through, read.bytesLeft > 0 {
                    let rest = read
                    queue.withLock { $0.reads.append(rest) }
                    return
                }
            }
        } catch {
            read.completion(.failure(error))
            return
        }
        read.completion(.success(read.entries))
    }

    /// The state of a group on disk. From here on its saves are taken again, if one had failed.
    func stored(_ group: GroupID) -> Result<StoredGroup, LogStoreError> {
        queue.withLock { _ = $0.failed.remove(group) }
        let log = logs[group] ?? GroupEntries()
        var recent: [Entry] = []
        var memberships: [Entry] = []
        var bytes = 0
        var index = log.lastIndex
        do throws(LogStoreError) {
            while index >= log.firstIndex {
                let entry = try log.entry(index, of: group, in: home)
                bytes += entry.payload.count
                guard bytes <= configuration.recentBytesPerGroup else { break }
                recent.append(entry)
                index -= 1
            }
            for older in log.memberships where older <= index {
                memberships.append(try log.entry(older, of: group, in: home))
            }
        } catch {
            return .failure(error)
        }
        recent.reverse()
        return .success(
            StoredGroup(
                hardState: log.state.hardState, snapshot: log.state.snapshot, trimmed: log.state.trimmed,
                firstIndex: log.firstIndex, lastIndex: log.lastIndex, terms: log.terms, memberships: memberships,
                recent: recent))
    }

    /// The groups that have saved anything.
    var groups: [GroupID] { logs.filter { !$0.value.isNew }.keys.sorted() }
}
