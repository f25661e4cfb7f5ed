import ChatModel
import Wire

/// Stored content: names that a server has made.
public struct MediaFile: Sendable, Hashable {
    public var room: RoomID
    public var id: String
    /// SHA-256 in hexadecimal digits.
    public var digest: String

    public init(room: RoomID, id: String, digest: String) {
        self.room = room
        self.id = id
        self.digest = digest
    }
}

/// Bytes of content on their way to a node that stores them. A piece at offset 0 begins anew.
public struct MediaPiece: Sendable, Hashable {
    /// Which sending it is: several may send the same content at once.
    public var transfer: String
    public var offset: Int64
    /// The size of the whole content.
    public var size: Int64
    public var bytes: [UInt8]

    /// The most bytes of a piece.
    public static let bytesMax = 64 * 1024

    public init(transfer: String, offset: Int64, size: Int64, bytes: [UInt8]) {
        self.transfer = transfer
        self.offset = offset
        self.size = size
        self.bytes = bytes
    }
}

extension MediaFile: WireMessage {
    public static var blank: MediaFile { MediaFile(room: .blank, id: "", digest: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.shown(2, "id", &id)
        try walker.shown(3, "digest", &digest)
    }
}

extension MediaPiece: WireMessage {
    public static var blank: MediaPiece { MediaPiece(transfer: "", offset: 0, size: 0, bytes: []) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "transfer", &transfer)
        try walker.shown(2, "offset", &offset)
        try walker.shown(3, "size", &size)
        try walker.shown(4, "bytes", &bytes)
    }
}

/// The other questions about content, as they travel.
struct WiredMediaFile: WireMessage {
    var file: MediaFile
    var transfer = ""
    /// The size of the content, or of the part.
    var size: Int64 = 0
    var offset: Int64 = 0
    var isThorough = false

    static var blank: WiredMediaFile { WiredMediaFile(file: .blank) }
    static var schemaName: String { "MediaFileQuestion" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "file", &file)
        try walker.shown(2, "transfer", &transfer)
        try walker.shown(3, "size", &size)
        try walker.shown(4, "offset", &offset)
        try walker.defaulted(8, "isThorough", &isThorough, default: false)
    }
}

/// How many bytes of content a user has announced on one day, as sums of the nodes that counted them.
public struct UploadUse: Sendable, Hashable {
    public var user: UserID
    /// Counted from 1970-01-01, UTC.
    public var day: Int64
    public var counts: [NodeID: Int64]

    public init(user: UserID, day: Int64, counts: [NodeID: Int64]) {
        self.user = user
        self.day = day
        self.counts = counts
    }
}

extension UploadUse: WireMessage {
    public static var blank: UploadUse { UploadUse(user: .blank, day: 0, counts: [:]) }

    private static let nodesMax = 255

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var sums = counts.map { WiredUploadSum(node: $0.key, bytes: $0.value) }.sorted { $0.node < $1.node }
        try walker.required(1, "user", &user)
        try walker.shown(2, "day", &day)
        try walker.repeated(3, "counts", &sums, itemsMax: Self.nodesMax)
        if W.isDecoding { counts = Dictionary(sums.map { ($0.node, $0.bytes) }) { max($0, $1) } }
    }
}

struct WiredUploadSum: WireMessage {
    var node: NodeID
    var bytes: Int64

    static var blank: WiredUploadSum { WiredUploadSum(node: .blank, bytes: 0) }
    static var schemaName: String { "UploadSum" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.shown(2, "bytes", &bytes)
    }
}

struct WiredMediaUse: WireMessage {
    var user: UserID
    var bytes: Int64

    static var blank: WiredMediaUse { WiredMediaUse(user: .blank, bytes: 0) }
    static var schemaName: String { "MediaUse" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "bytes", &bytes)
    }
}

extension WiredQuestion {
    func walkMedia<W: FieldWalker>(
        _ walker: inout W, _ current: NodeQuestion, _ read: inout NodeQuestion
    ) throws(ChatError) {
        var known = read
        try walker.choice(
            36, "mediaWrite", { if case .mediaWrite(let piece) = current { piece } else { nil } },
            { known = .mediaWrite($0) })
        try walker.choice(
            37, "mediaFinish",
            {
                if case .mediaFinish(let file, let transfer, let size) = current {
                    WiredMediaFile(file: file, transfer: transfer, size: size)
                } else {
                    nil
                }
            }, { known = .mediaFinish($0.file, transfer: $0.transfer, size: $0.size) })
        try walker.choice(
            38, "mediaRead",
            {
                if case .mediaRead(let file, let offset, let count) = current {
                    WiredMediaFile(file: file, size: Int64(count), offset: offset)
                } else {
                    nil
                }
            }, { known = .mediaRead($0.file, offset: $0.offset, count: Int(clamping: $0.size)) })
        try walker.choice(
            39, "mediaHas",
            {
                if case .mediaHas(let file, let size, let isThorough) = current {
                    WiredMediaFile(file: file, size: size, isThorough: isThorough)
                } else {
                    nil
                }
            }, { known = .mediaHas($0.file, size: $0.size, isThorough: $0.isThorough) })
        try walker.choice(
            40, "mediaUse",
            {
                if case .mediaUse(let user, let bytes) = current {
                    WiredMediaUse(user: user, bytes: bytes)
                } else {
                    nil
                }
            }, { known = .mediaUse($0.user, bytes: $0.bytes) })
        try walker.choice(
            41, "mediaLink",
            {
                if case .mediaLink(let file, let room) = current { WiredMediaLink(file: file, room: room) } else { nil }
            }, { known = .mediaLink($0.file, to: $0.room) })
        try walker.choice(
            42, "mediaUses", { if case .mediaUses(let use) = current { use } else { nil } },
            { known = .mediaUses($0) })
        read = known
    }
}

struct WiredMediaLink: WireMessage {
    var file: MediaFile
    var room: RoomID

    static var blank: WiredMediaLink { WiredMediaLink(file: .blank, room: .blank) }
    static var schemaName: String { "MediaLink" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "file", &file)
        try walker.required(2, "room", &room)
    }
}
