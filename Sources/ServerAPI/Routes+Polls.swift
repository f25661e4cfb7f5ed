import ChatModel
import Wire

extension Routes {
    /// Polls (362, 363).
    static let polls: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/polls", name: "getPolls", roles: .reading,
            summary: "The polls of a room that are open, and the latest that were closed; oldest first.",
            answer: .json(PollsResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(PollsResult(polls: try await service.polls(of: try request.room)))
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/polls", name: "openPoll", roles: .moderation,
            summary: "Open a poll; 409 when it is open, or the room has too many open ones.",
            request: RequestDescription(body: PollBody.self), answer: .json(PollResult.self), isIdempotent: true,
            refusals: [.forbidden, .notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decode(PollBody.self)
            return try await poll(
                .openPoll(id: body.poll, body.draft, body.options.notify), body.options, request: request,
                service: service)
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/polls/{poll}/close", name: "closePoll", roles: .moderation,
            summary: "Close a poll before its time; 409 when it is closed.",
            request: RequestDescription(body: ServerOptions.self, required: false), answer: .json(PollResult.self),
            isIdempotent: true, refusals: [.forbidden, .notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            let options = try request.decodeIfGiven(ServerOptions.self)
            return try await poll(
                .closePoll(id: try request.pollID, options.notify), options, request: request, service: service)
        },
    ]

    private static func poll(
        _ command: CommandBody, _ options: ServerOptions, request: APIRequest, service: any ClusterService
    ) async throws(ChatError) -> APIResponse {
        let result = try await request.perform(command, as: request.actor(options), service)
        guard case .poll(let poll) = result else { throw request.unexpected(result) }
        return APIResponse(PollResult(poll: poll))
    }
}

extension APIRequest {
    /// - Throws: 413 for an ID over its limit, 414 for anything else that no poll can be called.
    fileprivate var pollID: String {
        get throws(ChatError) {
            let id = path["poll", default: ""]
            guard id.utf8.count <= Limits.pollIDBytes else {
                throw ChatError(.tooLarge, "poll has over \(Limits.pollIDBytes) bytes", field: "poll")
            }
            guard Tally.isKey(id) else { throw .notPollID }
            return id
        }
    }
}
