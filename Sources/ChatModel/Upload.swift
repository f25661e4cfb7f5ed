/// The kinds of content that a room takes (PROTOCOL.md, "Media"). The raw value is the wire's name.
public enum UploadKind: String, Sendable, Hashable, CaseIterable {
    case image = "IMAGE"
    case audio = "AUDIO"
    case video = "VIDEO"
    case file = "FILE"
    /// A picture of a person: read without a token.
    case avatar = "AVATAR"

    /// The most bytes of such content.
    public var bytesMax: Int64 {
        switch self {
        case .image: Limits.imageBytes
        case .audio: Limits.audioBytes
        case .video: Limits.videoBytes
        case .file: Limits.fileBytes
        case .avatar: Limits.avatarBytes
        }
    }
}

/// Content that somebody is going to send, as the sender describes it.
public struct UploadDraft: Sendable, Hashable {
    public var kind: UploadKind
    public var name: String
    public var contentType: String
    /// Bytes: exactly that many are taken.
    public var size: Int64
    /// The SHA-256 that the content must have, in 64 hexadecimal digits of lower case.
    public var sha256: String?

    public init(kind: UploadKind, name: String, contentType: String, size: Int64, sha256: String? = nil) {
        self.kind = kind
        self.name = name
        self.contentType = contentType
        self.size = size
        self.sha256 = sha256
    }
}

/// A kept message that names content.
public struct UploadReference: Sendable, Hashable {
    public var seq: UInt64
    /// When the files of the message go.
    public var keptUntil: Timestamp
    /// When the message was sent; nil: it is visible for as long.
    public var time: Timestamp?

    public init(seq: UInt64, keptUntil: Timestamp, time: Timestamp? = nil) {
        self.seq = seq
        self.keptUntil = keptUntil
        self.time = time
    }
}

/// Content of a room, as the room keeps it; its bytes are in the media store.
public struct UploadRecord: Sendable, Hashable {
    public var draft: UploadDraft
    /// Absent: the app server.
    public var user: UserID?
    public var createdAt: Timestamp
    /// The SHA-256 of the bytes that are stored, in hexadecimal digits; nil while there are none.
    public var digest: String?
    /// The first bytes are those of the content type, and browsers may show it.
    public var isInline = false
    /// The kept messages that name it.
    public var references: [UploadReference] = []
    /// It was named by a message that is not kept, and can be read until then.
    public var shownUntil: Timestamp?
    /// Messages that wait for a manager name it: until then at least it is kept, and cannot be read.
    public var heldUntil: Timestamp?
    /// A later avatar of the same user has taken its place.
    public var replacedAt: Timestamp?

    public init(draft: UploadDraft, user: UserID?, createdAt: Timestamp) {
        self.draft = draft
        self.user = user
        self.createdAt = createdAt
    }

    /// Whether the room's people may read it.
    /// - Parameter since: from when on the room's messages are visible; nil: for as long as they are kept.
    public func isReadable(at now: Timestamp, visibleSince since: Timestamp? = nil) -> Bool {
        guard digest != nil else { return false }
        return draft.kind == .avatar || shownUntil.map { $0 > now } ?? false
            || references.contains { reference in
                guard let since, let time = reference.time else { return reference.keptUntil > now }
                return reference.keptUntil > now && time >= since
            }
    }

    /// When it goes, if nothing happens before; nil: with the room.
    public var deadline: Timestamp? {
        if draft.kind == .avatar, digest != nil { return replacedAt?.adding(seconds: Limits.uploadSeconds) }
        var end = createdAt.adding(seconds: Limits.uploadSeconds)
        if let shownUntil { end = max(end, shownUntil) }
        if let heldUntil { end = max(end, heldUntil) }
        for reference in references { end = max(end, reference.keptUntil) }
        return end
    }
}

/// Content of another room that this one gets, because a message here has a copy of what names it there.
public struct SharedUpload: Sendable, Hashable {
    public var mediaID: String
    /// Without what names it there.
    public var record: UploadRecord

    public init(mediaID: String, record: UploadRecord) {
        self.mediaID = mediaID
        self.record = record
    }
}

/// The answer to somebody who is going to send content.
public struct UploadTicket: Sendable, Hashable {
    public var mediaID: String
    public var contentType: String
    /// When the place is given up.
    public var expiresAt: Timestamp

    public init(mediaID: String, contentType: String, expiresAt: Timestamp) {
        self.mediaID = mediaID
        self.contentType = contentType
        self.expiresAt = expiresAt
    }
}

/// IDs of content: 16 random bytes, 4 bytes of the room's name and 4 of both, in hexadecimal digits. So a room tells an ID of
/// another room from one that never was. The last 4 are others for an avatar: so a node tells without asking the room which
/// content may be read without a token.
public struct MediaID: Sendable, Hashable {
    public let text: String
    /// Content that is read without a token.
    public let isAvatar: Bool

    /// - Parameter random: 128 bits that nobody can guess.
    public init(in room: RoomID, random: (UInt64, UInt64), isAvatar: Bool = false) {
        let body = Self.hex(random.0, digits: 16) + Self.hex(random.1, digits: 16)
        let place = Self.hex(Self.hash(room.text), digits: 8)
        text = body + place + Self.check(body + place, isAvatar: isAvatar)
        self.isAvatar = isAvatar
    }

    /// nil for what is no such ID.
    public init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 48, digits.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }) else { return nil }
        let (rest, check) = (
            String(decoding: digits[..<40], as: UTF8.self), String(decoding: digits[40...], as: UTF8.self)
        )
        guard let isAvatar = [false, true].first(where: { Self.check(rest, isAvatar: $0) == check }) else { return nil }
        self.text = text
        self.isAvatar = isAvatar
    }

    private static func check(_ rest: String, isAvatar: Bool) -> String {
        hex(hash(isAvatar ? "avatar " + rest : rest), digits: 8)
    }

    /// Whether it was made in this room.
    public func isOf(_ room: RoomID) -> Bool {
        let digits = Array(text.utf8)[32..<40]
        return String(decoding: digits, as: UTF8.self) == Self.hex(Self.hash(room.text), digits: 8)
    }

    /// The path at which every gateway serves content: relative, so that all viewers get the same bytes of a message.
    public static func path(_ id: String, in room: RoomID) -> String { "/v1/media/\(escaped(room))/\(id)" }

    /// Whether the text is such a path and nothing else: a token goes to no path that resolves to another one.
    public static func isPath(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "media",
            MediaID(String(parts[4])) != nil
        else { return false }
        let room = parts[3].lowercased()
        let isEscaped = room.utf8.allSatisfy { isUnreserved($0) || $0 == UInt8(ascii: "%") }
        // Dot segments are those of URLs, where `%2e` is a dot, too.
        let isDots = ["", ".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"].contains(room)
        let hasSlash = room.split(separator: "%", omittingEmptySubsequences: false).dropFirst().contains {
            $0.hasPrefix("2f") || $0.hasPrefix("5c")
        }
        return isEscaped && !isDots && !hasSlash
    }

    /// The room's name as a part of a path (RFC 3986).
    public static func escaped(_ room: RoomID) -> String {
        var text = ""
        for byte in room.text.utf8 {
            if isUnreserved(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + hex(UInt64(byte), digits: 2).uppercased()
            }
        }
        return text
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func hex(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16).suffix(digits)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// FNV-1a of 32 bits.
    private static func hash(_ text: String) -> UInt64 {
        UInt64(text.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 })
    }
}

/// A reader of content: a session of a user.
public struct MediaReader: Sendable, Hashable {
    public var user: UserID
    public var session: SessionID

    public init(user: UserID, session: SessionID) {
        self.user = user
        self.session = session
    }
}

/// A room's word about one piece of content.
public struct MediaStatus: Sendable, Hashable {
    public var record: UploadRecord
    /// The asking session is in the room, where one asks.
    public var isReaderHere: Bool
    /// Messages name it, or it is an avatar.
    public var isReadable: Bool

    public init(record: UploadRecord, isReaderHere: Bool, isReadable: Bool) {
        self.record = record
        self.isReaderHere = isReaderHere
        self.isReadable = isReadable
    }
}
