/// The types of PROTOCOL.md, "Message". The raw value is the wire's name.
public enum MessageType: String, Sendable, Hashable, CaseIterable {
    /// The types that this version knows.
    public static let allCases: [MessageType] = [
        .text, .tip, .command, .image, .audio, .video, .file, .location, .custom, .combine, .notification,
    ]

    case text = "TEXT"
    case tip = "TIP"
    case command = "COMMAND"
    case image = "IMAGE"
    case audio = "AUDIO"
    case video = "VIDEO"
    case file = "FILE"
    case location = "LOCATION"
    case custom = "CUSTOM"
    case combine = "COMBINE"
    case notification = "NOTIFICATION"
    /// Read by a client: a type of a later version. Nobody sends it.
    case unknown = ""
}

/// A reference to a picture, sound, film or file: its URL, and what viewers are told of it before they fetch it.
public struct Media: Sendable, Hashable {
    /// The ID of content that this cluster stores; nil for content of elsewhere.
    public var id: String?
    public var url: String
    public var name: String
    /// Bytes.
    public var size: Int64
    public var contentType: String
    public var width: Int64?
    public var height: Int64?
    public var durationSeconds: Double?
    public var thumbnail: String?
    /// The ID of the thumbnail, if this cluster stores it.
    public var thumbnailID: String?
    /// Only for whoever reviews messages: where the content can be read before others may.
    public var reviewURL: String?
    /// The same for the thumbnail, if this cluster stores it.
    public var thumbnailReviewURL: String?

    public init(url: String, name: String, size: Int64, contentType: String) {
        self.url = url
        self.name = name
        self.size = size
        self.contentType = contentType
    }
}

/// The content of a message. One case per shape; the type says which of the media types it is.
///
/// Larger ones stand elsewhere, so that a message of text is small wherever it is copied.
public enum MessageBody: Sendable, Hashable {
    case text(String)
    case tip(String)
    case command(payload: [UInt8])
    indirect case image(Media)
    indirect case audio(Media)
    indirect case video(Media)
    indirect case file(Media)
    indirect case location(latitude: Double, longitude: Double, title: String)
    indirect case custom(content: String, subtype: Int64, searchable: String?)
    indirect case combine(title: String, summary: String, messageIDs: [String])
    indirect case notification(Notification)
    /// A recalled message keeps its place and its type and loses its body.
    case recalled(MessageType)
    /// Read by a client: a body of a later version, by the name of its type (in protobuf, the number). To be shown as
    /// such or ignored.
    case unknown(String)

    /// The media of IMAGE, AUDIO, VIDEO and FILE.
    public var media: Media? {
        switch self {
        case .image(let media), .audio(let media), .video(let media), .file(let media): media
        default: nil
        }
    }

    /// The same message with other media; for a body without any, itself.
    public func with(_ media: Media) -> MessageBody {
        switch self {
        case .image: .image(media)
        case .audio: .audio(media)
        case .video: .video(media)
        case .file: .file(media)
        default: self
        }
    }

    public var type: MessageType {
        switch self {
        case .text: .text
        case .tip: .tip
        case .command: .command
        case .image: .image
        case .audio: .audio
        case .video: .video
        case .file: .file
        case .location: .location
        case .custom: .custom
        case .combine: .combine
        case .notification: .notification
        case .recalled(let type): type
        case .unknown: .unknown
        }
    }
}
