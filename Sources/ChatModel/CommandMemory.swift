/// The remembered part of a command's result, so that a repeat gets the first answer (PROTOCOL.md, "Retry").
public struct CommandMemory: Sendable, Hashable {
    public var result: RememberedResult
    public var time: Timestamp
    /// The log entry: which is older, also of those of one millisecond.
    public var index: UInt64
    /// The user of the command, as a hash; 0: the server. So that nobody's results push out those of others.
    public var owner: UInt64

    public init(result: RememberedResult, time: Timestamp, index: UInt64 = 0, owner: UInt64 = 0) {
        self.result = result
        self.time = time
        self.index = index
        self.owner = owner
    }

    /// Its size against the bounds (`Limits.rememberedBytesPerRoom`): about what it occupies in memory, alike on all
    /// replicas. At most `bytesMax`.
    public var bytes: Int { Self.fixedBytes + result.textBytes }

    /// The key twice, the places in the orders of age, and the value without texts.
    public static let fixedBytes = 192
    /// The bound of a taken element, whose value is nowhere else any more. All others have less than 1,000.
    public static let bytesMax = fixedBytes + 200 + Limits.queueBatchKeyBytes + Limits.queueValueBytes + 64
}

/// The part of a `CommandResult` that a repeat of the command does not bring along itself: names, versions and flags,
/// but none of the long texts. `RoomState.remembered` makes the result of it again.
public enum RememberedResult: Sendable, Hashable {
    case done
    /// Without name, announcement, ext and URL.
    indirect case room(RoomInfo)
    indirect case posted(
        messageID: String, place: MessagePlace, time: Timestamp, priority: Priority, delivered: Int64?)
    /// Without profile.
    indirect case member(Member)
    /// An element that was set: without its value.
    indirect case element(QueueElement)
    /// An element that was taken: the queue has its value no more, so this has.
    indirect case taken(QueueElement)
    /// Which of the keys or users that the command names, as bits: of the first eight in the first byte, from the
    /// lowest.
    case missing([UInt8])
    /// At most `Limits.pinnedMessages`.
    case pinned([PinnedMessage])
    /// Without the message: history has it.
    case amended(messageID: String)
    /// As it was then.
    case tally(Tally)
    /// A place for content.
    case upload(UploadTicket)
    /// Without title and options.
    case poll(Poll)
    /// A held message was let through, and became this one, which history has; nil: it was denied.
    case decided(messageID: String?)
    case imported(ImportResult)

    fileprivate var textBytes: Int {
        switch self {
        case .done: 0
        case .imported: 24
        case .room(let info): 200 + info.id.text.utf8.count + info.creator.text.utf8.count
        case .posted(let messageID, _, _, _, _): 120 + messageID.utf8.count
        case .member(let member): 200 + member.user.text.utf8.count
        case .element(let element), .taken(let element):
            200 + element.key.utf8.count + element.value.utf8.count + element.owner.text.utf8.count
        case .missing(let bits): 32 + bits.count
        case .amended(let messageID): 32 + messageID.utf8.count
        case .poll(let poll): 96 + poll.id.utf8.count + poll.counts.count * 8
        case .decided(let messageID): 32 + (messageID?.utf8.count ?? 0)
        case .tally(let tally): 64 + tally.key.utf8.count
        case .upload(let ticket): 64 + ticket.mediaID.utf8.count + ticket.contentType.utf8.count
        case .pinned(let pinned): pinned.reduce(32) { $0 + 32 + $1.messageID.utf8.count }
        }
    }
}
