/// Holds JSON against the few forms of JSON Schema that the document uses.
public struct SchemaChecker {
    let schemas: [String: JSON]

    /// - Parameter schemas: the component schemas of the document, by name.
    public init(schemas: [String: JSON]) { self.schemas = schemas }

    /// - Parameter isClosed: whether a property that the schema does not name is a fault.
    /// - Returns: a line for each difference.
    public func faults(of value: JSON, against schema: JSON, isClosed: Bool, at path: String = "$") -> [String] {
        if let reference = schema["$ref"]?.text {
            guard let name = reference.split(separator: "/").last, let target = schemas[String(name)] else {
                return ["\(path): \(reference) leads nowhere"]
            }
            return faults(of: value, against: target, isClosed: isClosed, at: path)
        }
        if let choices = schema["anyOf"]?.array {
            let all = choices.map { faults(of: value, against: $0, isClosed: isClosed, at: path) }
            return all.contains([]) ? [] : all.flatMap { $0 }
        }
        switch (schema["type"]?.text, value) {
        case ("object", .object(let members)):
            return faults(of: members, against: schema, isClosed: isClosed, at: path)
        case ("array", .array(let items)):
            let most = schema["maxItems"]?.integer ?? .max
            let tooMany = items.count > most ? ["\(path): too many items"] : []
            return items.enumerated().reduce(tooMany) {
                $0
                    + faults(
                        of: $1.element, against: schema["items"] ?? .null, isClosed: isClosed,
                        at: "\(path)[\($1.offset)]")
            }
        case ("string", .text(let text)):
            let names = schema["enum"]?.array
            guard names.map({ $0.contains(.text(text)) }) ?? true else { return ["\(path): \(text) is not listed"] }
            return text.count > schema["maxLength"]?.integer ?? .max ? ["\(path): too long"] : []
        case ("integer", .integer(let number)):
            let range = (schema["minimum"]?.integer ?? .min)...(schema["maximum"]?.integer ?? .max)
            return range.contains(number) ? [] : ["\(path): \(number) is out of bounds"]
        case ("number", .integer), ("number", .number), ("boolean", .boolean): return []
        default: return ["\(path): not \(schema["type"]?.text ?? "described")"]
        }
    }

    private func faults(of members: [String: JSON], against schema: JSON, isClosed: Bool, at path: String) -> [String] {
        let properties = schema["properties"]?.object ?? [:]
        var faults = (schema["required"]?.array ?? []).compactMap(\.text).filter { members[$0] == nil }
            .map { "\(path).\($0) is missing" }
        for (name, value) in members {
            if let property = properties[name] {
                faults += self.faults(of: value, against: property, isClosed: isClosed, at: "\(path).\(name)")
            } else if let any = schema["additionalProperties"] {
                faults += self.faults(of: value, against: any, isClosed: isClosed, at: "\(path).\(name)")
            } else if isClosed {
                faults.append("\(path).\(name) is not described")
            }
        }
        return faults
    }
}
