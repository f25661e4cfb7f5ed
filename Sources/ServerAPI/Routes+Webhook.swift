import ChatModel
import Wire

extension Routes {
    /// The app's webhook.
    static let webhook: [Route] = [
        Route(
            method: .get, path: "/v1/webhook", name: "getWebhook",
            summary: "The app's webhook, without its secret; an empty url: there is none.",
            answer: .json(WebhookSettings.self)
        ) { _, service throws(ChatError) in
            var settings = try await service.webhook()
            settings.secret = nil
            return APIResponse(settings)
        },
        Route(
            method: .put, path: "/v1/webhook", name: "setWebhook",
            summary: "Set the app's webhook. Without a secret the one that is set stays; an empty url turns it off.",
            request: RequestDescription(body: WebhookSettings.self), answer: .json(WebhookSettings.self),
            isIdempotent: true
        ) { request, service throws(ChatError) in
            var settings = try request.decode(WebhookSettings.self)
            try await service.setWebhook(settings, id: request.idempotencyKey)
            settings.secret = nil
            return APIResponse(settings)
        },
    ]
}
