import ChatModel

/// Bounds of room settings that the protocol leaves open.
enum RoomBounds {
    /// 30 days, as for a ban.
    static let slowModeSeconds = FieldLimit.integers(0, Limits.banSeconds)
    /// 366 days.
    static let idleCloseSeconds = FieldLimit.integers(0, 366 * 86_400)
    /// Messages a second to one viewer.
    static let viewerBudget = FieldLimit.integers(1, 100_000)
    static let highPerSecond = FieldLimit.integers(1, Limits.highPerSecond)
    /// No queue has more elements.
    static let seatsPerUser = FieldLimit.integers(0, 1_000_000)
    static let historyDays = FieldLimit.integers(1, Limits.historyDays)
}

/// The facts as the log and the catalogue keep them; clients see `RoomView`.
extension RoomInfo: WireMessage {
    public static var blank: RoomInfo { RoomInfo(id: .blank, creator: .blank, createdAt: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walkFacts(&walker)
        try walker.shown(16, "createdAt", &createdAt)
        try walker.shown(19, "idleCloseSeconds", &idleCloseSeconds)
        var pins = W.isDecoding ? [] : pinned.map(StoredPin.init)
        try walker.repeated(21, "pinned", &pins)
        if W.isDecoding { pinned = pins.map(\.pinned) }
        try walkLaterFacts(&walker)
    }

    fileprivate mutating func walkFacts<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "id", &id)
        try walker.shown(2, "name", &name)
        try walker.shown(3, "announcement", &announcement)
        try walker.required(4, "creator", &creator)
        try walker.shown(5, "ext", &ext)
        try walker.shown(6, "broadcastUrl", &broadcastUrl)
        try walker.shown(7, "entry", &entry)
        try walker.shown(8, "queueLevel", &queueLevel)
        try walker.shown(9, "enterExitNotify", &enterExitNotify)
        try walker.shown(10, "slowModeSeconds", &slowModeSeconds)
        try walker.optional(11, "viewerBudget", &viewerBudget)
        try walker.shown(12, "muted", &muted)
        try walker.shown(13, "closed", &closed)
    }

    /// The facts whose numbers are behind those of `createdAt` and of what only one of both has.
    fileprivate mutating func walkLaterFacts<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(22, "highPerSecond", &highPerSecond)
        try walker.shown(23, "seatsPerUser", &seatsPerUser)
        try walker.optional(24, "historyDays", &historyDays)
    }
}

extension RoomView: WireMessage {
    public static var blank: RoomView { RoomView(info: .blank, online: 0) }
    public static var schemaName: String { "Room" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try info.walkFacts(&walker)
        try walker.shown(15, "online", &online)
        try walker.shown(16, "createdAt", &info.createdAt)
        var number = shard.map { UInt32($0.number) }
        try walker.optional(17, "shard", &number)
        try walker.optional(18, "leader", &leader)
        try walker.optional(19, "deletedAt", &deletedAt)
        try walker.optional(20, "purgeAt", &purgeAt)
        try walker.list(21, "pinned", &info.pinned)
        try info.walkLaterFacts(&walker)
        // The server API alone shows it, as it does the shard; absent where nothing closes the room by itself.
        var idleCloseSeconds = shard != nil && info.idleCloseSeconds > 0 ? info.idleCloseSeconds : nil
        try walker.optional(25, "idleCloseSeconds", &idleCloseSeconds)
        guard W.isDecoding else { return }
        info.idleCloseSeconds = idleCloseSeconds ?? 0
        guard let number else { return }
        guard let exact = UInt16(exactly: number) else {
            throw ChatError(.badParameter, "no such shard", field: "shard")
        }
        shard = ShardID(exact)
    }
}

/// All that the server API may set.
extension RoomChanges: WireMessage {
    public static var blank: RoomChanges { RoomChanges() }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walk(&walker, all: true) }

    /// - Parameter all: also what only the server API may set; else those fields are not looked at.
    mutating func walk<W: FieldWalker>(_ walker: inout W, all: Bool) throws(ChatError) {
        try walker.optional(2, "name", &name, .bytes(Limits.roomNameBytes))
        try walker.optional(3, "announcement", &announcement, .bytes(Limits.announcementBytes))
        try walker.optional(5, "ext", &ext, .bytes(Limits.extBytes))
        try walker.optional(6, "broadcastUrl", &broadcastUrl, .bytes(Limits.urlBytes))
        if all { try walker.optional(7, "entry", &entry) }
        try walker.optional(8, "queueLevel", &queueLevel)
        try walker.optional(9, "enterExitNotify", &enterExitNotify)
        try walker.optional(10, "slowModeSeconds", &slowModeSeconds, RoomBounds.slowModeSeconds)
        guard all else { return }
        try walker.optional(11, "viewerBudget", &viewerBudget, RoomBounds.viewerBudget)
        // Below 20 and 21, which `ChangedFields` has behind these.
        try walker.optional(14, "highPerSecond", &highPerSecond, RoomBounds.highPerSecond)
        try walker.optional(15, "seatsPerUser", &seatsPerUser, RoomBounds.seatsPerUser)
        try walker.optional(16, "historyDays", &historyDays, RoomBounds.historyDays)
        try walker.optional(19, "idleCloseSeconds", &idleCloseSeconds, RoomBounds.idleCloseSeconds)
    }
}

/// `updateRoom`'s `set`: what a manager may set. Fields for the server API are ignored as unknown.
struct RoomSettings: WireMessage {
    var changes = RoomChanges()

    static var blank: RoomSettings { RoomSettings() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try changes.walk(&walker, all: false) }
}
