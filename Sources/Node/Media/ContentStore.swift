import ChatModel
import Gateway
import Media
import RoomProtocol
import Rooms

/// A store for the bytes of content (PROTOCOL.md, "Media"). Rooms know what there is and who may read it, the host knows tokens:
/// neither depends on where the bytes are. There are two: `LocalMedia` on the nodes, and `S3Media` elsewhere.
protocol ContentStore: Sendable {
    /// Clients send to the store and read from it, past the cluster. Content counts as sent when the store has been asked for it.
    var isElsewhere: Bool { get }
    /// The place to which a client sends content, if that is no gateway; not asked of a store that is not elsewhere.
    func place(for draft: UploadDraft, _ id: String, in room: RoomID, until end: Timestamp) -> MediaPlace?
    /// Begins to take content that a client sends to a gateway.
    func begin(_ id: String, in room: RoomID, _ draft: UploadDraft) async throws(MediaRefusal) -> any MediaUpload
    /// Takes over what a client has sent past the cluster; nil when there is nothing.
    func settled(_ id: String, in room: RoomID, _ draft: UploadDraft) async throws(StoreFailure) -> SettledContent?
    /// Opens content for a reader who may read it.
    func open(_ name: MediaName, _ record: UploadRecord, method: String) async throws(MediaRefusal) -> MediaDelivery
    /// Gives content to another room, too.
    func share(_ name: MediaName, _ record: UploadRecord, with other: RoomID) async -> Bool
    /// Answers another node's question about bytes.
    func answer(_ question: NodeQuestion) async throws(ChatError) -> NodeAnswer
    /// Looks through the content once, and keeps it as it has to be.
    func keep() async
}

extension ContentStore {
    /// A room is asked for at most so many pieces at once.
    static var idsAtOnce: Int { 100 }
}

/// Content that a store has taken over.
struct SettledContent: Sendable, Hashable {
    /// Its SHA-256; where nobody has counted that, a digest of the store's own mark of these bytes.
    var digest: String
    var isInline: Bool
}

/// Why a store elsewhere did not do what it was asked for.
enum StoreFailure: Error, Sendable, Hashable {
    /// It does not answer, or not now.
    case unavailable
    /// It refuses the cluster: credentials, bucket or region are wrong.
    case refused
    case full
    /// It has other bytes than were announced.
    case wrongContent(String)

    var chatError: ChatError {
        switch self {
        case .unavailable:
            ChatError(.unavailable, "the store for media does not answer", retryAfterMs: 2_000)
        case .refused:
            ChatError(.unavailable, "the store for media refuses this cluster", retryAfterMs: 30_000)
        case .full: ChatError(.unavailable, "the store for media is full", retryAfterMs: 60_000)
        case .wrongContent(let reason): ChatError(.notFound, reason)
        }
    }

    var refusal: MediaRefusal { self == .full ? .full : MediaRefusal(chatError) }
}
