/// The part of a reply that tells of the message that it answers (PROTOCOL.md, "Replies").
public struct ReplyReference: Sendable, Hashable {
    public var messageID: String
    public var seq: UInt64
    /// Absent: the system.
    public var user: UserID?
    public var nick: String
    /// The beginning of what the original says; absent where the original was recalled, and where it says nothing.
    public var excerpt: String?

    public init(messageID: String, seq: UInt64, user: UserID?, nick: String, excerpt: String? = nil) {
        self.messageID = messageID
        self.seq = seq
        self.user = user
        self.nick = nick
        self.excerpt = excerpt
    }

    public var withoutExcerpt: ReplyReference {
        ReplyReference(messageID: messageID, seq: seq, user: user, nick: nick)
    }
}

/// A message that its room has pinned (PROTOCOL.md, "Pinned messages").
public struct PinnedMessage: Sendable, Hashable {
    public var messageID: String
    public var seq: UInt64
    /// When the message was accepted: it expires with its history. Not shown.
    public var time: Timestamp

    public init(messageID: String, seq: UInt64, time: Timestamp) {
        self.messageID = messageID
        self.seq = seq
        self.time = time
    }
}

/// The kept message that a `pin` names or that a reply answers, with the facts that only history knows.
public struct OriginalMessage: Sendable, Hashable {
    public var seq: UInt64
    public var time: Timestamp
    /// Absent: the system.
    public var user: UserID?
    public var nick: String
    public var excerpt: String?
    public var isRecalled: Bool

    public init(
        seq: UInt64, time: Timestamp, user: UserID?, nick: String, excerpt: String? = nil, isRecalled: Bool = false
    ) {
        self.seq = seq
        self.time = time
        self.user = user
        self.nick = nick
        self.excerpt = excerpt
        self.isRecalled = isRecalled
    }

    /// nil for a message without a seq.
    public init?(_ message: Message) {
        guard let seq = message.seq else { return nil }
        self.init(
            seq: seq, time: message.time, user: message.sender, nick: message.from?.profile.nick ?? "",
            excerpt: message.body.excerpt, isRecalled: message.isRecalled)
    }
}

extension MessageBody {
    /// The beginning of what a person reads of it, cut between characters; nil where there is nothing to read.
    public var excerpt: String? {
        let text: String? =
            switch self {
            case .text(let text), .tip(let text): text
            case .image(let media), .audio(let media), .video(let media), .file(let media): media.name
            case .location(_, _, let title), .combine(let title, _, _): title
            case .custom(_, _, let searchable): searchable
            case .command, .notification, .recalled, .unknown: nil
            }
        guard let text, !text.isEmpty else { return nil }
        return Self.beginning(of: text, bytesMax: Limits.excerptBytes)
    }

    /// The first characters that have at most so many bytes; the first scalars of one that alone has more.
    static func beginning(of text: String, bytesMax: Int) -> String {
        guard text.utf8.count > bytesMax else { return text }
        // Only the beginning is looked at: a character may be as long as the text.
        let scalars = prefix(of: text.unicodeScalars, bytesMax: bytesMax)
        let end = scalars.endIndex
        var cut = String(scalars)
        // The scalar behind it may belong to the last character.
        let next = text.unicodeScalars[end]
        let count = cut.count
        var longer = cut
        longer.unicodeScalars.append(next)
        if longer.count == count, count > 1 { cut.removeLast() }
        return cut
    }

    private static func prefix(of scalars: String.UnicodeScalarView, bytesMax: Int) -> Substring.UnicodeScalarView {
        var bytes = 0
        return scalars.prefix { scalar in
            bytes += UTF8.width(scalar)
            return bytes <= bytesMax
        }
    }
}
