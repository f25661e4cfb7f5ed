import ChatModel
import Wire

extension HandedSession: WireMessage {
    public static var blank: HandedSession {
        HandedSession(user: .blank, anonymous: false, device: .web, startedAt: .blank)
    }
    public static var schemaName: String { "HandedSession" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.shown(2, "anonymous", &anonymous)
        try walker.required(3, "device", &device)
        try walker.optional(4, "issuedAt", &issuedAt)
        try walker.shown(5, "startedAt", &startedAt)
        try walker.shown(6, "requestCount", &requestCount)
        try walker.list(7, "stays", &stays)
        try walker.optional(8, "levels", &levels)
        try walker.optional(9, "userLevels", &userLevels)
        try walker.list(10, "kicks", &kicks)
        try walker.optional(11, "revivedAt", &revivedAt)
    }
}

extension HandedSession.RoomStay: WireMessage {
    public static var blank: HandedSession.RoomStay {
        HandedSession.RoomStay(room: .blank, stay: WiredStay.blank.stay)
    }
    public static var schemaName: String { "RoomStay" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var wired = WiredStay(stay)
        try walker.required(1, "room", &room)
        try walker.required(2, "stay", &wired)
        if W.isDecoding { stay = wired.stay }
    }
}

extension RateLevels: WireMessage {
    public static var blank: RateLevels { RateLevels() }
    public static var schemaName: String { "RateLevels" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "changes", &changes)
        try walker.shown(2, "reads", &reads)
        try walker.shown(3, "bytes", &bytes)
        try walker.shown(4, "repeats", &repeats)
        try walker.optional(5, "tapRequests", &tapRequests)
        try walker.optional(6, "taps", &taps)
        try walker.optional(7, "searches", &searches)
    }
}

/// A session and who wants it.
struct WiredHandOver: WireMessage {
    var session: SessionID
    var user: UserID?

    static var blank: WiredHandOver { WiredHandOver(session: .blank, user: nil) }
    static var schemaName: String { "HandOver" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.optional(2, "user", &user)
    }
}
