import ChatModel
import Wire

extension Routes {
    /// Sending, history, barrage.
    static let messages: [Route] = [
        Route(
            method: .post, path: "/v1/rooms/{room}/messages", name: "sendMessage", roles: .moderation,
            summary: "Send a message.",
            request: RequestDescription(body: ServerSendRequest.self), answer: .json(SendResult.self),
            isFrequent: true, isIdempotent: true, refusals: [.notFound, .tooOften, .roomClosed, .rejected]
        ) { request, service throws(ChatError) in
            let room = try request.room
            let send = try request.decode(ServerSendRequest.self)
            let result = try await service.send(
                send.draft, from: send.sender, moderate: send.moderate, in: room,
                id: request.callKey(or: send.callKey))
            if case .held(let heldID) = result { return APIResponse(SendResult(heldID: heldID)) }
            guard case .posted(let messageID, let place, let time, let priority, let delivered) = result else {
                throw request.unexpected(result)
            }
            return APIResponse(
                SendResult(
                    messageID: messageID, time: time, place: place,
                    priority: priority == send.draft.priority ? nil : priority, delivered: delivered))
        },
        Route(
            method: .get, path: "/v1/rooms/{room}/messages", name: "getHistory", roles: .reading,
            summary: "A page of history.",
            query: historyQuery, answer: .json(MessagesResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            let page = try await service.history(of: try request.room, try historyRequest(request.query))
            return APIResponse(MessagesResult(page))
        },
        Route(
            method: .get, path: "/v1/rooms/{room}/messages/{messageId}", name: "getMessage", roles: .reading,
            summary: "One message.",
            answer: .json(Message.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(try await service.message(try request.messageID, in: try request.room))
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/barrage", name: "sendBarrage", roles: .moderation,
            summary: "Send a barrage item: shown at once, droppable, never kept.",
            request: RequestDescription(body: ServerBarrageRequest.self), answer: .json(BarrageResult.self),
            isFrequent: true, isIdempotent: true, keepsAnswer: true, refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let room = try request.room
            let item = try request.decode(ServerBarrageRequest.self).item(time: request.time)
            try await service.barrage(item, in: room)
            return APIResponse(BarrageResult())
        },
    ]

    private static let historyQuery = [
        QueryDescription(
            name: "startTime", meaning: "Unix milliseconds; 0, the default, is the newest or the oldest kept.",
            schema: .integer(from: 0, to: nil)),
        limitQuery,
        QueryDescription(
            name: "order", meaning: "DESC, the default: at or before startTime, newest first. ASC: oldest first.",
            schema: .oneOf(HistoryOrder.self)),
        QueryDescription(
            name: "types", meaning: "Comma-separated message types; all when absent.", schema: .text(bytes: nil)),
        QueryDescription(name: "beforeSeq", meaning: "Only seqs below.", schema: .integer(from: 0, to: nil)),
        QueryDescription(name: "afterSeq", meaning: "Only seqs above.", schema: .integer(from: 0, to: nil)),
    ]

    private static func historyRequest(_ query: QueryParameters) throws(ChatError) -> HistoryRequest {
        var request = HistoryRequest()
        request.startTime = Timestamp(try query.number("startTime", in: 0...Int64.max) ?? 0)
        request.limit = try query.limit()
        request.ascending = try query.choice("order", of: HistoryOrder.self) == .ascending
        request.types = try query.choices("types", of: MessageType.self)
        request.beforeSeq = try query.number("beforeSeq", in: 0...UInt64.max)
        request.afterSeq = try query.number("afterSeq", in: 0...UInt64.max)
        return request
    }
}

extension ServerBarrageRequest {
    /// - Parameter time: when the request came in. The sender's role, and what of the profile is empty, is the
    ///   service's to fill in, which knows whether the user is in the room.
    fileprivate func item(time: Timestamp) -> BarrageItem {
        let from = sender.map { Sender(user: $0.user, profile: $0.profile, role: .guest) }
        var item = BarrageItem(from: from, text: text, time: time)
        item.ext = ext
        item.style = style
        item.priority = priority
        return item
    }
}
