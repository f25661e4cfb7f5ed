import ChatModel
import Wire

/// The role of an admin key or token (PROTOCOL.md, "Roles of keys"). Each route says which roles may call it.
public enum AdminRole: String, Sendable, Hashable, CaseIterable {
    /// Everything.
    case admin = "ADMIN"
    /// The cluster and its sessions.
    case operate = "OPERATE"
    /// Rooms, members and messages; shown as the operator.
    case moderate = "MODERATE"
    /// Figures and rooms; changes nothing.
    case read = "READ"
}

/// The caller of the server API and the rights that it has.
public struct Administrator: Sendable, Hashable {
    /// The key's ID, or the token's `sub`.
    public let name: String
    public let role: AdminRole
    /// With one, only calls of rooms whose IDs begin so.
    public let roomPrefix: String?

    /// Everything.
    public init(name: String) {
        self.name = name
        role = .admin
        roomPrefix = nil
    }

    /// nil for a role that this program does not know, a prefix that no room ID can begin with, and a name that can't be
    /// an operator's where the role needs one.
    public init?(name: String, role: String, roomPrefix: String?) {
        guard let role = AdminRole(rawValue: role), role != .moderate || UserID(name) != nil,
            roomPrefix.map(Self.isRoomPrefix) ?? true
        else { return nil }
        self.name = name
        self.role = role
        self.roomPrefix = roomPrefix
    }

    /// Whether room IDs can begin so. An empty one would be no limit.
    public static func isRoomPrefix(_ text: String) -> Bool {
        // "." and ".." are no IDs, and IDs begin with them.
        RoomID(text) != nil || text == "." || text == ".."
    }

    /// Throws 403 for what the role or the prefix does not allow.
    func requireMay(_ route: Route, _ parameters: [String: String]) throws(ChatError) {
        guard route.roles.contains(role) else {
            let allowed = AdminRole.allCases.filter(route.roles.contains).map(\.rawValue).joined(separator: ", ")
            throw ChatError(.forbidden, "the role \(role.rawValue) may not do this, only \(allowed)")
        }
        guard let roomPrefix else { return }
        guard route.isOfOneRoom, let room = parameters["room"], room.utf8.starts(with: roomPrefix.utf8) else {
            throw ChatError(.forbidden, "this key or token is for rooms that begin with \(roomPrefix)")
        }
    }

    /// In whose name a call is made: for the role MODERATE always in the caller's own.
    func actor(_ options: ServerOptions) -> Actor {
        if role == .moderate, let user = UserID(name) { return .moderator(UserName(user: user, nick: name)) }
        return options.operator.map(Actor.server) ?? .system
    }
}

extension Set<AdminRole> {
    /// Secrets, settings, and what nobody can undo.
    static let onlyAdmin: Self = [.admin]
    /// Changes in rooms.
    static let moderation: Self = [.admin, .moderate]
    /// The cluster and sessions.
    static let operation: Self = [.admin, .operate]
    /// The content of rooms.
    static let reading: Self = [.admin, .moderate, .read]
    /// Figures of the cluster.
    static let figures: Self = [.admin, .operate, .read]
    /// That a room is there, and how it is.
    static let everybody: Self = Set(AdminRole.allCases)
}

extension Administrator {
    /// Whether it may read the content of a room, on the client port.
    public func mayReadContent(of room: RoomID) -> Bool {
        Set<AdminRole>.reading.contains(role) && roomPrefix.map { room.text.utf8.starts(with: $0.utf8) } ?? true
    }
}
