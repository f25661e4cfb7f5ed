/// A JSON Schema (draft 2020-12, as OpenAPI 3.1 uses it), in the few forms that this API needs.
indirect enum Schema: Sendable, Hashable {
    case object([Property])
    case array(of: Schema, atMost: Int?)
    /// An object with any keys.
    case map(of: Schema, atMost: Int)
    /// Text of at most so many UTF-8 bytes; JSON Schema counts characters, so the bound is said in words too.
    case text(bytes: Int?)
    /// Base64 of at most so many bytes.
    case base64(bytes: Int?)
    /// A user, room or node ID (PROTOCOL.md, "Names and limits").
    case identifier
    case integer(from: Int64?, to: Int64?)
    case number(from: Double?, to: Double?)
    case boolean
    case oneOf([String])
    /// A component schema by its name.
    case component(String)
    case either(Schema, Schema)

    struct Property: Sendable, Hashable {
        var name: String
        var schema: Schema
        var required: Bool
        var meaning: String?
    }

    static func oneOf<Choice: RawRepresentable<String> & CaseIterable>(_ type: Choice.Type) -> Schema {
        .oneOf(Choice.allCases.map(\.rawValue))
    }

    static let identifierPattern = "^(?!\\.{1,2}$)[A-Za-z0-9_.@:#|+~!$-]{1,64}$"

    var json: DocumentValue { .object(members()) }

    func members(meaning: String? = nil) -> [DocumentValue.Member] {
        let words = [meaning, bound].compactMap { $0 }.joined(separator: " ")
        let description = words.isEmpty ? [] : [DocumentValue.Member(name: "description", value: .text(words))]
        return form.map { DocumentValue.Member(name: $0.key, value: $0.value) } + description
    }

    /// The bounds that JSON Schema cannot say.
    private var bound: String? {
        switch self {
        case .text(let bytes?): "At most \(bytes) bytes of UTF-8."
        case .base64(let bytes?): "At most \(bytes) bytes before base64."
        default: nil
        }
    }

    private var form: [(key: String, value: DocumentValue)] {
        switch self {
        case .object(let properties): Self.object(properties)
        case .array(let item, let atMost):
            [("type", .text("array")), ("items", item.json)] + Self.bound("maxItems", atMost.map(Int64.init))
        case .map(let value, let atMost):
            [
                ("type", .text("object")), ("additionalProperties", value.json),
                ("maxProperties", .number(Int64(atMost))),
            ]
        case .text(let bytes): [("type", .text("string"))] + Self.bound("maxLength", bytes.map(Int64.init))
        case .base64: [("type", .text("string")), ("contentEncoding", .text("base64"))]
        case .identifier: [("type", .text("string")), ("pattern", .text(Self.identifierPattern))]
        case .integer(let low, let high):
            [("type", .text("integer"))] + Self.bound("minimum", low)
                + Self.bound("maximum", high == .max ? nil : high)
        case .number(let low, let high):
            [("type", .text("number"))] + Self.bound("minimum", low.flatMap { Int64(exactly: $0) })
                + Self.bound("maximum", high.flatMap { Int64(exactly: $0) })
        case .boolean: [("type", .text("boolean"))]
        case .oneOf(let names): [("type", .text("string")), ("enum", .array(names.map(DocumentValue.text)))]
        case .either(let one, let other): [("anyOf", .array([one.json, other.json]))]
        case .component(let name): [("$ref", .text("#/components/schemas/\(name)"))]
        }
    }

    private static func object(_ properties: [Property]) -> [(key: String, value: DocumentValue)] {
        let members = properties.map {
            DocumentValue.Member(name: $0.name, value: .object($0.schema.members(meaning: $0.meaning)))
        }
        let required = properties.filter(\.required).map { DocumentValue.text($0.name) }
        return [("type", .text("object")), ("properties", .object(members))]
            + (required.isEmpty ? [] : [("required", .array(required))])
    }

    private static func bound(_ name: String, _ number: Int64?) -> [(key: String, value: DocumentValue)] {
        number.map { [(name, .number($0))] } ?? []
    }
}
