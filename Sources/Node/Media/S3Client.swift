import ChatModel
import Cryptography
import FoundationEssentials
import HTTPClient
import Logging
import Media
import Synchronization

/// Calls of a node to a store that speaks S3. Each has a deadline and a bound, and is signed in its URL.
final class S3Client: Sendable {
    /// An object as the store describes it.
    struct Object: Sendable, Hashable {
        var size: Int64
        /// The store's mark of these bytes, with its quotation marks.
        var etag: String
        /// In hexadecimal digits, where the store has counted it.
        var sha256: String?
    }

    let bucket: S3Bucket
    private let signer: Mutex<S3Signer>
    private let client: HTTPClient
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let complainedAt = Mutex<ContinuousClock.Instant?>(nil)

    private static let timeoutMilliseconds: Int64 = 5_000
    /// The store copies the bytes itself, up to 100 MB.
    private static let copyTimeoutMilliseconds: Int64 = 20_000
    /// For which a URL of a node's own call holds: the clocks may differ.
    private static let urlSeconds = 300

    init(
        _ bucket: S3Bucket, _ signer: S3Signer, _ client: HTTPClient, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.bucket = bucket
        self.signer = Mutex(signer)
        self.client = client
        self.logger = logger
        self.now = now
    }

    func use(_ signer: S3Signer) { self.signer.withLock { $0 = signer } }

    func shutdown() async { await client.shutdown() }

    /// A URL for somebody else's call.
    func url(
        _ method: String, _ key: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], at time: Timestamp, seconds: Int
    ) -> String {
        bucket.url(
            method, key, query: query, headers: headers, signedBy: signer.withLock { $0 }, at: time, seconds: seconds)
    }

    // MARK: - Calls

    /// nil when there is no such object.
    func head(_ key: String) async throws(StoreFailure) -> Object? {
        let answer = try await send("HEAD", key, headers: [("x-amz-checksum-mode", "ENABLED")])
        guard let answer else { return nil }
        guard let size = answer.headers["content-length"].flatMap({ Int64($0) }), let etag = answer.headers["etag"]
        else { throw .unavailable }
        let checksum = answer.headers["x-amz-checksum-sha256"].flatMap { Data(base64Encoded: $0) }
        return Object(size: size, etag: etag, sha256: checksum.map { Hexadecimal.encode(Array($0)) })
    }

    /// A part of an object, as long as that has not been replaced; nil when there is none.
    func read(_ key: String, _ part: Range<Int64>, of etag: String?) async throws(StoreFailure) -> [UInt8]? {
        var headers = [(name: "range", value: "bytes=\(part.lowerBound)-\(part.upperBound - 1)")]
        if let etag { headers.append(("if-match", etag)) }
        let answer = try await send("GET", key, headers: headers, answerBytesMax: part.count)
        return answer?.body
    }

    /// The store copies an object that has not been replaced since. Whether it was there.
    func copy(_ key: String, of etag: String?, to other: String) async throws(StoreFailure) -> Bool {
        let source = PercentEncoding.encode("\(bucket.name)/\(key)", keepingSlashes: true)
        var headers = [(name: "x-amz-copy-source", value: source)]
        if let etag { headers.append(("x-amz-copy-source-if-match", etag)) }
        let answer = try await send(
            "PUT", other, headers: headers, timeoutMilliseconds: Self.copyTimeoutMilliseconds)
        guard let answer else { return false }
        // Long copies are answered 200 at once, and may fail after that.
        guard !Self.code(in: answer.body).hasCode else { throw .unavailable }
        return true
    }

    func write(_ bytes: [UInt8], to key: String) async throws(StoreFailure) {
        guard try await send("PUT", key, body: bytes) != nil else { throw .refused }
    }

    /// An object that is not there is no error.
    func remove(_ key: String) async throws(StoreFailure) { _ = try await send("DELETE", key) }

    /// A page of all keys that begin with the bucket's prefix, and the time at which the store made it.
    /// - Parameter token: of the page before.
    func list(after token: String?) async throws(StoreFailure) -> (page: S3Listing, time: Timestamp) {
        var query = [(name: "list-type", value: "2"), ("max-keys", String(S3Listing.keysMax))]
        if !bucket.prefix.isEmpty { query.append(("prefix", bucket.prefix)) }
        if let token { query.append(("continuation-token", token)) }
        let answer = try await send("GET", "", query: query, answerBytesMax: S3Listing.bytesMax)
        guard let answer else { throw .refused }
        guard let page = S3Listing(answer.body), let date = answer.headers["date"],
            let time = S3Listing.time(ofHeader: date)
        else { throw .unavailable }
        return (page, time)
    }

    // MARK: - Answers

    private static let answerHeaders: Set<String> = ["content-length", "etag", "x-amz-checksum-sha256", "date"]

    /// nil for 404.
    private func send(
        _ method: String, _ key: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        timeoutMilliseconds: Int64 = S3Client.timeoutMilliseconds, answerBytesMax: Int = 0
    ) async throws(StoreFailure) -> HTTPClientAnswer? {
        let signed = url(method, key, query: query, headers: headers, at: now(), seconds: Self.urlSeconds)
        // The description of an error is longer than the shortest answers.
        var request = HTTPClientRequest(
            url: signed, timeoutMilliseconds: timeoutMilliseconds, answerBytesMax: max(16_384, answerBytesMax))
        request.method = method
        request.headers = headers
        request.body = body
        request.answerHeaders = Self.answerHeaders
        let answer: HTTPClientAnswer
        do throws(HTTPClientError) {
            answer = try await client.send(request)
        } catch {
            complain("\(error)")
            throw .unavailable
        }
        switch answer.status {
        case 200..<300: return answer
        case 404:
            guard Self.code(in: answer.body).text == "NoSuchBucket" else { return nil }
            complain("there is no bucket \(bucket.name)")
            throw .refused
        // It was replaced meanwhile.
        case 412: throw .unavailable
        default: throw failure(answer)
        }
    }

    private func failure(_ answer: HTTPClientAnswer) -> StoreFailure {
        let code = Self.code(in: answer.body).text
        complain("it answers \(answer.status) \(code)")
        let fullCodes = ["QuotaExceeded", "StorageFull", "XMinioStorageFull"]
        if answer.status == 507 || fullCodes.contains(code) { return .full }
        return answer.status >= 500 || answer.status == 429 || answer.status == 409 ? .unavailable : .refused
    }

    /// The element `Code` of an error: of letters and digits, or empty.
    private static func code(in body: [UInt8]) -> (text: String, hasCode: Bool) {
        guard let start = body.firstRange(of: Array("<Code>".utf8))?.upperBound else { return ("", false) }
        let code = body[start...].prefix(64).prefix { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 }
        return (String(decoding: code, as: UTF8.self), true)
    }

    /// Once a minute: what is wrong stays wrong for each message.
    private func complain(_ reason: String) {
        let isFirst = complainedAt.withLock { last in
            if let last, .now - last < .seconds(60) { return false }
            last = .now
            return true
        }
        guard isFirst else { return }
        logger.warning("the store for media does not do what it should", metadata: ["reason": "\(reason)"])
    }
}
