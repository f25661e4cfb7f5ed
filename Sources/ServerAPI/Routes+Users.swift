import ChatModel
import Wire

extension Routes {
    /// Users, apart from any room.
    static let users: [Route] = [
        Route(
            method: .post, path: "/v1/users/{user}/token", name: "issueToken",
            summary: "Issue a token with which the user's clients connect.",
            request: RequestDescription(body: TokenBody.self, required: false),
            answer: .json(TokenAnswer.self)
        ) { request, service throws(ChatError) in
            let user = try request.user
            let token = try request.decodeIfGiven(TokenBody.self)
            return APIResponse(TokenAnswer(token: try await service.issueToken(token.request(for: user))))
        }
    ]
}
