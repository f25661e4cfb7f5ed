import Foundation
import OpenAPITestKit
import Testing

extension IntegrationTests {
    /// Every parameter and field that the OpenAPI document names for rooms, users and sessions, with values that it forbids and values at
    /// its bounds, against the real service. The document says what the answer may be.
    @Suite struct FieldFuzzTests {
        /// What is sent for a field, and what must come back.
        private struct Probe {
            enum Outcome {
                /// 414 or 413 that names the field.
                case refused
                /// 400.
                case malformed
                /// Anything that the document has for this call.
                case documented
            }

            var value: String?
            var outcome: Outcome
        }

        private struct Field {
            var name: String
            var value: String
        }

        private struct Operation {
            var name: String
            var method: String
            var path: String
            var description: JSON

            var body: JSON? { description["requestBody"]?["content"]?["application/json"]?["schema"] }
            var parameters: [JSON] { description["parameters"]?.array ?? [] }
        }

        /// Not what ends the node or sends the app's server where nothing listens.
        private static let prefixes = ["/v1/rooms", "/v1/users", "/v1/broadcast", "/v1/sessions", "/v1/audit"]

        @Test func `every field of every call is checked, answered as documented, and harms no room`() async throws {
            try await TestNode.run { node in
                let document = try await document(node)
                let schemas = document["components"]?["schemas"]?.object ?? [:]
                let operations = operations(of: document).filter { operation in
                    Self.prefixes.contains { operation.path.hasPrefix($0) }
                }
                #expect(operations.count > 30)
                for (number, operation) in operations.enumerated() {
                    let room = "fuzz-\(number)"
                    try await node.createRoom(room, creator: "ann")
                    let fuzz = Fuzz(node: node, schemas: schemas, operation: operation, room: room)
                    try await fuzz.wholeBodies()
                    try await fuzz.fields()
                    try await fuzz.query()
                    try await fuzz.path()
                    #expect(try await node.api("GET", "/v1/rooms/\(room)").status == 200, "\(operation.name)")
                }
            }
        }

        private func document(_ node: TestNode) async throws -> JSON {
            let answer = try await node.api("GET", "/v1/openapi.json")
            return try JSONDecoder().decode(JSON.self, from: Data(answer.body.utf8))
        }

        private func operations(of document: JSON) -> [Operation] {
            var found: [Operation] = []
            for (path, item) in document["paths"]?.object ?? [:] {
                for (method, description) in item.object ?? [:] {
                    let name = description["operationId"]?.text ?? ""
                    found.append(
                        Operation(name: name, method: method.uppercased(), path: path, description: description))
                }
            }
            return found.sorted { $0.name < $1.name }
        }

        /// All probes of one call.
        private struct Fuzz {
            let node: TestNode
            let schemas: [String: JSON]
            let operation: Operation
            let room: String

            // MARK: - What is sent

            func wholeBodies() async throws {
                guard operation.body != nil else { return }
                let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
                let good = fields(except: nil)
                for body in ["[]", "null", "{", "\"x\"", "{}x", #"{"x":1,"x":1}"#, #"{"x":\#(deep)}"#, "\u{feff}{}"] {
                    try await check(body: body, Probe(value: body, outcome: .malformed), of: "")
                }
                try await check(
                    body: object(good + [Field(name: "unheard", value: #"{"of":[1]}"#)]),
                    Probe(value: "", outcome: .documented), of: "")
            }

            func fields() async throws {
                guard let schema = operation.body.map(resolved) else { return }
                let required = Set((schema["required"]?.array ?? []).compactMap(\.text))
                for (name, property) in (schema["properties"]?.object ?? [:]).sorted(by: { $0.key < $1.key }) {
                    var probes = probes(of: resolved(property))
                    probes.append(Probe(value: nil, outcome: required.contains(name) ? .refused : .documented))
                    probes.append(Probe(value: "null", outcome: required.contains(name) ? .refused : .documented))
                    for probe in probes {
                        var fields = fields(except: name)
                        if let value = probe.value { fields.append(Field(name: name, value: value)) }
                        try await check(body: object(fields), probe, of: name)
                    }
                }
            }

            func query() async throws {
                for parameter in operation.parameters where parameter["in"]?.text == "query" {
                    guard let name = parameter["name"]?.text, let schema = parameter["schema"] else { continue }
                    var values = ["%ff": Probe.Outcome.refused, "%00": .documented, "%E2%80%AE": .documented]
                    if schema["type"]?.text == "integer" || schema["enum"] != nil {
                        for bad in ["x", "1.5", "99999999999999999999", "%00"] { values[bad] = .refused }
                    }
                    if let low = schema["minimum"]?.integer { values[String(low)] = .documented }
                    if let low = schema["minimum"]?.integer { values[String(low - 1)] = .refused }
                    if let high = schema["maximum"]?.integer { values[String(high + 1)] = .refused }
                    let target = target() + "?" + others(besides: name)
                    for (value, outcome) in values {
                        try await check(
                            target: target + "\(name)=\(value)", Probe(value: value, outcome: outcome), of: name)
                    }
                    try await check(
                        target: target + "\(name)=1&\(name)=1", Probe(value: "twice", outcome: .refused), of: name)
                }
            }

            /// The parameters of the query that have to be there, too.
            private func others(besides name: String) -> String {
                operation.parameters.filter { $0["in"]?.text == "query" && $0["required"] == .boolean(true) }
                    .compactMap { parameter in
                        guard let other = parameter["name"]?.text, other != name else { return nil }
                        return "\(other)=\(parameter["schema"]?["enum"]?.array?.first?.text ?? "x")&"
                    }
                    .joined()
            }

            func path() async throws {
                for name in ["room", "user"] where operation.path.contains("{\(name)}") {
                    for bad in ["%00", "a%20b", "%E2%80%AE", String(repeating: "x", count: 65), "%ff", "%2e%2e"] {
                        let target = target(operation.path.replacing("{\(name)}", with: bad))
                        try await check(target: target, Probe(value: bad, outcome: .refused), of: name)
                    }
                }
            }

            private func target() -> String { target(operation.path) }

            private func target(_ path: String) -> String {
                path.replacing("{room}", with: room).replacing("{user}", with: "bob").replacing("{key}", with: "k")
                    .replacing("{messageId}", with: "m").replacing("{session}", with: "nobody").replacing(
                        "{poll}", with: "p")
            }

            private func probes(of schema: JSON) -> [Probe] {
                func refused(_ values: String...) -> [Probe] { values.map { Probe(value: $0, outcome: .refused) } }
                func fine(_ values: String...) -> [Probe] { values.map { Probe(value: $0, outcome: .documented) } }
                if let choices = schema["anyOf"]?.array {
                    return refused("1", "true", "[]") + fine(sample(schema))
                        + probes(of: resolved(choices[0])).filter {
                            $0.value?.hasPrefix("\"") == true
                        }
                }
                switch schema["type"]?.text {
                case "string":
                    let wrong = refused("1", "true", "[]", "{}")
                    if schema["enum"] != nil { return wrong + refused("\"\"", "\"NOPE\"", "\"\\u0000\"") }
                    if schema["pattern"] != nil {
                        let long = String(repeating: "a", count: 65)
                        return wrong
                            + refused("\"\"", "\"a b\"", "\"a\\u0000\"", "\"\\u202e\"", "\"..\"", "\"\(long)\"")
                            + fine("\"\(long.dropLast())\"")
                    }
                    guard schema["contentEncoding"] == nil else { return wrong + fine("\"AQI=\"", "\"\"") }
                    let text = wrong + fine("\"a\\u0000b\"", "\"\\u202eabc\"", "\"\"")
                    guard let most = schema["maxLength"]?.integer else { return text }
                    let full = String(repeating: "x", count: Int(most))
                    return text + refused("\"\(full)x\"") + fine("\"\(full)\"")
                case "integer", "number":
                    var probes = refused("\"1\"", "true", "[]", "{}", "1e400")
                    if schema["type"]?.text == "integer" { probes += refused("1.5", "99999999999999999999") }
                    if let low = schema["minimum"]?.integer { probes += refused("\(low - 1)") + fine("\(low)") }
                    if let high = schema["maximum"]?.integer, high < .max {
                        probes += refused("\(high + 1)") + fine("\(high)")
                    }
                    return probes
                case "boolean": return refused("\"true\"", "0", "[]", "{}") + fine("true", "false")
                case "array":
                    let item = sample(resolved(schema["items"] ?? .null))
                    let many = schema["maxItems"]?.integer.map { most in
                        refused("[" + (0...most).map { _ in item }.joined(separator: ",") + "]")
                    }
                    return refused("1", "\"x\"", "{}", "[[]]", "[1.5]") + (many ?? []) + fine("[\(item)]")
                default: return refused("1", "\"x\"", "[]")
                }
            }

            // MARK: - Good values

            private var sendsMessage: Bool { ["sendMessage", "sendDirect", "broadcast"].contains(operation.name) }

            private func fields(except name: String?) -> [Field] {
                if sendsMessage {
                    return [Field(name: "type", value: "\"TEXT\""), Field(name: "text", value: "\"x\"")].filter {
                        $0.name != name
                    }
                }
                guard let schema = operation.body.map(resolved) else { return [] }
                let required = (schema["required"]?.array ?? []).compactMap(\.text)
                return required.filter { $0 != name }.map { sampleField($0, of: schema) }
            }

            private func sample(_ schema: JSON) -> String {
                if let first = schema["anyOf"]?.array?.first { return sample(resolved(first)) }
                if let first = schema["enum"]?.array?.first?.text { return "\"\(first)\"" }
                switch schema["type"]?.text {
                case "string": return schema["contentEncoding"] == nil ? "\"zoe\"" : "\"AQI=\""
                case "integer", "number": return String(schema["minimum"]?.integer ?? 1)
                case "boolean": return "true"
                case "array": return "[\(sample(resolved(schema["items"] ?? .null)))]"
                default:
                    if schema["additionalProperties"] != nil { return #"{"k":"v"}"# }
                    let required = (schema["required"]?.array ?? []).compactMap(\.text)
                    return object(required.map { sampleField($0, of: schema) })
                }
            }

            private func sampleField(_ name: String, of schema: JSON) -> Field {
                switch name {
                case "contentType": return Field(name: name, value: "\"image/png\"")
                case "set" where operation.name == "amendMessage": return Field(name: name, value: #"{"text":"x"}"#)
                case "messages" where operation.name == "importMessages":
                    return Field(name: name, value: #"[{"time":1,"type":"TEXT","text":"x"}]"#)
                case "options" where operation.name == "openPoll": return Field(name: name, value: #"["a","b"]"#)
                default: break
                }
                return Field(name: name, value: sample(resolved(schema["properties"]?[name] ?? .null)))
            }

            private func object(_ fields: [Field]) -> String {
                "{" + fields.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}"
            }

            private func resolved(_ schema: JSON) -> JSON {
                guard let name = schema["$ref"]?.text?.split(separator: "/").last else { return schema }
                return schemas[String(name)] ?? .null
            }

            // MARK: - What must come back

            /// Fields of a message's type are looked at only when it has that type.
            private static let alwaysRead: Set = [
                "sender", "clientId", "type", "text", "priority", "mentions", "mentionAll", "to", "ext", "history",
                "webhook", "moderate",
            ]

            private func check(target: String? = nil, body: String? = nil, _ probe: Probe, of name: String) async throws
            {
                let sent = body ?? operation.body.map { _ in object(fields(except: nil)) }
                let answer = try await node.api(operation.method, target ?? self.target(), sent)
                let what: Comment = """
                    \(operation.name) \(name) = \(String((probe.value ?? "absent").prefix(80))): \
                    \(answer.status) \(String(answer.body.prefix(200)))
                    """
                let response = operation.description["responses"]?[String(answer.status)]
                #expect(response != nil, what)
                // An answer of lines has no schema.
                if answer.headers["content-type"] == "application/x-ndjson" { return }
                let json = try JSONDecoder().decode(JSON.self, from: Data(answer.body.utf8))
                let schema = response?["content"]?["application/json"]?["schema"] ?? .null
                let checker = SchemaChecker(schemas: schemas)
                #expect(checker.faults(of: json, against: schema, isClosed: true) == [], what)
                let code = json["error"]?["code"]?.integer
                if let code, let label = json["error"]?["name"]?.text {
                    #expect(response?["description"]?.text?.contains("\(code) \(label)") == true, what)
                }
                switch probe.outcome {
                case .documented: break
                case .malformed: #expect(code == 400, what)
                case .refused:
                    if sendsMessage, body != nil, !Self.alwaysRead.contains(name) { return }
                    #expect(code == 414 || code == 413, what)
                    #expect(json["error"]?["field"]?.text?.hasPrefix(name) == true, what)
                }
            }
        }
    }
}
