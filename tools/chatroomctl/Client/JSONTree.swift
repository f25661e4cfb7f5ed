import FoundationEssentials

/// Any JSON value. The server's answer is shown as it is, so that new fields need no new release of this tool.
package enum JSONTree: Sendable, Hashable, Codable {
    case object([String: JSONTree])
    case array([JSONTree])
    case text(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
    case null

    package init(parsing data: Data) throws(CommandFailure) {
        do {
            self = try JSONDecoder().decode(JSONTree.self, from: data)
        } catch {
            throw CommandFailure(.unreachable, "the server's answer is not JSON; is this the server API's port?")
        }
    }

    package init(from decoder: any Decoder) throws {
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
        } else if let value = try? container.decode([JSONTree].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .null: try container.encodeNil()
        }
    }

    /// One line of JSON, its members sorted by name.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }

    /// A member of an object; nil for anything else.
    package subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    package var items: [JSONTree] {
        guard case .array(let items) = self else { return [] }
        return items
    }

    package var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    package var integer: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    package var boolean: Bool? {
        guard case .boolean(let flag) = self else { return nil }
        return flag
    }

    /// The value as a table shows it.
    package var shown: String {
        switch self {
        case .text(let text): text
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .boolean(let flag): flag ? "yes" : "no"
        case .null: ""
        case .object, .array: line
        }
    }
}
