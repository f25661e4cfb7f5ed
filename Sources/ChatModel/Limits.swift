/// The fixed numbers of PROTOCOL.md: the one place where each of them stands. Each is the most that is allowed, unless its
/// name says otherwise. Bytes are UTF-8 bytes of the decoded string. Numbers that a configuration may change are in
/// `RoomPolicy` and the hosts' configurations.
public enum Limits {
    public static let kilobyte = 1024

    public static let opaqueIDBytes = 64
    public static let nickBytes = 256
    public static let urlBytes = kilobyte
    public static let extBytes = 4096
    public static let notifyExtBytes = 2048
    public static let roomNameBytes = 512
    public static let announcementBytes = 16 * kilobyte
    public static let clientIDBytes = 64
    /// The most that a room's `highPerSecond` can be.
    public static let highPerSecond: Int64 = 50
    public static let textBytes = 32 * kilobyte
    public static let commandPayloadBytes = 5 * kilobyte
    public static let titleBytes = kilobyte
    public static let searchableBytes = 64
    public static let customSubtypeMax: Int64 = 200
    public static let combineMessages = 100
    public static let pinnedMessages = 10
    public static let excerptBytes = 256
    public static let mentionedUsers = 50
    public static let directedUsers = 50
    public static let imageBytes: Int64 = 10 << 20
    public static let audioBytes: Int64 = 6 << 20
    public static let audioSeconds: Double = 300
    public static let videoBytes: Int64 = 100 << 20
    public static let fileBytes: Int64 = 100 << 20
    public static let avatarBytes: Int64 = 1 << 20
    /// The name of content that is uploaded.
    public static let uploadNameBytes = 256
    /// Messages of one import, and the bytes of its body.
    public static let importedMessages = 100
    public static let importBytes = 256 * kilobyte
    /// A notification of an import, in JSON: its parts have no limits of their own.
    public static let importedNotificationBytes = 128 * kilobyte
    /// For how long a place for content is kept that no message names (PROTOCOL.md, "Media").
    public static let uploadSeconds: Int64 = 3_600
    /// For how long a session's token for a room's content holds.
    public static let mediaTokenSeconds: Int64 = 600
    /// Pieces of content that a room has at a time.
    public static let uploadsPerRoom = 10_000
    /// Avatars among them that no later one has replaced: with a further one the oldest goes.
    public static let avatarsPerRoom = 5_000
    /// Content that one user has in a room and that no message names, replaced avatars among it.
    public static let unnamedUploadsPerUser = 100
    /// Kept messages that may name the same content.
    public static let referencesPerUpload = 100
    public static let barrageTextBytes = 5 * kilobyte
    public static let barrageExtBytes = kilobyte
    public static let barrageStyleBytes = 256
    public static let pageItems: Int64 = 100
    /// The longest life of a room's messages.
    public static let historyDays: Int64 = 3650
    /// History files of a shard: more than all lives together have, `historyDays` of the nodes' setting included. A list of so
    /// many fits into a frame of the link's bulk lane (256 KiB); more are refused.
    public static let historyFilesPerShard = 8_192
    public static let pageItemsDefault: Int64 = 50
    public static let missedMessages = 100
    public static let searchTextBytes = 256
    /// Unicode scalars of a text that is looked for.
    public static let searchTextScalars = 64
    public static let searchItemsDefault: Int64 = 20
    public static let membersByID = 20
    public static let banSeconds: Int64 = 30 * 86_400
    public static let queueKeyBytes = 32
    public static let queueBatchKeyBytes = 128
    public static let queueValueBytes = 4096
    public static let queueBatchItems = 100
    public static let robots = 100
    public static let pollIDBytes = 32
    public static let pollTitleBytes = 256
    public static let pollOptionsMin = 2
    public static let pollOptions = 10
    public static let pollOptionBytes = 128
    public static let pollSeconds: Int64 = 86_400
    public static let openPolls = 5
    /// Closed polls that a room lists, the latest.
    public static let closedPolls = 20
    public static let pollVoters = 1_000_000
    public static let reportReasonBytes = 256
    /// The reports that a room keeps; at the bound the oldest goes.
    public static let reportsPerRoom = 1_000
    /// Between two reports of a user in a room.
    public static let reportSeconds: Int64 = 10
    /// Messages that wait for a manager in a room, and those that were denied lately and are remembered.
    public static let heldMessages = 1_000
    /// The bytes of the texts of those that wait, with the copies that a COMBINE brings: they are in memory.
    public static let heldBytesPerRoom = 34 << 20
    /// Messages of one user that wait in a room, so that nobody takes all places; a further one is 416.
    public static let heldPerUser = 20
    /// Messages of one user in a room that wait or are remembered as denied, for the same reason.
    public static let heldAndDeniedPerUser = 100
    public static let heldReasonBytes = 256
    public static let holdSecondsDefault: Int64 = 600
    public static let holdSeconds: Int64 = 86_400
    public static let tallyKeyBytes = 32
    /// Tallies that the server API has made in a room.
    public static let tallies = 100
    /// 2^53 - 1: what every client can count.
    public static let tallyTotal: Int64 = 9_007_199_254_740_991
    /// Taps of one request.
    public static let tallyDelta: Int64 = 100
    /// The most that one call of the server API adds or takes away.
    public static let tallyAdd: Int64 = 1_000_000_000
    /// Keys in one window of taps: those that a room can have, and as many that it may not have.
    public static let tapKeys = 200
    /// The lanes' lives of which a room remembers the last window, and for how long: far longer than a lane keeps a window
    /// to send it again. Beyond the number the one that was silent for longest goes.
    public static let tapLives = 4_096
    public static let tapLifeSeconds: Int64 = 3_600
    /// Clock skew between an issuer of tokens and a node that is allowed when a client connects, and only then (PROTOCOL.md,
    /// "Tokens").
    public static let tokenSkewSeconds: Int64 = 30
    public static let tokenBytes = 4 * kilobyte
    /// A frame to a client, its head included.
    public static let frameBytes = 256 * kilobyte
    /// The payload of a frame to a client: a head has at most 10 bytes.
    public static let framePayloadBytes = frameBytes - 16
    /// The head of the HTTP request that begins a connection.
    public static let handshakeBytes = 16 * kilobyte
    /// A frame of a client.
    public static let clientFrameBytes = 1024 * kilobyte
    /// A frame of a client whose `connect` has not been answered: that begins with `connect`, and any other.
    public static let connectFrameBytes = 64 * kilobyte
    public static let unconnectedFrameBytes = 16 * kilobyte
    /// How long a `clientId` is remembered (PROTOCOL.md, "Retry").
    public static let commandMemorySeconds: Int64 = 600
    /// The bytes that the results of one user's commands may occupy in a room's memory: those of 10 changes a second
    /// for 10 minutes, kept posts aside, and half as many more. Beyond it the user's oldest are forgotten first.
    public static let rememberedBytesPerUser = 2 << 20
    /// The same of all users together; beyond it those of whoever has more than an equal part go first, then the
    /// oldest.
    public static let rememberedBytesPerRoom = 16 << 20
    /// The newest kept messages of an active room that its leader has in memory, for clients that come back.
    public static let hotTailMessages = 256
    /// The most bytes that the messages of one reply of history take as JSON, the longer encoding: a page ends before it,
    /// and a COMBINE has no more copies (PROTOCOL.md, "Rates").
    public static let replyBytes = 256 * kilobyte
    /// The part of `replyBytes` that is left for the reply around its messages.
    public static let replyFrameBytes = 512
    /// How many bytes of messages a page of history, and what a COMBINE copies, may have.
    public static let pageBytes = replyBytes - replyFrameBytes
}

/// The settings (docs/CONFIGURATION.md) that room logic reads. Facts that come from here travel in commands,
/// because nodes may be configured differently while a setting is rolled out.
public struct RoomPolicy: Sendable, Hashable {
    public var fixedMembersMax = 100_000
    public var blacklistedMax = 100_000
    public var managersMax = 100
    public var queueElementsMax = 1_000
    public var robotsMax = Self.robotsMaxDefault
    public static let robotsMaxDefault = 10_000
    public var recallWindowSeconds: Int64 = 120
    /// Above this many online, enters and exits of guests become one digest (350) a second.
    public var digestAboveOnline = 1_000
    /// Reliable messages a second to one viewer while a room has more than `viewerBudgetAboveOnline`.
    public var viewerBudgetPerSecond = 50
    public var viewerBudgetAboveOnline = 1_000
    public var barragePerViewerPerSecond = 200
    /// HIGH messages a second and room, and as many HIGH barrages; further ones count as NORMAL.
    public var highPerSecondMax = 10
    public var onlinePushSeconds: Int64 = 2
    /// How often changed totals of tallies are pushed at most.
    public var tallyPushMilliseconds = 500
    public var retentionDays: Int64 = 10
    public var graceSeconds: Int64 = 10
    public var conflictPolicy = ConflictPolicy.kickOlder
    /// For how long nobody enters anonymously from the address of an anonymous member who was blacklisted; 0: not at
    /// all.
    public var anonymousBarSeconds: Int64 = 600
    /// For how long a deleted room can be restored; 0: not at all.
    public var undeleteSeconds: Int64 = 86_400
    /// The deleted rooms of a shard that can be restored; further ones are gone at once.
    public static let deletedRoomsMax = 10_000

    public init() {}
}

/// The rule for a user who enters a room with a second session.
public enum ConflictPolicy: String, Sendable, Hashable, CaseIterable {
    case kickOlder, perDevice, rejectNewer, allow
}
