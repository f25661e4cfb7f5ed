import ChatModel
import Wire

extension Routes {
    /// Words and the pre-send hook.
    static let moderation: [Route] = [
        Route(
            method: .get, path: "/v1/moderation", name: "getModeration",
            summary: "What is moderated and how, without the hook's secret.", answer: .json(ModerationSettings.self)
        ) { _, service throws(ChatError) in
            var settings = try await service.moderation()
            settings.hook?.secret = nil
            return APIResponse(settings)
        },
        Route(
            method: .put, path: "/v1/moderation", name: "setModeration",
            summary: "Set the words and the pre-send hook; what was set before is replaced. Without a secret the one "
                + "that is set stays.",
            request: RequestDescription(body: ModerationSettings.self), answer: .json(ModerationSettings.self),
            isIdempotent: true
        ) { request, service throws(ChatError) in
            var settings = try request.decode(ModerationSettings.self)
            try await service.setModeration(settings, id: request.idempotencyKey)
            settings.hook?.secret = nil
            return APIResponse(settings)
        },
    ]
}
