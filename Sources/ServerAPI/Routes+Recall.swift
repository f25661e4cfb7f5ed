import ChatModel
import Wire

extension Routes {
    /// A recall that is told to nobody would leave the message on all screens, and in the app's own copy.
    private static func told(_ options: ServerOptions) -> NotifyOptions {
        NotifyOptions(notifyExt: options.notify.notifyExt)
    }

    /// Taking messages back (323), and changing them (360).
    static let recall: [Route] = [
        Route(
            method: .post, path: "/v1/rooms/{room}/messages/{messageId}/recall", name: "recallMessage",
            roles: .moderation,
            summary: "Take a message back; it stays without its body.",
            request: RequestDescription(body: ServerOptions.self, required: false), answer: .json(DoneAnswer.self),
            isIdempotent: true, refusals: [.forbidden, .notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let options = try request.decodeIfGiven(ServerOptions.self)
            try await service.recall(
                try request.messageID, in: try request.room, as: request.actor(options),
                told(options), id: request.callKey)
            return .done
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/messages/recall", name: "recallMessagesOfUser", roles: .moderation,
            summary: "Take back all kept messages of a user, in one notification of at most 1,000 messages each.",
            request: RequestDescription(body: RecallAllBody.self), answer: .json(DoneAnswer.self), isIdempotent: true,
            refusals: [.forbidden, .notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decode(RecallAllBody.self)
            if let since = body.since, since.milliseconds < 0 {
                throw ChatError(.badParameter, "since is not a time", field: "since")
            }
            try await service.recallAll(
                of: body.user, since: body.since, in: try request.room, as: request.actor(body.options),
                told(body.options), id: request.callKey)
            return .done
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/messages/{messageId}/amend", name: "amendMessage",
            roles: .moderation,
            summary: "Change the text of TEXT and TIP, the content of CUSTOM, the ext of any kept message (360).",
            request: RequestDescription(body: AmendBody.self), answer: .json(Message.self), isIdempotent: true,
            refusals: [.forbidden, .notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decode(AmendBody.self)
            var options = ServerOptions()
            options.operator = body.operator
            let result = try await request.perform(
                .amend(messageID: try request.messageID, set: body.set), as: request.actor(options), service)
            guard case .amended(let message) = result else { throw request.unexpected(result) }
            return APIResponse(message)
        },
    ]
}
