extension MessageBody {
    /// The texts in which a search finds the message, a line for each (PROTOCOL.md, "Search"); empty when there are none.
    public var searchedText: String {
        switch self {
        case .text(let text), .tip(let text): text
        case .image(let media), .audio(let media), .video(let media), .file(let media): media.name
        case .location(_, _, let title): title
        case .custom(_, _, let searchable): searchable ?? ""
        case .combine(let title, let summary, _): title + "\n" + summary
        case .command, .notification, .recalled, .unknown: ""
        }
    }
}
