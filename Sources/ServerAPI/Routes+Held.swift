import ChatModel
import Wire

extension Routes {
    /// Messages that wait for a manager (PROTOCOL.md, "Held messages").
    static let held: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/held", name: "getHeld", roles: .reading,
            summary: "A page of the messages that wait, the oldest first; the ID of each is its heldId.",
            query: [
                QueryDescription(
                    name: "after", meaning: "`next` of the page before.", schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery,
            ],
            answer: .json(HeldResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            let after = try request.query.cursor("after")
            return APIResponse(
                try await service.held(in: try request.room, after: after, limit: try request.query.limit()))
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/held/{heldId}/allow", name: "allowHeld", roles: .moderation,
            summary: "Let a held message through: it becomes a message now. 409 when it was decided already.",
            answer: .json(HeldResult.self), isIdempotent: true, refusals: [.notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            try await decide(HeldDecision(isAllowed: true), request, service)
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/held/{heldId}/deny", name: "denyHeld", roles: .moderation,
            summary: "Deny a held message; its sender is told the reason. 409 when it was decided already.",
            request: RequestDescription(body: DenyBody.self, required: false), answer: .json(HeldResult.self),
            isIdempotent: true, refusals: [.notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            let reason = try request.decodeIfGiven(DenyBody.self).reason
            return try await decide(HeldDecision(isAllowed: false, reason: reason), request, service)
        },
    ]

    private static func decide(_ decision: HeldDecision, _ request: APIRequest, _ service: any ClusterService)
        async throws(ChatError) -> APIResponse
    {
        let command = CommandBody.decideHeld(heldID: try request.heldID, decision)
        switch try await request.perform(command, as: request.actor(ServerOptions()), service) {
        case .decided(let message): return APIResponse(HeldResult(message: message))
        case .decidedBefore: return APIResponse(HeldResult())
        case let result: throw request.unexpected(result)
        }
    }
}
