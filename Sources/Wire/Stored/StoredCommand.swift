import ChatModel

/// A command as the log holds it, with the leader's stamp.
struct StoredCommand: WireMessage {
    var time: Timestamp
    var command: Command
    /// Parts of the commands that were read before it.
    var known = KnownCommandParts()

    static var blank: StoredCommand {
        StoredCommand(time: .blank, command: Command(id: nil, room: .blank, actor: .system, body: .expire))
    }
    static var schemaName: String { "LogEntry" }
    fileprivate static let roomNumber = 3

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "time", &time)
        try walker.optional(2, "id", &command.id)
        try walker.required(Self.roomNumber, "room", &command.room)
        try walker.required(4, "actor", &command.actor, known: &known.actors)
        try walker.required(5, "facts", &command.facts, known: &known.facts)
        try command.body.walk(&walker)
    }
}

/// Actors and facts of the commands that were read from one log lately: most commands of a room come from few members, and
/// limits rarely change.
public struct KnownCommandParts: Sendable {
    var actors = KnownParts<Actor>()
    var facts = KnownParts<CommandFacts>()

    public init() {}
}

/// The room of a ``StoredCommand``, alone.
struct RoomOfCommand: WireMessage {
    var room: RoomID

    static var blank: RoomOfCommand { RoomOfCommand(room: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(StoredCommand.roomNumber, "room", &room)
    }
}

extension CommandID: WireMessage {
    public static var blank: CommandID { CommandID(scope: "", text: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "scope", &scope)
        try walker.shown(2, "text", &text)
    }
}

extension Actor: WireMessage {
    public static var blank: Actor { .system }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = self
        var seen = 0
        try seen +=
            walker.choice(1, "system", { if case .system = current { Empty() } else { nil } }, { _ in self = .system })
            ? 1 : 0
        try seen +=
            walker.choice(
                2, "server", { if case .server(let it) = current { it } else { nil } }, { self = .server($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                3, "member",
                {
                    if case .member(let user, let profile, let anonymous) = current {
                        MemberActor(user: user, profile: profile, anonymous: anonymous)
                    } else {
                        nil
                    }
                }, { self = .member($0.user, $0.profile, anonymous: $0.anonymous) }) ? 1 : 0
        try seen +=
            walker.choice(
                4, "moderator", { if case .moderator(let it) = current { it } else { nil } }, { self = .moderator($0) })
            ? 1 : 0
        if W.isDecoding, seen != 1 { throw .missing("actor") }
    }
}

struct MemberActor: WireMessage {
    var user: UserID
    var profile: Profile
    var anonymous: Bool

    static var blank: MemberActor { MemberActor(user: .blank, profile: Profile(), anonymous: false) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.required(2, "profile", &profile)
        try walker.shown(3, "anonymous", &anonymous)
    }
}

extension CommandFacts: WireMessage {
    public static var blank: CommandFacts { CommandFacts() }

    /// Names are written in the order of their users, so that equal facts have equal bytes.
    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "fixedMembersMax", &fixedMembersMax)
        try walker.required(2, "blacklistedMax", &blacklistedMax)
        try walker.required(3, "managersMax", &managersMax)
        try walker.required(4, "queueElementsMax", &queueElementsMax)
        try walker.required(5, "recallWindowSeconds", &recallWindowSeconds)
        try walker.required(6, "highPerSecondMax", &highPerSecondMax)
        guard W.isDecoding || W.describesSchema || hasRareParts else { return try walkMiddle(&walker) }
        // A copy, since to set one of them makes all anew.
        var rare = rareParts
        let visitsFirst = !W.isDecoding || walker.mayHave(before: Self.middleNumber)
        if visitsFirst { try Self.walkFirst(of: &rare, &walker) }
        try walkMiddle(&walker)
        let visitsLast = !W.isDecoding || walker.mayHaveMore
        if visitsLast { try Self.walkLast(of: &rare, &walker) }
        if W.isDecoding, visitsFirst || visitsLast { rareParts = rare }
    }

    /// The first number of what stands between the rare facts.
    private static let middleNumber = 11

    private static func walkFirst<W: FieldWalker>(of rare: inout RareCommandFacts, _ walker: inout W) throws(ChatError)
    {
        var list: [NamedProfile] = []
        if !W.isDecoding, !rare.names.isEmpty {
            list = rare.names.map { NamedProfile(user: $0.key, profile: $0.value) }.sorted { $0.user < $1.user }
        }
        try walker.repeated(7, "names", &list)
        if W.isDecoding { rare.names = Dictionary(list.map { ($0.user, $0.profile) }, uniquingKeysWith: { $1 }) }
        try walker.repeated(8, "recalled", &rare.recalled)
        try walker.optional(9, "delivered", &rare.delivered)
        try walker.repeated(10, "copies", &rare.copies)
    }

    /// Visits what stands between the rare facts.
    private mutating func walkMiddle<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        // Entries of before robots have none.
        try walker.defaulted(Self.middleNumber, "robotsMax", &robotsMax, default: RoomPolicy.robotsMaxDefault)
        try walker.defaulted(20, "webhook", &webhook, default: false)
    }

    private static func walkLast<W: FieldWalker>(of rare: inout RareCommandFacts, _ walker: inout W) throws(ChatError) {
        try walker.optional(21, "addressHash", &rare.addressHash)
        try walker.defaulted(22, "addressBarSeconds", &rare.addressBarSeconds, default: 0)
        try walker.defaulted(23, "keepDeletedSeconds", &rare.keepDeletedSeconds, default: 0)
        try walker.optional(24, "original", &rare.original)
        try walker.optional(25, "keptSince", &rare.keptSince)
        var stored = rare.amended.map { StoredMessage(message: $0) }
        try walker.optional(26, "amended", &stored)
        try walker.optional(27, "pollKey", &rare.pollKey)
        try walker.optional(29, "hold", &rare.hold)
        try walker.optional(30, "mediaId", &rare.mediaID)
        try walker.repeated(31, "sharedUploads", &rare.sharedUploads)
        try walker.defaulted(40, "owesByRow", &rare.owesByRow, default: false)
        try walker.defaulted(41, "owesPast", &rare.owesPast, default: false)
        try walker.defaulted(42, "tellsGoneElements", &rare.tellsGoneElements, default: false)
        try walker.defaulted(43, "heldBySender", &rare.heldBySender, default: false)
        if W.isDecoding { rare.amended = stored?.message }
    }
}

struct NamedProfile: WireMessage {
    var user: UserID
    var profile: Profile

    static var blank: NamedProfile { NamedProfile(user: .blank, profile: Profile()) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.required(2, "profile", &profile)
    }
}
