import ChatModel
import Wire

extension Routes {
    /// Pinned messages (361).
    static let pins: [Route] = [
        Route(
            method: .post, path: "/v1/rooms/{room}/messages/{messageId}/pin", name: "pinMessage", roles: .moderation,
            summary: "Pin a kept message, or take its pin away; the answer has all that are pinned then.",
            request: RequestDescription(body: EnableBody.self), answer: .json(PinResult.self), isIdempotent: true,
            refusals: [.forbidden, .notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decode(EnableBody.self)
            let result = try await request.perform(
                .pin(messageID: try request.messageID, enable: body.enable, body.options.notify),
                as: request.actor(body.options), service)
            guard case .pinned(let pinned) = result else { throw request.unexpected(result) }
            return APIResponse(PinResult(pinned: pinned))
        }
    ]
}
