import ChatModel

extension MessageBody {
    /// Whether the hook is asked: for all that people send to be seen.
    public var isModerated: Bool {
        switch self {
        case .text, .tip, .image, .audio, .video, .file, .location, .custom, .combine: true
        case .command, .notification, .recalled, .unknown: false
        }
    }

    /// The same message with the hook's text as what is read first: text, title, file name, or the content of CUSTOM.
    /// nil where that text is longer than the field may be.
    public func rewritten(_ text: String) -> MessageBody? {
        switch self {
        case .text: Self.fits(text, Limits.textBytes).map { .text($0) }
        case .tip: Self.fits(text, Limits.textBytes).map { .tip($0) }
        case .image(let media): Self.named(media, text).map { .image($0) }
        case .audio(let media): Self.named(media, text).map { .audio($0) }
        case .video(let media): Self.named(media, text).map { .video($0) }
        case .file(let media): Self.named(media, text).map { .file($0) }
        case .location(let latitude, let longitude, _):
            Self.fits(text, Limits.titleBytes).map { .location(latitude: latitude, longitude: longitude, title: $0) }
        case .custom(_, let subtype, let searchable):
            Self.fits(text, Limits.textBytes).map { .custom(content: $0, subtype: subtype, searchable: searchable) }
        case .combine(_, let summary, let messageIDs):
            Self.fits(text, Limits.titleBytes).map { .combine(title: $0, summary: summary, messageIDs: messageIDs) }
        case .command, .notification, .recalled, .unknown: nil
        }
    }

    private static func fits(_ text: String, _ bytes: Int) -> String? { text.utf8.count <= bytes ? text : nil }

    private static func named(_ media: Media, _ name: String) -> Media? {
        guard name.utf8.count <= Limits.urlBytes else { return nil }
        var media = media
        media.name = name
        return media
    }
}
