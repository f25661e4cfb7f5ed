import ChatModel
import Wire

/// The one table of what the server API can do: the router and the OpenAPI document are both made of it.
enum Routes {
    /// - Parameter bodyBytesMax: the bound on request bodies, which the document tells.
    static func all(bodyBytesMax: Int) -> [Route] {
        let described = rooms + messages + members + users + operating + [document(OpenAPIPlaceholder.empty)]
        let bytes = OpenAPIDocument.make(of: described, bodyBytesMax: bodyBytesMax).bytes
        return described.dropLast() + [document(bytes)]
    }

    private enum OpenAPIPlaceholder {
        static let empty: [UInt8] = []
    }

    private static func document(_ bytes: [UInt8]) -> Route {
        Route(
            method: .get, path: "/v1/openapi.json", name: "getOpenAPI", summary: "This document.",
            answer: .json(DocumentAnswer.self)
        ) { _, _ throws(ChatError) in APIResponse(body: bytes) }
    }

    /// Parameters that listings have in common.
    static let limitQuery = QueryDescription(
        name: "limit", meaning: "Items of a page; \(Limits.pageItemsDefault) when absent.",
        schema: .integer(from: 1, to: Limits.pageItems))
}

extension APIRequest {
    /// The body as `Body`, within the limits of the contract.
    /// - Throws: 400 for what is not JSON, 413 and 414 with the field for what is out of bounds.
    func decode<Body: WireMessage>(_ type: Body.Type) throws(ChatError) -> Body {
        try WireJSON.decode(type, from: body, limits: true)
    }

    /// The same where the body may be left out.
    func decodeIfGiven<Body: WireMessage>(_ type: Body.Type) throws(ChatError) -> Body {
        body.isEmpty ? Body.blank : try decode(type)
    }
}

extension APIResponse {
    /// 200 with a JSON body.
    init(_ answer: some WireMessage) {
        self.init(body: WireJSON.encode(answer))
    }

    /// A command's result that cannot follow from the command: a fault of ours, not of the caller.
    static func unexpected(_ result: CommandResult) -> ChatError {
        if case .refused(let error) = result { return error }
        return ChatError(.internal, "the room gave a result of another kind")
    }
}
