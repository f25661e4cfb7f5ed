import ChatModel
import Wire

/// A message with variants that have different fields.
protocol VariedMessage: WireMessage {
    /// Values of enough variants that a field which all of them have is always there.
    static var variants: [Self] { get }
}

extension VariedMessage {
    fileprivate static var erasedVariants: [any WireMessage] { variants }
}

extension [Schema.Property] {
    /// The properties of a message that a caller may send: NOTIFICATION and its fields are the room's own.
    fileprivate var withoutNotification: [Schema.Property] {
        guard contains(where: { $0.name == "event" }) else { return self }
        let refused: Set = ["event", "operator", "targets", "notifyExt", "data"]
        return filter { !refused.contains($0.name) }.map { property in
            guard case .oneOf(let names) = property.schema else { return property }
            var property = property
            property.schema = .oneOf(names.filter { $0 != MessageType.notification.rawValue })
            return property
        }
    }
}

/// The component schemas of the OpenAPI document: of each message that a route takes or gives, and of those inside.
struct SchemaBook: Sendable {
    private(set) var components: [(name: String, schema: Schema)] = []

    /// Messages that may also be given as a user's ID alone.
    static let alsoAsID: Set = ["ServerSender", "Operator", "Robot"]

    /// Lists without which a call is refused. Others may be absent, which is the same as empty.
    private static let mustNotBeEmpty: Set = ["PollBody.options", "RobotsBody.robots", "ImportBody.messages"]
    /// Fields that callers may leave out, although answers always have them.
    private static let mayBeAbsent: Set = [
        "WebhookSettings.events", "ModerationSettings.words",
        // Only TEXT has it.
        "ImportedMessage.text",
    ]

    /// - Parameter isRequest: whether the message comes from a caller, who may leave out more than an answer does.
    mutating func add(_ type: any WireMessage.Type, isRequest: Bool) { add(of: type, isRequest) }

    private mutating func add<Body: WireMessage>(of type: Body.Type, _ isRequest: Bool) {
        guard !components.contains(where: { $0.name == Body.schemaName }) else { return }
        let walker = Self.fields(of: Body.blank, isRequest, mode: AllFields.self)
        var properties = walker.properties
        if isRequest { properties = properties.withoutNotification }
        let always = Self.fieldsOfAllVariants(of: type, isRequest)
        for index in properties.indices {
            let name = "\(Body.schemaName).\(properties[index].name)"
            properties[index].required =
                Self.mustNotBeEmpty.contains(name)
                || always.contains(properties[index].name) && !Self.mayBeAbsent.contains(name)
            properties[index].meaning = Self.meanings[name]
        }
        components.append((Body.schemaName, .object(properties)))
        for message in walker.nested { add(message, isRequest: isRequest) }
    }

    /// Walks that show all fields call those required that one variant must have; of these, what all variants share.
    private static func fieldsOfAllVariants<Body: WireMessage>(of type: Body.Type, _ isRequest: Bool) -> Set<String> {
        let variants = (type as? any VariedMessage.Type).map { $0.erasedVariants } ?? [Body.blank]
        var common: Set<String>?
        for variant in variants {
            let fields = fields(of: variant, isRequest, mode: OneVariant.self).properties.filter(\.required).map(\.name)
            common = common?.intersection(fields) ?? Set(fields)
        }
        return common ?? []
    }

    private static func fields<Body: WireMessage, Mode>(
        of message: Body, _ isRequest: Bool, mode: Mode.Type
    ) -> SchemaWalker<Mode> {
        var message = message
        var walker = SchemaWalker<Mode>(isRequest: isRequest)
        do {
            try message.walk(&walker)
        } catch {
            preconditionFailure("\(Body.schemaName) cannot be described: \(error)")
        }
        return walker
    }

    /// Meanings that names alone do not say.
    private static let meanings = [
        "CreateRoomRequest.id": "Generated when absent.",
        "ServerSendRequest.sender": "Absent: the system. Need not be in the room.",
        "ServerSendRequest.clientId": "As Idempotency-Key, which goes before it; each sender has IDs of its own.",
        "ServerBarrageRequest.sender": "Absent: the system.",
        "QueueSetBody.owner": "Absent: the operator, else who had it.",
        "QueueSetBody.keepOwner": "What is overwritten stays its owner's.",
        "QueueSetBody.locked": "Only managers of the room change it. Absent: as it is.",
        "Room.highPerSecond": "HIGH messages a second; further ones count as NORMAL.",
        "Room.seatsPerUser": "Transient elements of the queue that a user may own; 0: any number.",
        "Room.historyDays": "For how many days its messages are visible; absent: the setting of the nodes.",
        "Tally.by": "Those who add to it; ANYONE when absent.",
        "TallySettings.total": "Absent: as it is, and 0 at first.",
        "TallySettings.closed": "A closed tally takes nothing more.",
        "TallySettings.by": "ANYONE: whoever may speak, and the server API. SERVER: only add.",
        "TallyAddBody.delta": "Less than 0 takes away.",
        "Member.banEndsAt": "Until when a kick keeps the user out; in the listing BANNED only.",
        "Room.online": "Everybody here, anonymous members and robots included.",
        "Room.leader": "The node that leads the room's shard.",
        "RoomsView.next": "`after` of the next page; absent on the last.",
        "MembersResult.next": "`after` of the next page; absent on the last.",
        "MessagesResult.more": "False on the last page, also on a full one.",
        "Message.seq": "Of a kept message.",
        "Message.after": "Of an unkept message: the seq that it follows.",
        "Message.from": "Absent: the system.",
        "Message.replyTo": "Of a reply: the message that it answers.",
        "Message.editedAt": "When it was amended last.",
        "AmendBody.operator": "Shown with the 360; absent: the system.",
        "MessageChanges.text": "Of TEXT and TIP.",
        "MessageChanges.content": "Of CUSTOM.",
        "Sanction.seconds": "0 lifts; absent: for good.",
        "UserSanction.endsAt": "Absent: for good.",
        "User.sessions": "Absent in a listing.",
        "Users.next": "`after` of the next page; absent on the last.",
        "ReplyReference.user": "Absent: the system.",
        "ReplyReference.excerpt": "At most 256 bytes; absent where that message is recalled.",
        "ServerSendRequest.replyTo": "The messageId of the kept message of the room that it answers.",
        "Room.pinned": "At most 10, the latest last.",
        "Report.id": "Also `after` of what comes behind it.",
        "Report.seq": "The message's.",
        "Report.from": "The message's sender; absent: the system.",
        "Report.excerpt": "What the message said, at most 256 bytes; absent when it is recalled or has expired.",
        "ReportsResult.next": "`after` of the next page; absent on the last.",
        "Message.recalled": "A recalled message has no body.",
        "SendResult.seq": "Of a kept message.",
        "SendResult.after": "Of an unkept message: the seq that it follows.",
        "SendResult.priority": "If it was lowered.",
        "SendResult.heldId": "The message waits for a manager; nothing else is there then.",
        "HeldResult.messages": "Of a page.",
        "HeldResult.message": "Of a decision: the message that it became, or as it was held.",
        "HeldResult.next": "`after` of the next page; absent on the last.",
        "DenyBody.reason": "For the sender.",
        "ModerationSettings.holdSeconds": "For how long a held message waits for a manager.",
        "ModerationSettings.onExpiry": "What becomes of it then.",
        "Error.message": "A sentence for people.",
        "Error.field": "The field that was wrong.",
        "TokenRequest.rooms": "The only rooms that the token enters.",
        "Address.gateways": "WebSocket URLs, best first.",
        "Address.ttlSeconds": "How long the answer may be kept.",
    ]
}

extension Message: VariedMessage {
    static var variants: [Message] {
        var recalled = Message.blank
        recalled.body = .recalled(.text)
        return [.blank, recalled]
    }
}

extension MessageDraft: VariedMessage {
    static var variants: [MessageDraft] {
        [.blank, MessageDraft(body: .location(latitude: 0, longitude: 0, title: ""))]
    }
}

extension ServerSendRequest: VariedMessage {
    static var variants: [ServerSendRequest] {
        MessageDraft.variants.map { draft in
            var request = ServerSendRequest.blank
            request.draft = draft
            return request
        }
    }
}
