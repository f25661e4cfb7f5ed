import ChatModel
import Wire

extension Routes {
    /// The queue of a room. `queueLevel` does not hold here, as in NIM: it is for the people in the room.
    static let queue: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/queue", name: "getQueue", roles: .reading,
            summary: "A page of the queue, in order.",
            query: [
                QueryDescription(
                    name: "after", meaning: "`next` of an earlier page.", schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery(default: Limits.pageItems),
            ],
            answer: .json(QueueResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            let page = try await service.queue(
                of: try request.room, after: try request.query.cursor("after"),
                limit: try request.query.limit(default: Limits.pageItems))
            return APIResponse(page)
        },
        Route(
            method: .put, path: "/v1/rooms/{room}/queue/{key}", name: "setQueueElement", roles: .moderation,
            summary:
                "Add or overwrite an element; 409 when ifVersion is not its version, or its owner has all the seats that the room gives a user.",
            request: RequestDescription(body: QueueSetBody.self), answer: .json(ElementResult.self),
            isFrequent: true, isIdempotent: true, refusals: [.notFound, .conflict, .tooLarge, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decode(QueueSetBody.self)
            var write = QueueWrite(
                key: try request.queueKey, value: body.value, owner: body.owner, transient: body.transient,
                ifVersion: body.ifVersion)
            (write.keepOwner, write.locked) = (body.keepOwner, body.locked)
            return try await element(of: .queueSet(write, body.options.notify), body.options, request, service)
        },
        Route(
            method: .patch, path: "/v1/rooms/{room}/queue", name: "setQueueElements", roles: .moderation,
            summary: "New values for elements that are there; answers the keys that are not.",
            request: RequestDescription(body: QueueSetManyBody.self), answer: .json(MissingResult.self),
            isFrequent: true, isIdempotent: true, refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decode(QueueSetManyBody.self)
            let result = try await request.perform(
                .queueSetMany(body.values, body.options.notify), as: request.actor(body.options), service)
            guard case .missing(let keys) = result else { throw request.unexpected(result) }
            return APIResponse(MissingResult(missing: keys))
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/queue/take", name: "takeQueueElement", roles: .moderation,
            summary: "Take an element out, the head when no key is given; 404 when there is none.",
            request: RequestDescription(body: QueueTakeBody.self, required: false), answer: .json(ElementResult.self),
            isFrequent: true, isIdempotent: true, refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decodeIfGiven(QueueTakeBody.self)
            return try await element(of: .queueTake(key: body.key, body.options.notify), body.options, request, service)
        },
        Route(
            method: .delete, path: "/v1/rooms/{room}/queue", name: "clearQueue", roles: .moderation,
            summary: "Remove all elements.",
            request: RequestDescription(body: ServerOptions.self, required: false), answer: .json(DoneAnswer.self),
            isIdempotent: true, refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let options = try request.decodeIfGiven(ServerOptions.self)
            try await request.performDone(.queueClear(options.notify), options, service)
            return .done
        },
    ]

    private static func element(
        of command: CommandBody, _ options: ServerOptions, _ request: APIRequest, _ service: any ClusterService
    ) async throws(ChatError) -> APIResponse {
        let result = try await request.perform(command, as: request.actor(options), service)
        guard case .element(let element) = result else { throw request.unexpected(result) }
        return APIResponse(ElementResult(element: element))
    }
}

extension APIRequest {
    /// - Throws: 414 for an empty key, 413 for one over its limit.
    fileprivate var queueKey: String {
        get throws(ChatError) {
            let key = path["key", default: ""]
            guard !key.isEmpty else { throw ChatError(.badParameter, "the path does not name a key", field: "key") }
            guard key.utf8.count <= Limits.queueKeyBytes else {
                throw ChatError(.tooLarge, "key has over \(Limits.queueKeyBytes) bytes", field: "key")
            }
            return key
        }
    }
}
