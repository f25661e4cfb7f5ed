import ChatModel
import Wire

/// The sessions that a user has at one node.
public struct UserDevices: Sendable, Hashable {
    public var user: UserID
    public var sessions: [HeldDevice]

    public init(user: UserID, sessions: [HeldDevice]) {
        self.user = user
        self.sessions = sessions
    }
}

/// A session, as nodes tell each other of it.
public struct HeldDevice: Sendable, Hashable {
    public var session: SessionID
    public var device: Device
    public var startedAt: Timestamp

    public init(session: SessionID, device: Device, startedAt: Timestamp) {
        self.session = session
        self.device = device
        self.startedAt = startedAt
    }
}

/// The words of one node about the sessions of users: a question, and its answer.
public struct DeviceNews: Sendable, Hashable {
    /// More users than this go in several.
    public static let usersMax = 256

    public var node: NodeID
    /// Grows with whatever the node says: what it has said later of a user counts.
    public var version: UInt64
    /// Users of whom the node wants to know. None in an answer.
    public var asked: [UserID]
    /// All sessions of these users at the node. In an answer, of those that were asked for or told, and have any here.
    public var told: [UserDevices]

    public init(node: NodeID, version: UInt64, asked: [UserID] = [], told: [UserDevices]) {
        self.node = node
        self.version = version
        self.asked = asked
        self.told = told
    }
}

extension DeviceNews: WireMessage {
    public static var blank: DeviceNews { DeviceNews(node: .blank, version: 0, told: []) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &node)
        try walker.shown(2, "version", &version)
        try walker.repeated(3, "asked", &asked, itemsMax: Self.usersMax)
        try walker.repeated(4, "told", &told, itemsMax: 2 * Self.usersMax)
    }
}

extension UserDevices: WireMessage {
    public static var blank: UserDevices { UserDevices(user: .blank, sessions: []) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.repeated(2, "sessions", &sessions)
    }
}

extension HeldDevice: WireMessage {
    public static var blank: HeldDevice { HeldDevice(session: .blank, device: .blank, startedAt: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "device", &device)
        try walker.shown(3, "startedAt", &startedAt)
    }
}
