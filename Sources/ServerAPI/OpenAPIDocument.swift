import BuildVersion
import ChatModel
import Wire

/// The OpenAPI 3.1 document of a table of routes: what `GET /v1/openapi.json` answers.
struct OpenAPIDocument: Sendable {
    static let version = "3.1.0"

    /// - Parameter bodyBytesMax: the bound on request bodies, for the description.
    static func make(of routes: [Route], bodyBytesMax: Int) -> DocumentValue {
        var book = SchemaBook()
        // Answers first: what both contain is described as answers have it, which is what requests may have at most.
        for case .json(let answer) in routes.map(\.answer) { book.add(answer, isRequest: false) }
        book.add(ErrorView.self, isRequest: false)
        for request in routes.compactMap(\.request) { book.add(request.body, isRequest: true) }
        return .object([
            "openapi": .text(version),
            "info": .object([
                "title": .text("Chatroom Cluster server API"),
                "version": .text(BuildVersion.number),
                "description": .text(
                    "Any node answers for the whole cluster. A request's body is at most \(bodyBytesMax) bytes. "
                        + "Times are Unix milliseconds; unknown fields are ignored; absent optional fields are omitted."
                ),
            ]),
            "jsonSchemaDialect": .text("https://json-schema.org/draft/2020-12/schema"),
            "security": .array([.object(["admin": .array([])]), .object(["signature": .array([])])]),
            "paths": .object(paths(routes)),
            "components": .object([
                "securitySchemes": .object([
                    "admin": .object([
                        "type": .text("http"),
                        "scheme": .text("bearer"),
                        "description": .text(
                            "An admin key, or a JWT of an admin key. x-roles of a call: whose role may do it."),
                    ]),
                    "signature": .object([
                        "type": .text("apiKey"), "in": .text("header"), "name": .text("X-Chatroom-Signature"),
                        "description": .text(
                            "Hex HMAC-SHA256 with the admin key over method, path, query, time, nonce and the hex "
                                + "SHA-256 of the body, separated by newlines; with X-Chatroom-Key (the key's ID), "
                                + "X-Chatroom-Time (Unix milliseconds, within 5 minutes) and X-Chatroom-Nonce "
                                + "(1-64 characters, works once)."),
                    ]),
                ]),
                "schemas": .object(
                    book.components.map { DocumentValue.Member(name: $0.name, value: $0.schema.json) }),
            ]),
        ])
    }

    private static func paths(_ routes: [Route]) -> [DocumentValue.Member] {
        var order: [String] = []
        var operations: [String: [DocumentValue.Member]] = [:]
        for route in routes {
            if operations[route.path] == nil { order.append(route.path) }
            operations[route.path, default: []].append(
                DocumentValue.Member(name: route.method.rawValue.lowercased(), value: operation(route)))
        }
        return order.map { DocumentValue.Member(name: $0, value: .object(operations[$0, default: []])) }
    }

    private static func operation(_ route: Route) -> DocumentValue {
        var members: [DocumentValue.Member] = [
            DocumentValue.Member(name: "operationId", value: .text(route.name)),
            DocumentValue.Member(name: "summary", value: .text(route.summary)),
        ]
        func add(_ name: String, _ value: DocumentValue) {
            members.append(DocumentValue.Member(name: name, value: value))
        }
        if route.needsAuthorization {
            // "x-" is what the specification leaves to others.
            add("x-roles", .array(AdminRole.allCases.filter(route.roles.contains).map { .text($0.rawValue) }))
        } else {
            add("security", .array([]))
        }
        let parameters = self.parameters(of: route)
        if !parameters.isEmpty { add("parameters", .array(parameters)) }
        if let request = route.request {
            add(
                "requestBody",
                .object([
                    "required": .boolean(request.required),
                    "content": content(APIResponse.jsonType, .component(request.body.schemaName)),
                ]))
        }
        add("responses", .object(responses(of: route)))
        return .object(members)
    }

    private static func parameters(of route: Route) -> [DocumentValue] {
        var parameters: [DocumentValue] = []
        for case .parameter(let name) in route.segments {
            parameters.append(
                .object([
                    "name": .text(name), "in": .text("path"), "required": .boolean(true),
                    "schema": pathSchema(name).json,
                ]))
        }
        for query in route.query {
            parameters.append(
                .object([
                    "name": .text(query.name), "in": .text("query"), "required": .boolean(query.required),
                    "description": .text(query.meaning), "schema": query.schema.json,
                ]))
        }
        if route.isIdempotent {
            parameters.append(
                .object([
                    "name": .text("Idempotency-Key"), "in": .text("header"), "required": .boolean(false),
                    "description": .text(
                        "1-64 printable ASCII characters. A repeat does nothing twice and gets the first answer."),
                    "schema": Schema.text(bytes: IdempotencyKey.bytesMax).json,
                ]))
        }
        return parameters
    }

    private static func pathSchema(_ name: String) -> Schema {
        switch name {
        case "messageId", "heldId", "mediaId", "session": .text(bytes: Limits.opaqueIDBytes)
        case "key": .text(bytes: Limits.queueKeyBytes)
        case "shard": .integer(from: 0, to: Int64(UInt16.max))
        default: .identifier
        }
    }

    private static func responses(of route: Route) -> [DocumentValue.Member] {
        var responses = [
            DocumentValue.Member(
                name: "200",
                value: .object([
                    "description": .text("Done."),
                    "content": content(of: route.answer),
                ]))
        ]
        var codes: [Int: [ErrorCode]] = [:]
        for code in route.errors { codes[code.httpStatus, default: []].append(code) }
        for (status, codes) in codes.sorted(by: { $0.key < $1.key }) {
            let names = codes.sorted { $0.rawValue < $1.rawValue }.map { "\($0.rawValue) \($0.name)" }
            responses.append(
                DocumentValue.Member(
                    name: String(status),
                    value: .object([
                        "description": .text(names.joined(separator: ", ")),
                        "content": content(APIResponse.jsonType, .component(ErrorView.schemaName)),
                    ])))
        }
        return responses
    }

    private static func content(of answer: AnswerDescription) -> DocumentValue {
        switch answer {
        case .json(let type): content(APIResponse.jsonType, .component(type.schemaName))
        case .text(let type): content(type, .text(bytes: nil))
        }
    }

    private static func content(_ type: String, _ schema: Schema) -> DocumentValue {
        .object([DocumentValue.Member(name: type, value: .object(["schema": schema.json]))])
    }
}

extension Route {
    /// Every code that this route may refuse with.
    var errors: Set<ErrorCode> {
        var errors = Set(refusals)
        if needsAuthorization { errors.formUnion([.unauthorized, .forbidden, .internal, .unavailable]) }
        // Also a percent escape in the query that is none, whatever the call takes.
        errors.insert(.badParameter)
        let takesParameters = segments.contains { if case .parameter = $0 { true } else { false } }
        if takesParameters || request != nil { errors.insert(.tooLarge) }
        if request != nil { errors.insert(.malformed) }
        // The key has come before, with another call.
        if isIdempotent { errors.insert(.conflict) }
        return errors
    }
}
