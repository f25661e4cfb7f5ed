import ChatModel
import Wire

/// A message with variants that have different fields.
protocol VariedMessage: WireMessage {
    /// Values of enough variants that a field which all of them have is always there.
    static var variants: [Self] { get }
}

extension VariedMessage {
    fileprivate static func fieldsOfAll() -> Set<String> {
        variants.reduce(into: nil as Set<String>?) { common, variant in
            let fields = SchemaBook.fields(of: variant, mode: OneVariant.self).properties.filter(\.required)
            let names = Set(fields.map(\.name))
            common = common?.intersection(names) ?? names
        } ?? []
    }
}

/// The component schemas of the OpenAPI document: of each message that a route takes or gives, and of those inside.
struct SchemaBook: Sendable {
    private(set) var components: [(name: String, schema: Schema)] = []

    mutating func add(_ type: any WireMessage.Type) { add(of: type) }

    private mutating func add<Body: WireMessage>(of type: Body.Type) {
        guard !components.contains(where: { $0.name == Body.schemaName }) else { return }
        let walker = Self.fields(of: Body.blank, mode: AllFields.self)
        var properties = walker.properties
        if let varied = type as? any VariedMessage.Type {
            let always = varied.fieldsOfAll()
            for index in properties.indices { properties[index].required = always.contains(properties[index].name) }
        }
        for index in properties.indices {
            properties[index].meaning = Self.meanings["\(Body.schemaName).\(properties[index].name)"]
        }
        components.append((Body.schemaName, .object(properties)))
        for message in walker.nested { add(message) }
    }

    fileprivate static func fields<Body: WireMessage, Mode>(of message: Body, mode: Mode.Type) -> SchemaWalker<Mode> {
        var message = message
        var walker = SchemaWalker<Mode>()
        do {
            try message.walk(&walker)
        } catch {
            preconditionFailure("\(Body.schemaName) cannot be described: \(error)")
        }
        return walker
    }

    /// What names alone do not say.
    private static let meanings = [
        "CreateRoom.id": "Generated when absent.",
        "Room.online": "Everybody here, anonymous members and robots included.",
        "Room.leader": "The node that leads the room's shard.",
        "Rooms.next": "`after` of the next page; absent on the last.",
        "Members.next": "`after` of the next page; absent on the last.",
        "Messages.more": "False on the last page, also on a full one.",
        "Message.seq": "Of a kept message.",
        "Message.after": "Of an unkept message: the seq that it follows.",
        "Message.from": "Absent: the system.",
        "Message.recalled": "A recalled message has no body.",
        "Sent.seq": "Of a kept message.",
        "Sent.after": "Of an unkept message: the seq that it follows.",
        "Sent.priority": "If it was lowered.",
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
