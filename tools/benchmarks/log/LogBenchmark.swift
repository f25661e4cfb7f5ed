import Consensus
import Glibc
import LogStore
import Synchronization

/// log-benchmark DIRECTORY FORMAT ENTRIES SECONDS: makes a log there and saves to it, one commit after the other.
@main
struct LogBenchmark {
    private static let groups = 16
    private static let payloadBytes = 300
    /// Entries that a group keeps.
    private static let kept: UInt64 = 2_000

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let entries = Int(arguments[3]), let seconds = Int(arguments[4]), entries > 0 else {
            print("usage: log-benchmark DIRECTORY table|segments ENTRIES SECONDS")
            exit(2)
        }
        var options = LogStoreConfiguration(directory: arguments[1])
        options.create = true
        options.makesSegments = arguments[2] == "segments"
        let store = try LogStore.open(options)
        var last = [UInt64](repeating: 0, count: groups)
        var times: [Double] = []
        // The first segment, and the pages that a program touches for the first time, are not what is measured.
        for number in 0..<200 { try commit(store, entries, last: &last, number: number) }
        let before = (cpu: processorSeconds(), written: written())
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(seconds) {
            let begin = ContinuousClock.now
            try commit(store, entries, last: &last, number: times.count)
            times.append((ContinuousClock.now - begin) / .milliseconds(1))
        }
        let duration = (ContinuousClock.now - start) / .seconds(1)
        let after = (cpu: processorSeconds(), written: written())
        store.close()
        options.create = false
        let opening = ContinuousClock.now
        try LogStore.open(options).close()
        let openMilliseconds = (ContinuousClock.now - opening) / .milliseconds(1)
        let commits = Double(times.count)
        times.sort()
        let figures = [
            commits / duration, times[times.count / 2], times[times.count * 99 / 100],
            (after.cpu - before.cpu) / (commits * Double(entries)) * 1e6,
            Double(after.written.bytes - before.written.bytes) / commits,
            Double(after.written.calls - before.written.calls) / commits, openMilliseconds,
        ]
        let words = figures.map { value in
            let scaled = (value * 100).rounded() / 100
            return value >= 100 ? "\(Int(value))" : "\(scaled)"
        }
        print("| \(arguments[2]) | \(entries) | \(words.joined(separator: " | ")) |")
    }

    /// Saves entries of all groups in turn and waits until they are on the disk.
    private static func commit(_ store: LogStore, _ entries: Int, last: inout [UInt64], number: Int) throws {
        var saves: [Int: GroupSave] = [:]
        for place in 0..<entries {
            let group = (number + place) % groups
            last[group] += 1
            let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: payloadBytes)
            saves[group, default: GroupSave(group: GroupID(UInt16(group)))].entries.append(
                Entry(index: last[group], term: 1, kind: .command, payload: payload))
        }
        let answer = Waiting()
        store.save(Array(saves.values)) { answer.finish($0) }
        try answer.wait().get()
        let group = number % groups
        if number % 512 < groups, last[group] > kept { store.trim(GroupID(UInt16(group)), through: last[group] - kept) }
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Bytes and calls of the process: /proc/self/io.
    private static func written() -> (bytes: Int, calls: Int) {
        var (bytes, calls) = (0, 0)
        guard let file = fopen("/proc/self/io", "r") else { return (0, 0) }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                .split(whereSeparator: { $0 == " " || $0 == "\n" })
            guard words.count == 2, let value = Int(words[1]) else { continue }
            if words[0] == "write_bytes:" { bytes = value }
            if words[0] == "syscw:" { calls = value }
        }
        return (bytes, calls)
    }
}

/// An answer of the writer thread.
private final class Waiting: Sendable {
    private let result = Mutex<Result<Void, LogStoreError>?>(nil)
    // Sendable because semaphores are made for it.
    nonisolated(unsafe) private let semaphore: UnsafeMutablePointer<sem_t> = {
        let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
        return semaphore
    }()

    deinit { semaphore.deallocate() }

    func finish(_ result: Result<Void, LogStoreError>) {
        self.result.withLock { $0 = result }
        sem_post(semaphore)
    }

    func wait() -> Result<Void, LogStoreError> {
        while sem_wait(semaphore) != 0 {}
        return result.withLock { $0 } ?? .success(())
    }
}
