import ChatModel
import Glibc
import History
import SQLite
import Wire

/// The cost of search in one shard: messages of many rooms over ten days are written and indexed, and then looked for while
/// others are written. See `run.sh`, and docs/BENCHMARKS.md, "Search".
@main
struct SearchBenchmark {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 6 else {
            print("usage: search-benchmark DIRECTORY MESSAGES DAYS BLOCKROWS SENDS SECONDS")
            exit(2)
        }
        let numbers = arguments.dropFirst().compactMap { Int($0) }
        guard numbers.count == 5, numbers.allSatisfy({ $0 > 0 }) else { exit(2) }
        let bench = SearchBench(
            directory: arguments[0], messages: numbers[0], days: numbers[1], blockRows: Int64(numbers[2]),
            sendsPerSecond: numbers[3], seconds: numbers[4])
        try bench.run()
    }
}

/// One run, on the calling thread.
struct SearchBench {
    let directory: String
    let messages: Int
    let days: Int
    let blockRows: Int64
    let sendsPerSecond: Int
    let seconds: Int

    private static let rooms = 100
    private let noon = Timestamp(1_781_524_800_000)

    func run() throws {
        let pool = StoragePool(writers: 1, readers: 1)
        defer { pool.close() }
        // Without an index first: what it costs is the difference.
        var storage = try open(pool, isSearchable: false)
        var made = MessageSource(rooms: Self.rooms)
        let written = try measured { try fill(storage, &made) }
        storage.close()
        let plain = try bytes()
        storage = try open(pool, isSearchable: true)
        // The first search of a room asks for the indexes of all days, and goes on without them meanwhile.
        var firstPages: [Double] = []
        let indexed = try measured {
            firstPages = try allPages(storage, "zzzzqqqq", room: 0)
            try waited { storage.awaitIndexes(completion: $0) }
        }
        let all = try bytes()
        print("| step | CPU us a message | wall s | bytes a message |")
        print("|---|---|---|---|")
        print("| written | \(per(written.cpu)) | \(Int(written.wall)) | \(plain / messages) |")
        print("| indexed | \(per(indexed.cpu)) | \(Int(indexed.wall)) | \((all - plain) / messages) |")
        print("")
        print(
            "The first search, for a word of nobody: \(firstPages.count) pages, \(rounded(firstPages.reduce(0, +))) s, "
                + "the slowest \(rounded((firstPages.max() ?? 0) * 1_000)) ms.")
        print("")
        try search(storage, &made)
        storage.close()
    }

    private func per(_ seconds: Double) -> String { rounded(seconds * 1e6 / Double(messages)) }

    private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

    private func open(_ pool: StoragePool, isSearchable: Bool) throws -> ShardStorage {
        var configuration = StorageConfiguration { [noon, days] in
            noon.adding(milliseconds: Int64(days) * Timestamp.millisecondsPerDay)
        }
        configuration.retentionDays = Int64(days) + 1
        if isSearchable {
            var search = SearchConfiguration { payload in
                (try? HistoryCodec.decode(payload))?.body.searchedText ?? ""
            }
            search.blockRows = blockRows
            configuration.search = search
        }
        return try ShardStorage.open(ShardID(0), directory: directory, pool: pool, configuration: configuration)
    }

    private func fill(_ storage: ShardStorage, _ source: inout MessageSource) throws {
        let step = Int64(days) * Timestamp.millisecondsPerDay / Int64(messages)
        for first in stride(from: 0, to: messages, by: 1_000) {
            var batch = StorageBatch(appliedIndex: UInt64(first + 1_000))
            for number in first..<min(messages, first + 1_000) {
                batch.history.append(
                    source.row(number, at: noon.adding(milliseconds: Int64(number) * step)))
            }
            storage.write(batch)
            if first % 20_000 == 0 { _ = try waited { storage.checkpoint(completion: $0) } }
        }
        _ = try waited { storage.checkpoint(completion: $0) }
    }

    // MARK: - Searching

    private func search(_ storage: ShardStorage, _ source: inout MessageSource) throws {
        print("| looked for | searches | p50 ms | p99 ms | most ms | pages of a search |")
        print("|---|---|---|---|---|---|")
        let kinds: [(name: String, text: String, sender: String?)] = [
            ("a word that all rooms use", "hello", nil), ("a rare word", "needle", nil),
            ("a word of nobody", "zzzzqqqq", nil),
            ("one letter", "h", nil), ("one Chinese character", "一", nil), ("two that rarely meet", "一丁", nil),
            ("a common word of a silent user", "hello", "nobody"),
        ]
        var sent = messages
        for kind in kinds {
            var times: [Double] = []
            var pages = 0
            let end = now() + Double(seconds)
            let began = now()
            let first = sent
            // Once, so that it is warm.
            _ = try page(storage, kind.text, kind.sender, room: 0)
            while now() < end {
                let due = first + Int((now() - began) * Double(sendsPerSecond))
                if due > sent {
                    var batch = StorageBatch(appliedIndex: UInt64(due + 1_000))
                    for number in sent..<due {
                        batch.history.append(
                            source.row(
                                number, at: noon.adding(milliseconds: Int64(days) * Timestamp.millisecondsPerDay)))
                    }
                    storage.write(batch)
                    sent = due
                }
                let start = now()
                pages += try page(storage, kind.text, kind.sender, room: times.count)
                times.append((now() - start) * 1_000)
                usleep(5_000)
            }
            times.sort()
            func at(_ share: Double) -> String {
                rounded(times[min(times.count - 1, Int(share * Double(times.count)))])
            }
            print(
                "| \(kind.name) | \(times.count) | \(at(0.5)) | \(at(0.99)) | \(at(1)) | \(rounded(Double(pages) / Double(times.count))) |"
            )
        }
    }

    /// Asks until there is no page any more; the seconds that each took.
    private func allPages(_ storage: ShardStorage, _ text: String, room: Int) throws -> [Double] {
        guard let pattern = SearchPattern(text) else { return [] }
        var query = SearchQuery(incarnation: MessageSource.life(room), pattern: pattern)
        var times: [Double] = []
        while true {
            let start = now()
            let page: SearchPage = try waited { storage.search(query, completion: $0) }
            times.append(now() - start)
            guard let next = page.next else { return times }
            query.after = next
        }
    }

    /// One request, and how many more it takes to the end of the first page with something, or of all.
    private func page(_ storage: ShardStorage, _ text: String, _ sender: String?, room: Int) throws -> Int {
        guard let pattern = SearchPattern(text) else { return 0 }
        var query = SearchQuery(incarnation: MessageSource.life(room % Self.rooms), pattern: pattern)
        query.limit = 20
        query.sender = sender
        _ = try waited { storage.search(query, completion: $0) } as SearchPage
        return 1
    }

    // MARK: - Measuring

    private func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func measured(_ body: () throws -> Void) rethrows -> (cpu: Double, wall: Double) {
        let (startCPU, start) = (cpu(), now())
        try body()
        return (cpu() - startCPU, now() - start)
    }

    private func bytes() throws -> Int {
        try FileSystem.names(in: directory).reduce(0) { $0 + (FileSystem.size(directory + "/" + $1) ?? 0) }
    }

    private func waited<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StorageError>) -> Void) -> Void
    ) throws -> Value {
        let answer = Monitor<Result<Value, StorageError>?>(nil)
        call { result in answer.update { $0 = result } }
        return try answer.wait { $0 }.get()
    }
}
