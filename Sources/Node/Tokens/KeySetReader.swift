import ChatModel
import Cryptography
import HTTPClient
import Logging

/// Reads the key sets that the keys file names, and keeps their keys: the clock and the network around `KeySetCache`.
/// Runs on the global pool.
actor KeySetReader {
    /// For the whole call (PROTOCOL.md, "Tokens").
    private static let timeoutMilliseconds: Int64 = 5_000
    /// Tries of one token: a reading that was under way, one of its own, and what another token's has brought.
    private static let triesMax = 3

    private struct Entry {
        var cache: KeySetCache
        var reading: Task<Void, Never>?
        /// Reads it in time, while the reader is started.
        var schedule: Task<Void, Never>?
        /// Whether the last reading was a success, as far as the log knows.
        var isReadable: Bool?
    }

    private let logger: Logger
    private let start = ContinuousClock.now
    private var sets: [KeySetRecord: Entry] = [:]
    private var client: HTTPClient?

    init(logger: Logger) { self.logger = logger }

    private var now: Int64 { Int64((ContinuousClock.now - start) / .milliseconds(1)) }

    /// Begins to read, with calls on the client; it is the caller's to shut down, after ``stop()``.
    func start(_ client: HTTPClient) {
        self.client = client
        for record in sets.keys { schedule(record) }
    }

    /// Ends all calls. Known keys stay.
    func stop() async {
        client = nil
        let tasks = sets.values.flatMap { [$0.schedule, $0.reading] }.compactMap { $0 }
        for record in sets.keys { sets[record]?.schedule = nil }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    /// Puts other records in force. A set whose record is as before keeps its keys.
    func use(_ records: [KeySetRecord]) {
        for record in sets.keys where !records.contains(record) {
            // A reading that is under way may go on: tokens wait for it.
            sets.removeValue(forKey: record)?.schedule?.cancel()
        }
        for record in records where sets[record] == nil {
            sets[record] = Entry(cache: KeySetCache(algorithms: record.algorithms))
            schedule(record)
        }
    }

    private func schedule(_ record: KeySetRecord) {
        guard client != nil else { return }
        // At once, so that no token comes before and has it read for its kid, which may be done once in a while only.
        if sets[record]?.cache.onTime(now) == true { _ = begin(record) }
        sets[record]?.schedule?.cancel()
        sets[record]?.schedule = Task { [weak self] in
            while !Task.isCancelled, let wait = await self?.step(record) {
                try? await Task.sleep(for: .milliseconds(wait))
            }
        }
    }

    /// Milliseconds to the next time; nil when the set is gone.
    private func step(_ record: KeySetRecord) async -> Int64? {
        guard sets[record]?.cache.onTime(now) == true else { return sets[record].map { max(1, $0.cache.dueAt - now) } }
        await begin(record).value
        return sets[record].map { max(1, $0.cache.dueAt - now) }
    }

    /// The keys of that name for this use; none if nobody has published any.
    /// - Throws: 503 if one of the sets that might have it has never been read.
    func keys(_ kid: String, algorithm: String, use: TokenTerms.Use) async throws(ChatError) -> [TokenKeys.Key] {
        let records = sets.keys.filter { $0.use == use }
        var found: [TokenKeys.Key] = []
        var isComplete = true
        // Together, since each may have to be read first.
        await withTaskGroup(of: (KeySetRecord, KeySetCache.Answer).self) { group in
            for record in records { group.addTask { (record, await self.answer(record, kid, algorithm)) } }
            for await (record, answer) in group {
                switch answer {
                case .known(let keys): found += keys.map { TokenKeys.Key(kid: kid, key: $0, terms: record.terms) }
                case .notReadYet: isComplete = false
                case .read, .wait, .unknown: break
                }
            }
        }
        guard isComplete || !found.isEmpty else {
            throw ChatError(
                .unavailable, "the keys of the token's issuer could not be read yet", retryAfterMs: Self.retryAfterMs)
        }
        // The header's word picks among keys of one name; each of them is for its own algorithm only.
        let fitting = found.filter { $0.key.algorithm.rawValue == algorithm }
        return fitting.isEmpty ? found : fitting
    }

    private static let retryAfterMs: Int64 = 2_000

    private func answer(_ record: KeySetRecord, _ kid: String, _ algorithm: String) async -> KeySetCache.Answer {
        var answer = KeySetCache.Answer.unknown
        for _ in 0..<Self.triesMax {
            guard client != nil else { return sets[record]?.cache.keys == nil ? .notReadYet : .unknown }
            answer = sets[record]?.cache.onKid(kid, algorithm: algorithm, at: now) ?? .unknown
            switch answer {
            case .read: await begin(record).value
            case .wait: await sets[record]?.reading?.value
            case .known, .unknown, .notReadYet: return answer
            }
        }
        return sets[record]?.cache.keys == nil ? .notReadYet : .unknown
    }

    // MARK: - Reading

    /// Call only where the cache has said so.
    private func begin(_ record: KeySetRecord) -> Task<Void, Never> {
        let client = client
        let task = Task {
            let result: Result<[String: [JWSKey]], KeySetError>
            do throws(KeySetError) {
                result = .success(try await Self.read(record, client))
            } catch {
                result = .failure(error)
            }
            end(record, result)
        }
        sets[record]?.reading = task
        return task
    }

    private func end(_ record: KeySetRecord, _ result: Result<[String: [JWSKey]], KeySetError>) {
        guard var set = sets[record] else { return }
        // One of an earlier record that was the same may end too; its keys are as good.
        set.reading = nil
        switch result {
        case .success(let keys):
            set.cache.onRead(keys)
            if set.isReadable != true {
                logger.info("a key set was read", metadata: ["iss": "\(record.iss)", "kids": "\(keys.count)"])
            }
            set.isReadable = true
        case .failure(let error):
            set.cache.onRead(nil)
            if client != nil {
                logger.warning("a key set can't be read", metadata: ["iss": "\(record.iss)", "error": "\(error)"])
            }
            set.isReadable = false
        }
        sets[record] = set
    }

    @concurrent private static func read(_ record: KeySetRecord, _ client: HTTPClient?) async throws(KeySetError)
        -> [String: [JWSKey]]
    {
        guard let client else { throw KeySetError("the node stops") }
        var request = HTTPClientRequest(
            url: record.jwksUrl, timeoutMilliseconds: timeoutMilliseconds, answerBytesMax: KeySetDocument.bytesMax)
        request.headers = [("Accept", "application/jwk-set+json, application/json"), ("User-Agent", "chatroom")]
        let answer: HTTPClientAnswer
        do throws(HTTPClientError) {
            answer = try await client.send(request)
        } catch {
            throw KeySetError("\(error)")
        }
        // Redirects are no answers: they could lead anywhere.
        guard answer.status == 200 else { throw KeySetError("the status is \(answer.status)") }
        return try KeySetDocument.keys(answer.body, for: record.algorithms)
    }
}
