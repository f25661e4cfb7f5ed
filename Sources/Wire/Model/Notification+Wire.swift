import ChatModel

extension Notification {
    static let eventNumber = 40

    /// Visits the fields of a notification, which stand beside the message's own.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var code = OpenEvent(self)
        try walker.required(Self.eventNumber, "event", &code)
        if W.isDecoding { event = code.known ?? .unknown }
        try walker.optional(41, "operator", &`operator`)
        try walker.list(42, "targets", &targets)
        try walker.optional(43, "notifyExt", &notifyExt)
        guard code.known != nil || !W.isDecoding else {
            data = .unknown(event: code.number)
            return
        }
        var fields = W.isDecoding ? NotificationFields() : NotificationFields(data)
        try walker.shown(44, "data", &fields)
        if W.isDecoding { data = try fields.data(of: event) }
    }
}

/// The `data` of all notifications: which fields are there depends on the event (PROTOCOL.md, "Codes").
struct NotificationFields: WireMessage {
    var avatar: String?
    var ext: String?
    var role: Role?
    var online: Int64?
    var set: ChangedFields?
    var seconds: Int64?
    var change: QueueChange?
    var key: String?
    var value: String?
    var owner: UserID?
    var transient: Bool?
    var version: Int64?
    var held: Bool?
    var locked: Bool?
    var elements: [QueueElement]?
    var messageIDs: [String]?
    var entered: Int64?
    var exited: Int64?
    var members: [DigestMember]?
    var pinned: [PinnedMessage]?
    var messageID: String?
    var seq: UInt64?
    var editedAt: Timestamp?
    var poll: String?
    var title: String?
    var options: [String]?
    var counts: [Int64]?
    var closesAt: Timestamp?
    var mayChange: Bool?

    static var blank: NotificationFields { NotificationFields() }
    static var schemaName: String { "NotificationData" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "avatar", &avatar)
        try walker.optional(2, "ext", &ext)
        try walker.optional(3, "role", &role)
        try walker.optional(4, "online", &online)
        try walker.optional(5, "set", &set)
        try walker.optional(6, "seconds", &seconds)
        try walker.optional(7, "change", &change)
        try walker.optional(8, "key", &key)
        try walker.optional(9, "value", &value)
        try walker.optional(10, "owner", &owner)
        try walker.optional(11, "transient", &transient)
        try walker.optional(12, "version", &version)
        try walker.optional(13, "held", &held)
        try walker.repeatedIfAny(14, "elements", &elements)
        try walker.repeatedIfAny(15, "messageIds", &messageIDs)
        try walker.optional(16, "entered", &entered)
        try walker.optional(17, "exited", &exited)
        try walker.repeatedIfAny(18, "members", &members)
        try walker.optional(19, "locked", &locked)
        try walker.repeatedIfAny(20, "pinned", &pinned)
        try walker.optional(21, "messageId", &messageID)
        try walker.optional(22, "seq", &seq)
        try walker.optional(23, "poll", &poll)
        try walker.optional(24, "title", &title)
        try walker.repeatedIfAny(25, "options", &options)
        try walker.repeatedIfAny(26, "counts", &counts)
        try walker.optional(27, "closesAt", &closesAt)
        try walker.optional(28, "mayChange", &mayChange)
        try walker.optional(29, "editedAt", &editedAt)
    }
}

extension NotificationFields {
    init(_ data: NotificationData) {
        switch data {
        case .none, .unknown: break
        case .entered(let avatar, let ext, let role, let online):
            (self.avatar, self.ext, self.role, self.online) = (avatar, ext, role, online)
        case .exited(let online): self.online = online
        case .room(let changes): set = ChangedFields(room: changes)
        case .member(let changes): set = ChangedFields(profile: changes)
        case .seconds(let seconds): self.seconds = seconds
        case .queue(let change, let element):
            self.change = change
            guard let element else { return }
            (key, value, owner) = (element.key, element.value, element.owner)
            (transient, version, held) = (element.transient, element.version, element.held ? true : nil)
            locked = element.locked ? true : nil
        case .queueBatch(let change, let elements): (self.change, self.elements) = (change, elements)
        case .recalled(let messageIDs): self.messageIDs = messageIDs
        case .amended(let messageID, let seq, let changes, let editedAt):
            (self.messageID, self.seq, self.editedAt) = (messageID, seq, editedAt)
            set = ChangedFields(message: changes)
        case .pinned(let pinned): self.pinned = pinned
        case .poll(let it):
            (poll, title, options, counts) = (it.id, it.title, it.options, it.counts)
            (closesAt, mayChange) = (it.closesAt, it.mayChange)
        case .digest(let entered, let exited, let online, let members):
            (self.entered, self.exited, self.online, self.members) = (entered, exited, online, members)
        }
    }

    /// The meaning of the fields for `event`. Absent counts are 0 and absent lists empty, as protobuf leaves them out.
    func data(of event: EventCode) throws(ChatError) -> NotificationData {
        switch event {
        case .enter:
            return .entered(avatar: avatar ?? "", ext: ext ?? "", role: role ?? .guest, online: online ?? 0)
        case .exit: return .exited(online: online ?? 0)
        case .roomInfoUpdated: return .room(set: set?.room ?? RoomChanges())
        case .memberUpdatedInfo: return .member(set: set?.profile ?? ProfileChanges())
        case .temporarilyMuted: return .seconds(seconds ?? 0)
        case .queueChanged:
            guard let change else { throw .missing("change") }
            guard let key, let owner else { return .queue(change: change, element: nil) }
            var element = QueueElement(key: key, value: value ?? "", owner: owner)
            (element.transient, element.version, element.held) = (transient ?? false, version ?? 0, held ?? false)
            element.locked = locked ?? false
            return .queue(change: change, element: element)
        case .queueBatchChanged:
            guard let change else { throw .missing("change") }
            return .queueBatch(change: change, elements: elements ?? [])
        case .recalled: return .recalled(messageIDs: messageIDs ?? [])
        case .amended:
            guard let messageID, let seq, let editedAt else { throw .missing("messageId") }
            return .amended(
                messageID: messageID, seq: seq, set: set?.message ?? MessageChanges(), editedAt: editedAt)
        case .pinsChanged: return .pinned(pinned ?? [])
        case .pollOpened, .pollClosed:
            return .poll(
                Poll(
                    id: poll ?? "", title: title ?? "", options: options ?? [], counts: counts ?? [],
                    closesAt: closesAt ?? Timestamp(0), mayChange: mayChange ?? false, closed: event == .pollClosed))
        case .digest:
            return .digest(entered: entered ?? 0, exited: exited ?? 0, online: online ?? 0, members: members ?? [])
        case .blacklisted, .unblacklisted, .muted, .unmuted, .managerSet, .managerRemoved, .madeFixedMember,
            .fixedMemberRemoved, .roomClosed, .kicked, .temporaryMuteLifted, .roomMuted, .roomUnmuted, .unknown:
            return .none
        }
    }
}

/// `set` of 312, 316 and 360: what was changed of the room, of the member or of the message.
struct ChangedFields: WireMessage {
    var room = RoomChanges()
    var profile = ProfileChanges()
    var message = MessageChanges()

    static var blank: ChangedFields { ChangedFields() }
    static var schemaName: String { "Changes" }

    /// `ext` belongs to all of them: it is read into all, and only one of them is used.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        if !W.isDecoding, let ext = profile.ext ?? message.ext { room.ext = ext }
        try room.walk(&walker)
        try walker.optional(20, "nick", &profile.nick)
        try walker.optional(21, "avatar", &profile.avatar)
        try walker.optional(40, "text", &message.text)
        try walker.optional(41, "content", &message.content)
        if W.isDecoding { (profile.ext, message.ext) = (room.ext, room.ext) }
    }
}
