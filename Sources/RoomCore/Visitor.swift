import ChatModel

/// One session in one room: the node of its gateway and its ID there.
public struct PresenceKey: Hashable, Sendable {
    public var node: NodeID
    public var session: SessionID

    public init(node: NodeID, session: SessionID) {
        self.node = node
        self.session = session
    }

    /// The key of a robot, which has no session: there is one per user.
    public static func robot(_ user: UserID) -> PresenceKey? {
        guard let node = NodeID(user.text), let session = SessionID("robot") else { return nil }
        return PresenceKey(node: node, session: session)
    }
}

/// Where sessions receive: one loop of one gateway node.
public struct Lane: Hashable, Sendable, Comparable {
    public var node: NodeID
    public var number: Int

    public init(node: NodeID, number: Int) {
        self.node = node
        self.number = number
    }

    public static func < (a: Lane, b: Lane) -> Bool { (a.node, a.number) < (b.node, b.number) }
}

/// A session that has entered a room, with what it said of itself.
public struct Visitor: Sendable, Hashable {
    public var key: PresenceKey
    /// The number of its gateway's loop.
    public var laneNumber: Int
    /// The encoding that its connection understands.
    public var encoding = ClientEncoding.json
    public var user: UserID
    public var profile: Profile
    public var anonymous: Bool
    public var device: Device
    public var enteredAt: Timestamp
    /// Shown with its enter.
    public var notifyExt: String?
    /// A member that the server API has put here; it counts, and receives nothing.
    public var isRobot = false
    /// For an anonymous session: the hash of its address, so that a blacklisting can keep it out.
    public var addressHash: UInt64?
    /// Since when the client's connection is gone, and its session in its grace; nil: it is connected.
    public var awaySince: Timestamp?
    /// When a node last took the session up without its holder; nil: never (`Caller.revivedAt`).
    public var revivedAt: Timestamp?
    /// The number of the request, of all that its session asks, with which it has entered last; 0 when that is not known.
    public var enteredBy: UInt64 = 0

    public var isAway: Bool { awaySince != nil }

    public init(
        key: PresenceKey, laneNumber: Int, user: UserID, profile: Profile, anonymous: Bool, device: Device,
        enteredAt: Timestamp
    ) {
        self.key = key
        self.laneNumber = laneNumber
        self.user = user
        self.profile = profile
        self.anonymous = anonymous
        self.device = device
        self.enteredAt = enteredAt
    }

    /// A robot's stay; nil only for a name that no user can have.
    public init?(_ robot: Robot, enteredAt: Timestamp) {
        guard let key = PresenceKey.robot(robot.user) else { return nil }
        self.init(
            key: key, laneNumber: 0, user: robot.user, profile: robot.profile, anonymous: false, device: .server,
            enteredAt: enteredAt)
        isRobot = true
    }

    public var lane: Lane { Lane(node: key.node, number: laneNumber) }
}

/// A consequence of an arrival or a departure. The host performs it in this order.
public enum PresenceEffect: Sendable, Hashable {
    /// This session has left the room, because the user entered with another one.
    case kick(Visitor, reason: KickReason)
    /// The user was not here before.
    case arrived(UserID)
    /// The user's last session has left.
    case departed(UserName)
    /// A 301, 302 or 350, unkept.
    case show(Notification)
    /// The `online` push.
    case online(Int64)
}
