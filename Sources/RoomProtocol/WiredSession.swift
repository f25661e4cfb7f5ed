import ChatModel
import Wire

struct WiredSession: WireMessage {
    var session: SessionID
    var request: UInt32?

    static var blank: WiredSession { WiredSession(session: .blank, request: nil) }
    static var schemaName: String { "SessionOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.optional(2, "request", &request)
    }
}

struct WiredKick: WireMessage {
    var session: SessionID
    var reason: KickReason
    var ext: String?

    static var blank: WiredKick { WiredKick(session: .blank, reason: .blank, ext: nil) }
    static var schemaName: String { "KickedOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "reason", &reason)
        try walker.optional(3, "ext", &ext)
    }
}

struct WiredProfile: WireMessage {
    var session: SessionID
    var profile: Profile

    static var blank: WiredProfile { WiredProfile(session: .blank, profile: Profile()) }
    static var schemaName: String { "ProfileOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "profile", &profile)
    }
}
