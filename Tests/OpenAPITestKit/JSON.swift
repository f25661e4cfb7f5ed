/// JSON of an answer, for tests to look into.
public enum JSON: Sendable, Hashable, Decodable {
    case object([String: JSON])
    case array([JSON])
    case text(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
    case null

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    public subscript(name: String) -> JSON? { object?[name] }

    public var object: [String: JSON]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    public var array: [JSON]? {
        guard case .array(let items) = self else { return nil }
        return items
    }

    public var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    public var integer: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }
}
