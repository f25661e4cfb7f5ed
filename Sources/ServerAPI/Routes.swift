import ChatModel
import Wire

/// The one table of what the server API can do: the router and the OpenAPI document are both made of it.
enum Routes {
    /// - Parameter bodyBytesMax: the bound on request bodies, which the document tells.
    static func all(bodyBytesMax: Int) -> [Route] {
        let described = described
        let bytes = OpenAPIDocument.make(of: described, bodyBytesMax: bodyBytesMax).bytes
        return described.dropLast() + [document(bytes)]
    }

    /// All of them, with an empty document.
    static var described: [Route] {
        rooms + messages + export + imports + search + recall + pins + held + uploads + members + queue + tallies
            + polls
            + robots + users
            + sanctions + sessions + cluster
            + webhook
            + moderation
            + reports
            + operating
            + [document(OpenAPIPlaceholder.empty)]
    }

    private enum OpenAPIPlaceholder {
        static let empty: [UInt8] = []
    }

    private static func document(_ bytes: [UInt8]) -> Route {
        Route(
            method: .get, path: "/v1/openapi.json", name: "getOpenAPI", roles: .everybody, summary: "This document.",
            answer: .json(DocumentAnswer.self)
        ) { _, _ throws(ChatError) in APIResponse(body: bytes) }
    }

    /// Parameters that listings have in common.
    static let limitQuery = limitQuery(default: Limits.pageItemsDefault)

    static func limitQuery(default items: Int64) -> QueryDescription {
        QueryDescription(
            name: "limit", meaning: "Items of a page; \(items) when absent.",
            schema: .integer(from: 1, to: Limits.pageItems))
    }
}

extension APIRequest {
    /// The body as `Body`, within the limits of the protocol.
    /// - Throws: 400 for what is not JSON, 413 and 414 with the field for what is out of bounds.
    func decode<Body: WireMessage>(_ type: Body.Type) throws(ChatError) -> Body {
        try WireJSON.decode(type, from: body, limits: true)
    }

    /// The same where the body may be left out.
    func decodeIfGiven<Body: WireMessage>(_ type: Body.Type) throws(ChatError) -> Body {
        body.isEmpty ? Body.blank : try decode(type)
    }

    /// Runs a durable command in the path's room, under the request's `Idempotency-Key`.
    func perform(_ command: CommandBody, as actor: Actor, _ service: any ClusterService) async throws(ChatError)
        -> CommandResult
    { try await service.perform(command, in: try room, as: actor, id: callKey) }

    /// The same for a command that answers the room as it left it.
    func performOnRoom(_ command: CommandBody, as actor: Actor, _ service: any ClusterService) async throws(ChatError)
        -> RoomInfo
    {
        let result = try await perform(command, as: actor, service)
        guard case .room(let info) = result else { throw unexpected(result) }
        return info
    }

    /// The same for a command that has nothing to answer.
    func performDone(_ command: CommandBody, _ options: ServerOptions, _ service: any ClusterService)
        async throws(ChatError)
    {
        let result = try await perform(command, as: actor(options), service)
        guard case .done = result else { throw unexpected(result) }
    }

    /// A result that cannot follow from the command: the key has come before, with another call.
    func unexpected(_ result: CommandResult) -> ChatError {
        if case .refused(let error) = result { return error }
        return ChatError(.conflict, "this Idempotency-Key belongs to another call", field: "Idempotency-Key")
    }
}

extension APIResponse {
    /// 200 with a JSON body.
    init(_ answer: some WireMessage) {
        self.init(body: WireJSON.encode(answer))
    }
}
