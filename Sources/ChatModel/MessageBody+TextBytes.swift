extension MessageBody {
    /// The bytes of its texts, as they count for rates and for what is kept in memory. A notification has none of a client's.
    public var textBytes: Int {
        switch self {
        case .text(let text), .tip(let text): text.utf8.count
        case .command(let payload): payload.count
        case .image(let media), .audio(let media), .video(let media), .file(let media):
            media.url.utf8.count + media.name.utf8.count + media.contentType.utf8.count
                + (media.thumbnail?.utf8.count ?? 0)
        case .location(_, _, let title): title.utf8.count
        case .custom(let content, _, let searchable): content.utf8.count + (searchable?.utf8.count ?? 0)
        case .combine(let title, let summary, let messageIDs):
            messageIDs.reduce(title.utf8.count + summary.utf8.count) { $0 + $1.utf8.count }
        case .notification, .recalled, .unknown: 0
        }
    }
}
