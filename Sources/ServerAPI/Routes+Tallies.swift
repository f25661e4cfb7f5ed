import ChatModel
import Wire

extension Routes {
    /// Tallies: likes, and the app's own counters (PROTOCOL.md, "Tallies").
    static let tallies: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/tallies", name: "getTallies", roles: .reading,
            summary: "All tallies of a room, like first.", answer: .json(TalliesResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(TalliesResult(tallies: try await service.tallies(of: try request.room)))
        },
        Route(
            method: .put, path: "/v1/rooms/{room}/tallies/{key}", name: "setTally", roles: .moderation,
            summary: "Make a tally, or change it; 414 for one more than a room can have.",
            request: RequestDescription(body: TallySettings.self, required: false), answer: .json(Tally.self),
            isIdempotent: true, refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            try await tally(.set(try request.decodeIfGiven(TallySettings.self)), request, service)
        },
        Route(
            method: .delete, path: "/v1/rooms/{room}/tallies/{key}", name: "removeTally", roles: .moderation,
            summary: "Remove a tally; like begins anew.", answer: .json(DoneAnswer.self), isIdempotent: true,
            refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let result = try await request.perform(
                .tally(key: try request.tallyKey, .remove), as: .system, service)
            guard case .done = result else { throw request.unexpected(result) }
            return .done
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/tallies/{key}/add", name: "addToTally", roles: .moderation,
            summary:
                "Add to a tally, or take away from it: exactly once with an Idempotency-Key; 409 when it is closed, or its total would be out of bounds.",
            request: RequestDescription(body: TallyAddBody.self), answer: .json(Tally.self), isFrequent: true,
            isIdempotent: true, refusals: [.notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            try await tally(.add(try request.decode(TallyAddBody.self).delta), request, service)
        },
    ]

    private static func tally(_ change: TallyChange, _ request: APIRequest, _ service: any ClusterService)
        async throws(ChatError) -> APIResponse
    {
        let result = try await request.perform(.tally(key: try request.tallyKey, change), as: .system, service)
        guard case .tally(let tally) = result else { throw request.unexpected(result) }
        return APIResponse(tally)
    }
}

extension APIRequest {
    /// - Throws: 413 for a key over its limit, 414 for anything else that no tally can be called.
    fileprivate var tallyKey: String {
        get throws(ChatError) {
            let key = path["key", default: ""]
            guard key.utf8.count <= Limits.tallyKeyBytes else {
                throw ChatError(.tooLarge, "key has over \(Limits.tallyKeyBytes) bytes", field: "key")
            }
            guard Tally.isKey(key) else { throw .notTallyKey }
            return key
        }
    }
}
