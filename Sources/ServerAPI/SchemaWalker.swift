import ChatModel
import Wire

/// Whether a walk shows all variants of a message or only the one that it holds.
protocol SchemaWalkMode: Sendable {
    static var describesSchema: Bool { get }
}

/// Shows every field that a message can have.
enum AllFields: SchemaWalkMode {
    static let describesSchema = true
}

/// Shows the fields of the variant that a message holds.
enum OneVariant: SchemaWalkMode {
    static let describesSchema = false
}

/// Notes the JSON Schema of a message's fields from the walk that reads and writes them: the OpenAPI document cannot
/// differ from the code.
struct SchemaWalker<Mode: SchemaWalkMode>: FieldWalker {
    static var isDecoding: Bool { false }
    static var describesSchema: Bool { Mode.describesSchema }
    var enforcesLimits: Bool { false }

    /// An answer has every field that is shown; a request may leave it out.
    let isRequest: Bool
    private(set) var properties: [Schema.Property] = []
    /// The messages that fields are made of.
    private(set) var nested: [any WireMessage.Type] = []

    init(isRequest: Bool) { self.isRequest = isRequest }

    private mutating func add(_ name: StaticString, _ schema: Schema, required: Bool) {
        let property = Schema.Property(name: name.description, schema: schema, required: required)
        guard !properties.contains(where: { $0.name == property.name }) else { return }
        properties.append(property)
    }

    private mutating func schema<V: WireValue>(of type: V.Type, _ limit: FieldLimit) -> Schema {
        if let message = type as? any WireMessage.Type {
            nested.append(message)
            let component = Schema.component(message.schemaName)
            return SchemaBook.alsoAsID.contains(message.schemaName) ? .either(.identifier, component) : component
        }
        if let names = type as? any WireEnum.Type { return .oneOf(names.names) }
        if let names = type as? any WireOpenEnum.Type { return .oneOf(names.knownNames) }
        if type is any WireName.Type { return .identifier }
        // A thumbnail is a text in answers, and in requests also the ID of content.
        if type == String.self || type == Thumbnail.self { return .text(bytes: limit.bytesMax) }
        if type == [UInt8].self { return .base64(bytes: limit.bytesMax) }
        if type == Bool.self { return .boolean }
        if type == Double.self {
            return limit.numbers.map { .number(from: $0.0, to: $0.1) } ?? .number(from: nil, to: nil)
        }
        // Counts, times and codes.
        return limit.integers.map { .integer(from: $0.0, to: $0.1) } ?? .integer(from: nil, to: nil)
    }

    mutating func required<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit)
        throws(ChatError)
    { add(name, schema(of: V.self, limit), required: true) }

    mutating func optional<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit)
        throws(ChatError)
    { add(name, schema(of: V.self, limit), required: false) }

    mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) { add(name, schema(of: V.self, limit), required: false) }

    mutating func shown<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit)
        throws(ChatError)
    { add(name, schema(of: V.self, limit), required: !isRequest) }

    @discardableResult
    mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        let item = schema(of: V.self, limit)
        add(name, .array(of: item, atMost: itemsMax == .max ? nil : itemsMax), required: always && !isRequest)
        return always || !values.isEmpty
    }

    mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) { add(name, .map(of: .text(bytes: valueBytes), atMost: itemsMax), required: true) }

    mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError) {
        add(name, .map(of: .integer(from: nil, to: nil), atMost: Limits.tallies + 1), required: true)
    }

    @discardableResult
    mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: @autoclosure () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        add(name, schema(of: V.self, .none), required: false)
        return current() != nil
    }
}

extension WireEnum {
    fileprivate static var names: [String] { allCases.map(\.rawValue) }
}

extension FieldLimit {
    fileprivate var bytesMax: Int? {
        switch self {
        case .bytes(let max), .nonEmptyBytes(let max): max
        case .none, .integers, .numbers: nil
        }
    }

    fileprivate var integers: (Int64, Int64)? {
        guard case .integers(let low, let high) = self else { return nil }
        return (low, high)
    }

    fileprivate var numbers: (Double, Double)? {
        guard case .numbers(let low, let high) = self else { return nil }
        return (low, high)
    }
}
