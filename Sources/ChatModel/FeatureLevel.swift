/// How much of each other's logs, rows, events and link frames all nodes of a cluster understand (PROTOCOL.md,
/// "Versions").
///
/// The system group holds the cluster's level: raised when every listed node's program can do the next one, and never
/// lowered. Nobody writes what a level brings before the cluster has it, so until then each program of the level before
/// can take over again.
public struct FeatureLevel: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let number: Int

    public init(_ number: Int) { self.number = number }

    /// The level of programs and data that say nothing of one.
    public static let first = FeatureLevel(1)

    /// The highest level that this program can do.
    public static let newest = Feature.allCases.map(\.level).max() ?? first

    /// Whether the feature may be used where this is the cluster's level.
    public func brings(_ feature: Feature) -> Bool { feature.level <= self }

    /// The names of what clients can use of it, as `connect` lists them.
    public var clientFeatures: [String] { Feature.allCases.filter(brings).compactMap(\.clientName) }

    public var description: String { "\(number)" }
    public static func < (a: FeatureLevel, b: FeatureLevel) -> Bool { a.number < b.number }
}

/// Something that programs of the level before do not understand: the table of levels. docs/contributing/level.md says
/// how to add one.
public enum Feature: String, Sendable, Hashable, CaseIterable {
    /// The cluster's feature level itself, and the command that raises it.
    case levels
    /// Having a deleted room back: the commands `undeleteRoom` and `purgeRoom`, the facts `keepDeletedSeconds` and
    /// `tellsGoneElements`, the row `deletedRoom` that follows, and the webhook's kind UNDELETED.
    case undelete
    /// The actor `moderator`: an operator above every rank.
    case moderators
    /// The log of consensus in segment files: version 3 of `log.sqlite`, and the files `log.segment.N` beside it.
    case logSegments
    /// Seats as hosts run them: `owner` of a member's `queueSet`, `keepOwner`, `locked`; the settings `seatsPerUser` and
    /// `highPerSecond` of a room.
    case seats
    /// Pinned messages and replies: the command `pin` with its row and 361, `replyTo` of a post with the fact `original`.
    case pins
    /// Amended messages: the command `amend` with the fact `amended`, 360, and `editedAt` in rows of history.
    case amend
    /// Tallies: the commands `tap` and `tally` with their rows, windows of taps on the link, the push `tallies`, and the
    /// restatement of it for lanes.
    case tallies
    /// Content that the cluster stores: the commands `registerUpload`, `completeUpload` and `removeUpload`, their row `upload`, `id` of a
    /// post's media, and the questions by which nodes pass content on.
    case media
    /// Users who are banned or muted in all rooms: the system group's commands `sanction` and `sanctionsTold`, and
    /// what follows from them; a session's refusal in its requests to rooms.
    case sanctions
    /// Polls: the commands `openPoll`, `vote` and `closePoll` with their rows, 362 and 363.
    case polls
    /// Reports of messages: the command `report` with its row, and what the webhook is owed of them.
    case reports
    /// Held messages: the action HOLD in the setting of moderation, the facts `hold` and `heldBySender`, the commands `decideHeld`
    /// and `withdrawHeld`, the rows `held` and `denied`, and the webhook's kind HELD.
    case held
    /// A row for each held message that the webhook is owed: the fact `owesByRow`, and the rows `owedHeld` that follow
    /// from it.
    case owedRows
    /// Messages that a deleted room owes the webhook are delivered: the fact `owesPast`, and the life in the events that
    /// are owed; and the count of what was forgotten in what was delivered.
    case owedPast
    /// Lives of history: the setting `historyDays` of a room, and files of other lives than the standard one.
    case lives
    /// Looking for messages: the operation `search`.
    case search
    /// Messages of before: the command `importMessages` with its result.
    case imports
    /// The sessions of a leader's node are known to other replicas: `PresenceUpdate` on the link.
    case presence
    /// Rows of history in blocks, with their payloads in a file: version 4 of a day's history (3 has them in the rows).
    case historyBlocks

    /// The level that brings it.
    public var level: FeatureLevel {
        switch self {
        case .levels, .undelete, .moderators, .logSegments, .seats, .pins, .amend, .tallies, .media, .sanctions,
            .polls, .reports, .held, .owedRows, .owedPast, .lives, .search, .imports, .presence, .historyBlocks:
            FeatureLevel(2)
        }
    }

    /// Its name in the `features` of `connect`; nil for what clients need not know.
    public var clientName: String? {
        switch self {
        case .levels, .undelete, .moderators, .logSegments, .sanctions, .owedRows, .owedPast, .lives, .imports,
            .presence, .historyBlocks:
            nil
        case .seats: "seats"
        case .pins: "pin"
        case .amend: "amend"
        case .tallies: "tally"
        case .media: "media"
        case .polls: "poll"
        case .reports: "report"
        case .held: "held"
        case .search: "search"
        }
    }
}

extension CommandBody {
    /// The feature that the command belongs to; nil for what every program understands. Rows and events that only this
    /// command brings belong to it too.
    public var feature: Feature? {
        switch self {
        case .undeleteRoom, .purgeRoom: .undelete
        case .createRoom(_, let set), .updateRoom(let set, _):
            set.highPerSecond != nil || set.seatsPerUser != nil ? .seats : set.historyDays != nil ? .lives : nil
        case .queueSet(let write, _): write.keepOwner || write.locked != nil ? .seats : nil
        case .pin: .pins
        case .amend: .amend
        case .tap, .tally: .tallies
        case .openPoll, .vote, .closePoll: .polls
        case .post(let draft) where draft.replyTo != nil: .pins
        case .post(let draft) where draft.body.media?.id != nil || draft.body.media?.thumbnailID != nil: .media
        case .registerUpload, .completeUpload, .removeUpload: .media
        case .report: .reports
        case .decideHeld, .withdrawHeld: .held
        case .importMessages: .imports
        default: nil
        }
    }
}

extension Command {
    /// The same, where it depends on who gives the command, since the owner that a member names was not looked at before, or
    /// on its facts.
    public var feature: Feature? {
        if case .queueSet(let write, _) = body, write.owner != nil, case .member = actor { return .seats }
        if facts.hold != nil { return .held }
        return body.feature
    }
}

extension SystemCommand {
    /// The same. The command that raises the level is understood by whoever can do the level that it names, and is
    /// proposed for no others.
    public var feature: Feature? {
        switch self {
        case .sanction, .sanctionsTold: .sanctions
        default: nil
        }
    }
}

extension ChatError {
    /// Not every node can do it yet. It is not worth trying again soon: upgrades take as long as operators do.
    public static func upgrading(_ feature: Feature) -> ChatError {
        ChatError(
            .upgrading,
            "the cluster is being upgraded: \(feature.rawValue) needs its feature level \(feature.level) or higher",
            retryAfterMs: 60_000)
    }
}
