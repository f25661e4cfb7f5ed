import ChatModel
import Wire

/// One field of an operation, as the schema's walk names it.
struct FieldSpec {
    enum Presence {
        case required, optional, list(itemsMax: Int), map(itemsMax: Int, keyBytes: Int, valueBytes: Int)
    }

    var name: String
    var number: Int
    var presence: Presence
    /// Its type in `chatroom.proto`.
    var type: String
    /// An ID with an alphabet of its own.
    var isName: Bool
    /// Numbers of an enumeration are in `chatroom.proto`; any other is unknown.
    var isEnum: Bool
    var limit: FieldLimit
    /// Of a message.
    var fields: [FieldSpec]
}

/// Lists the fields that a message may have, by the walk that reads and writes it.
struct FieldList: FieldWalker {
    static var isDecoding: Bool { false }
    static var describesSchema: Bool { true }
    var enforcesLimits: Bool { false }

    private(set) var fields: [FieldSpec] = []
    /// The cases of a choice: operations.
    private(set) var choices: [FieldSpec] = []

    /// The fields of all operations, by the operation's name.
    static func ofOperations() throws -> [String: FieldSpec] {
        var list = FieldList()
        var request = ClientRequest(id: 1, operation: .ping)
        try request.walk(&list)
        return Dictionary(list.choices.map { ($0.name, $0) }) { first, _ in first }
    }

    private static func fields<M: WireMessage>(of type: M.Type) throws(ChatError) -> [FieldSpec] {
        var list = FieldList()
        var blank = M.blank
        try blank.walk(&list)
        return list.fields
    }

    private static func spec<V: WireValue>(
        _ number: Int, _ name: StaticString, _ type: V.Type, _ presence: FieldSpec.Presence, _ limit: FieldLimit
    ) throws(ChatError) -> FieldSpec {
        var schema = SchemaWriter()
        let message = type as? any WireMessage.Type
        var inner: [FieldSpec] = []
        if let message { inner = try fields(of: message) }
        return FieldSpec(
            name: name.description, number: number, presence: presence,
            type: message == nil ? type.describe(in: &schema) : "message", isName: type is any WireName.Type,
            isEnum: type is any WireEnum.Type, limit: limit, fields: inner)
    }

    private mutating func add<V: WireValue>(
        _ number: Int, _ name: StaticString, _ type: V.Type, _ presence: FieldSpec.Presence, _ limit: FieldLimit
    ) throws(ChatError) {
        // Bodies of several types share a field.
        guard !fields.contains(where: { $0.number == number }) else { return }
        fields.append(try Self.spec(number, name, type, presence, limit))
    }

    mutating func required<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit)
        throws(ChatError)
    { try add(number, name, V.self, .required, limit) }

    mutating func optional<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit)
        throws(ChatError)
    { try add(number, name, V.self, .optional, limit) }

    mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) { try add(number, name, V.self, .optional, limit) }

    mutating func shown<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit)
        throws(ChatError)
    { try add(number, name, V.self, .optional, limit) }

    mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        try add(number, name, V.self, .list(itemsMax: itemsMax), limit)
        return false
    }

    mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) {
        try add(
            number, name, String.self, .map(itemsMax: itemsMax, keyBytes: keyBytes, valueBytes: valueBytes), .none)
    }

    /// Only in pushes, which no client sends.
    mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError) {}

    mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?, _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        choices.append(try Self.spec(number, name, V.self, .optional, .none))
        return false
    }
}
