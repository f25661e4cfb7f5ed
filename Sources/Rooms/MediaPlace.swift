import ChatModel
import Wire

/// The part of the media store that rooms need.
public protocol RoomMedia: Sendable {
    /// Clients send content past the cluster. It counts as sent when the store has been asked for it (`settle`).
    var isElsewhere: Bool { get }
    /// The place past the cluster to which a client sends content; nil: a gateway has one, and tells it.
    func place(of ticket: UploadResult, _ draft: UploadDraft, in room: RoomID) -> MediaPlace?
    /// Takes over content that was sent past the cluster, and tells the room, unless there is none. Throws 503 when the store
    /// does not say, and 404 for other bytes than were announced.
    func settle(_ mediaID: String, _ draft: UploadDraft, in room: RoomID) async throws(ChatError)
    /// Gives content of a room to another one, too. nil where that has none, or its bytes can't be given now.
    func share(_ mediaID: String, of room: RoomID, with other: RoomID) async -> UploadRecord?
    /// The URL that gives content to a review, before others may read it.
    func reviewURL(of mediaID: String, in room: RoomID) -> String
}

/// A place past the cluster to which a client sends content.
public struct MediaPlace: Sendable, Hashable {
    public var url: String
    /// Besides the content type.
    public var headers: [QueuePair]

    public init(url: String, headers: [QueuePair]) {
        self.url = url
        self.headers = headers
    }
}

extension UploadResult {
    public mutating func take(_ place: MediaPlace) {
        url = place.url
        headers += place.headers
    }
}
