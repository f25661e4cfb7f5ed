import ChatModel
import Cryptography
import FoundationEssentials
import Gateway
import Logging
import Media
import RoomProtocol
import Rooms
import Synchronization
import Wire

/// The store `s3`: content in a bucket of a store that speaks S3. Clients send to it and read from it themselves, by URLs that a
/// node has signed; no byte of it comes by here, except those by which the node sees what it is.
///
/// A URL for sending can be used again while it holds, so the client sends beside. When the room needs the content, the store copies
/// it to its place, which no URL for sending leads to: what has been reviewed stays as it is.
final class S3Media: ContentStore {
    let client: S3Client
    let nodes: MediaNodes
    let calls: RoomCalls
    let logger: Logger
    /// This cluster, as it was created or restored: only one may remove what its rooms do not know.
    let owner: String
    let now: @Sendable () -> Timestamp

    /// A URL for reading holds no longer. It is the same for the first half of that, so that browsers keep what they have.
    static let readSeconds = 60
    private static let sameMilliseconds: Int64 = 30_000

    var isElsewhere: Bool { true }

    init(
        _ client: S3Client, nodes: MediaNodes, calls: RoomCalls, owner: String, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.client = client
        self.nodes = nodes
        self.calls = calls
        self.owner = owner
        self.logger = logger
        self.now = now
    }

    // MARK: - Sending

    func place(for draft: UploadDraft, _ id: String, in room: RoomID, until end: Timestamp) -> MediaPlace? {
        let now = now()
        // A repeat gets what is left of the hour.
        let seconds = min(Limits.uploadSeconds, max(1, (end.milliseconds - now.milliseconds) / 1000))
        var more: [QueuePair] = []
        if let sha256 = draft.sha256, let bytes = Hexadecimal.decode(sha256) {
            more.append(QueuePair(key: "x-amz-checksum-sha256", value: Data(bytes).base64EncodedString()))
        }
        // The length is signed, and clients send it anyway.
        let headers =
            [(name: "content-length", value: String(draft.size)), ("content-type", draft.contentType)]
            + more.map { (name: $0.key, value: $0.value) }
        let url = client.url(
            "PUT", client.bucket.incomingKey(of: id, in: room), headers: headers, at: now, seconds: Int(seconds))
        return MediaPlace(url: url, headers: more)
    }

    func begin(_ id: String, in room: RoomID, _ draft: UploadDraft) async throws(MediaRefusal) -> any MediaUpload {
        throw MediaRefusal(ChatError(.notFound, "content goes to the URL that upload has given"))
    }

    func settled(_ id: String, in room: RoomID, _ draft: UploadDraft) async throws(StoreFailure) -> SettledContent? {
        let incoming = client.bucket.incomingKey(of: id, in: room)
        guard let object = try await client.head(incoming) else { return nil }
        guard object.size == draft.size else {
            throw .wrongContent("\(object.size) bytes were sent for \(id), and \(draft.size) announced")
        }
        let digest = try await digest(of: object, at: incoming, id, draft)
        guard let name = MediaName(room: room, id: id, digest: digest) else { throw .unavailable }
        let key = client.bucket.key(of: name)
        guard try await client.copy(incoming, of: object.etag, to: key),
            let beginning = try await client.read(key, 0..<min(Int64(ContentTypes.signatureBytes), draft.size), of: nil)
        else { return nil }
        return SettledContent(
            digest: digest, isInline: ContentTypes.isInline(draft.contentType, beginning: beginning))
    }

    /// The store, or else this node, has to have counted a digest that was announced.
    private func digest(
        of object: S3Client.Object, at key: String, _ id: String, _ draft: UploadDraft
    ) async throws(StoreFailure) -> String {
        guard let expected = draft.sha256 else {
            return Hexadecimal.encode(SHA256.digest(of: Array("etag \(object.etag)".utf8)))
        }
        var found = object.sha256
        if found == nil { found = try await counted(object, at: key) }
        guard found == expected else {
            throw .wrongContent("the bytes of \(id) have another SHA-256 than was announced")
        }
        return expected
    }

    private static let pieceBytes: Int64 = 1 << 20
    /// For all pieces together: a message waits for them.
    private static let countingMax = Duration.seconds(60)

    private func counted(_ object: S3Client.Object, at key: String) async throws(StoreFailure) -> String? {
        let hash = SHA256Stream()
        var offset: Int64 = 0
        let end = ContinuousClock.now + Self.countingMax
        while offset < object.size {
            guard ContinuousClock.now < end else { throw .unavailable }
            let part = offset..<min(object.size, offset + Self.pieceBytes)
            guard let bytes = try await client.read(key, part, of: object.etag), bytes.count == part.count else {
                return nil
            }
            hash.add(bytes)
            offset = part.upperBound
        }
        return Hexadecimal.encode(hash.digest())
    }

    // MARK: - Reading

    func open(_ name: MediaName, _ record: UploadRecord, method: String) async throws(MediaRefusal) -> MediaDelivery {
        let now = now().milliseconds
        let draft = record.draft
        let url = client.url(
            method == "HEAD" ? "HEAD" : "GET", client.bucket.key(of: name),
            query: [
                ("response-content-type", ContentTypes.shown(draft.contentType, isInline: record.isInline)),
                (
                    "response-content-disposition",
                    ContentTypes.disposition(ofName: draft.name, isInline: record.isInline)
                ),
                ("response-cache-control", "private, max-age=\(Self.readSeconds)"),
            ], at: Timestamp(now - now % Self.sameMilliseconds), seconds: Self.readSeconds)
        return .redirect(url: url)
    }

    func share(_ name: MediaName, _ record: UploadRecord, with other: RoomID) async -> Bool {
        guard let copy = MediaName(room: other, id: name.id, digest: name.digest) else { return false }
        let isDone = try? await client.copy(client.bucket.key(of: name), of: nil, to: client.bucket.key(of: copy))
        return isDone == true
    }

    func answer(_ question: NodeQuestion) async throws(ChatError) -> NodeAnswer {
        throw ChatError(.notFound, "this cluster's media is not on its nodes")
    }
}
