import ChatModel
import Wire

/// A session that a node has taken up without its holder, which could not be reached (PROTOCOL.md, "Resume").
public struct TakenSession: Sendable, Hashable {
    public var session: SessionID
    /// A copy of an earlier time ends, and tells nobody.
    public var at: Timestamp

    public init(session: SessionID, at: Timestamp) {
        self.session = session
        self.at = at
    }
}

extension TakenSession: WireMessage {
    public static var blank: TakenSession { TakenSession(session: .blank, at: .blank) }
    public static var schemaName: String { "TakenSession" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.shown(2, "at", &at)
    }
}
