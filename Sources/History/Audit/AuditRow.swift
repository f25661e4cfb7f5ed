import ChatModel

/// A recorded call.
public struct AuditRow: Sendable, Hashable {
    /// How many of its kind a node's record keeps: what anybody can cause, or what an app causes all day, does not
    /// displace what an operator did once.
    public enum Kind: Int64, Sendable, Hashable, CaseIterable {
        case ordinary = 0
        /// An app does it again and again, for example sends messages.
        case frequent = 1
        /// By nobody who has proved who they are.
        case stranger = 2

        /// Rows of each node; the oldest go first.
        public var rowsMax: Int {
            switch self {
            case .ordinary: 1_000_000
            case .frequent: 200_000
            case .stranger: 100_000
            }
        }
    }

    /// The columns that a row can be found by.
    public struct Subject: Sendable, Hashable {
        public var kind: Kind
        public var actor: String?
        public var room: String?
        public var action: String?

        public init(_ kind: Kind, actor: String?, room: String?, action: String?) {
            self.kind = kind
            self.actor = actor
            self.room = room
            self.action = action
        }
    }

    public var place: AuditPlace
    public var subject: Subject
    public var payload: [UInt8]

    public init(place: AuditPlace, subject: Subject, payload: [UInt8]) {
        self.place = place
        self.subject = subject
        self.payload = payload
    }
}
