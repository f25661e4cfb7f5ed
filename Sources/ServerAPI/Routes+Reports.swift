import ChatModel
import Wire

extension Routes {
    /// Reports of messages (PROTOCOL.md, "Reports").
    static let reports: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/reports", name: "listReports", roles: .moderation,
            summary: "The messages that members have reported, the oldest report first.",
            query: [
                QueryDescription(
                    name: "after", meaning: "`next` of an earlier page, or the `id` of a report.",
                    schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery,
            ],
            answer: .json(ReportsResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(
                try await service.reports(
                    of: try request.room, after: try request.query.cursor("after"), limit: try request.query.limit()))
        }
    ]
}
