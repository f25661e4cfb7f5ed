import ChatModel
import Transport
import Wire

/// The node's part of content (PROTOCOL.md, "Media"): who may send and read it, and where its bytes are. The gateway only
/// speaks HTTP.
public protocol MediaService: Sendable {
    /// A session's right to read the content of a room that it is in.
    func readToken(in room: RoomID, for reader: MediaReader) -> MediaToken
    /// The URL that takes the bytes of a place.
    func uploadURL(of ticket: UploadResult, in room: RoomID) -> String
    /// Begins to take the bytes of a place.
    /// - Parameters:
    ///   - token: the right to send them; nil is 403.
    ///   - length: of what is to come.
    func begin(_ id: String, in room: RoomID, token: String?, length: Int64) async throws(MediaRefusal)
        -> any MediaUpload
    /// Opens content for reading.
    /// - Parameters:
    ///   - token: of a session or a review.
    ///   - bearer: the same, or a key of an administrator.
    ///   - method: GET or HEAD.
    ///   - client: whoever asks, for what strangers may ask.
    func open(
        _ id: String, in room: RoomID, token: String?, bearer: String?, method: String, client: MediaClient
    ) async throws(MediaRefusal) -> MediaDelivery
}

/// A client as far as nobody has to say who that is: an IPv4 address, or the /64 of an IPv6 address.
public struct MediaClient: Sendable, Hashable {
    public var address: IPRange

    public init(_ address: IPAddress) { self.address = address.holder }
}

/// The way on which a reader gets content.
public enum MediaDelivery: Sendable {
    case content(any MediaContent)
    /// From a store elsewhere, at a URL that holds for a minute at most.
    case redirect(url: String)
}

/// Bytes that come. One call at a time.
public protocol MediaUpload: Sendable {
    var size: Int64 { get }
    /// Takes the next bytes, at most `MediaPiece.bytesMax`; returns when they are where they have to be.
    func write(_ bytes: [UInt8]) async throws(MediaRefusal)
    /// All have come: returns when the content is on disk on as many nodes as it has to be, and the room knows it.
    func finish() async throws(MediaRefusal)
    /// No more comes.
    func abandon()
}

/// Content that can be read.
public protocol MediaContent: Sendable {
    var size: Int64 { get }
    var name: String { get }
    var contentType: String { get }
    /// Browsers may show it inside a page.
    var isInline: Bool { get }
    /// SHA-256 in hexadecimal digits.
    var digest: String { get }
    /// At most `MediaPiece.bytesMax` bytes from an offset on, and at least one of those that there are.
    func read(at offset: Int64, count: Int) async throws(MediaRefusal) -> [UInt8]
}

/// A refusal on the way of content: a status of HTTP with a sentence.
public struct MediaRefusal: Error, Sendable, Hashable {
    public var status: Int
    public var code: Int
    public var name: String
    public var message: String
    public var retryAfterMs: Int64?

    public init(_ error: ChatError) {
        status = error.code.httpStatus
        code = error.code.number
        name = error.code.name
        message = error.message
        retryAfterMs = error.retryAfterMs
    }

    public init(status: Int, name: String, message: String, retryAfterMs: Int64? = nil) {
        self.status = status
        code = status
        self.name = name
        self.message = message
        self.retryAfterMs = retryAfterMs
    }

    public static let wrongBytes = MediaRefusal(
        status: 422, name: "WRONG_CONTENT", message: "the bytes have another SHA-256 than was announced")
    public static let full = MediaRefusal(
        status: 507, name: "STORE_FULL", message: "the store for media is full", retryAfterMs: 60_000)
    public static let tooLarge = MediaRefusal(
        status: 413, name: "TOO_LARGE", message: "exactly as many bytes are taken as were announced")
}
