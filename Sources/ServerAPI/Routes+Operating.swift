import ChatModel
import Wire

extension Routes {
    /// Routes for load balancers and monitoring, without authorization.
    static let operating: [Route] = [
        Route(
            method: .get, path: "/healthz", name: "getHealth", summary: "Whether the process lives.",
            answer: .json(StatusAnswer.self), needsAuthorization: false
        ) { _, _ throws(ChatError) in
            APIResponse(StatusAnswer(status: "ok"))
        },
        Route(
            method: .get, path: "/readyz", name: "getReadiness",
            summary: "Whether this node serves; 503 says why not. Shards without a leader: GET /v1/cluster/health.",
            answer: .json(StatusAnswer.self), needsAuthorization: false, refusals: [.unavailable]
        ) { _, service throws(ChatError) in
            if let unreadiness = await service.unreadiness() {
                throw ChatError(
                    .unavailable, unreadiness.reason,
                    retryAfterMs: unreadiness.mayPass ? notReadyRetryMilliseconds : nil)
            }
            return APIResponse(StatusAnswer(status: "ready"))
        },
        Route(
            method: .get, path: "/metrics", name: "getMetrics", summary: "Figures in the Prometheus text format.",
            answer: .text(contentType: APIResponse.metricsType), needsAuthorization: false
        ) { _, service throws(ChatError) in
            APIResponse(contentType: APIResponse.metricsType, body: Array(await service.metrics().utf8))
        },
    ]

    private static let notReadyRetryMilliseconds: Int64 = 1_000
}
