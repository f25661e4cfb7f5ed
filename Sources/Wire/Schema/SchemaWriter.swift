import ChatModel

/// Writes the proto3 text of the messages that it is shown, from the walks that read and write them: the published
/// schema cannot differ from the code.
///
/// Singular fields have explicit presence (`optional`) where absent and zero differ: `required` ones, which must be
/// there, and those with another default than zero.
public struct SchemaWriter: FieldWalker {
    public static var isDecoding: Bool { false }
    public static var describesSchema: Bool { true }
    public var enforcesLimits: Bool { false }

    struct Field: Equatable {
        var number: Int
        var text: String
    }

    private var fields: [Field] = []
    private var choices: Set<Int> = []
    private var order: [String] = []
    private var definitions: [String: String] = [:]

    public init() {}

    /// Adds a message and all that it contains.
    public mutating func message<M: WireMessage>(_ type: M.Type) {
        let name = M.schemaName
        guard definitions[name] == nil else { return }
        definitions[name] = ""
        order.append(name)
        let outer = (fields, choices)
        (fields, choices) = ([], [])
        var blank = M.blank
        do throws(ChatError) {
            try blank.walk(&self)
        } catch { preconditionFailure("\(name) cannot be described: \(error)") }
        let lines = fields.sorted { $0.number < $1.number }
        let plain = lines.filter { !choices.contains($0.number) }.map { "  \($0.text)\n" }.joined()
        let cases = lines.filter { choices.contains($0.number) }.map { "    \($0.text)\n" }.joined()
        definitions[name] =
            "message \(name) {\n\(plain)\(cases.isEmpty ? "" : "  oneof choice {\n\(cases)  }\n")}\n"
        (fields, choices) = outer
    }

    /// Adds an enumeration; its values have its name before theirs.
    mutating func enumeration(_ name: String, _ values: [(String, Int)]) {
        guard definitions[name] == nil else { return }
        order.append(name)
        let prefix = Self.snakeCase(name).uppercased()
        let lines = values.sorted { $0.1 < $1.1 }.map { "  \(prefix)_\($0.0.uppercased()) = \($0.1);\n" }.joined()
        definitions[name] = "enum \(name) {\n  \(prefix)_UNSPECIFIED = 0;\n\(lines)}\n"
    }

    /// The proto3 file: everything shown so far, in the order in which it was met.
    public func file(package: String, comment: String) -> String {
        let head = comment.split(separator: "\n", omittingEmptySubsequences: false).map { "// \($0)\n" }.joined()
        return "\(head)syntax = \"proto3\";\n\npackage \(package);\n\n"
            + order.compactMap { definitions[$0] }.joined(separator: "\n")
    }

    /// `messageId` becomes `message_id`, whose JSON name is `messageId` again.
    static func snakeCase(_ name: String) -> String {
        var result = ""
        for character in name {
            if character.isUppercase, !result.isEmpty { result.append("_") }
            result.append(contentsOf: character.lowercased())
        }
        return result
    }

    private mutating func add(_ number: Int, _ name: String, _ type: String, label: String = "", note: String = "") {
        let text = "\(label)\(type) \(Self.snakeCase(name)) = \(number);\(note)"
        let field = Field(number: number, text: text)
        if let known = fields.first(where: { $0.number == number }) {
            precondition(known.text.hasPrefix(text) || text.hasPrefix(known.text), "two meanings of \(number): \(text)")
            return
        }
        fields.append(field)
    }

    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) {
        add(number, name.description, V.describe(in: &self), label: "optional ", note: "  // required")
    }

    public mutating func optional<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit
    ) throws(ChatError) { add(number, name.description, V.describe(in: &self), label: "optional ") }

    public mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) {
        let type = V.describe(in: &self)
        guard !fallback.isZero else { return add(number, name.description, type) }
        add(number, name.description, type, label: "optional ", note: "  // default \(Self.text(of: fallback))")
    }

    public mutating func shown<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) { add(number, name.description, V.describe(in: &self)) }

    @discardableResult
    public mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        add(number, name.description, V.describe(in: &self), label: "repeated ")
        return false
    }

    public mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) { add(number, name.description, "map<string, string>") }

    public mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError) {
        add(number, name.description, "map<string, int64>")
    }

    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        add(number, (protobufName ?? name).description, V.describe(in: &self))
        choices.insert(number)
        return false
    }

    private static func text<V: WireValue>(of value: V) -> String {
        var value = value
        let bytes = try? JSONWriter.written { writer throws(ChatError) in try value.writeJSON(to: &writer) }
        return String(decoding: bytes ?? [], as: UTF8.self)
    }
}
