import ChatModel
import Wire

extension Routes {
    /// Users who are banned or muted in all rooms.
    static let sanctions: [Route] = [
        Route(
            method: .get, path: "/v1/users", name: "listUsers", roles: .reading,
            summary: "Users who are banned or muted in all rooms, by ID.",
            query: [
                QueryDescription(
                    name: "kind", meaning: "Which ones.", schema: .oneOf(SanctionKind.self), required: true),
                QueryDescription(name: "after", meaning: "`next` of the page before.", schema: .text(bytes: 64)),
                limitQuery,
            ],
            answer: .json(UsersView.self)
        ) { request, service throws(ChatError) in
            let after = try request.query.text("after").map { (text: String) throws(ChatError) in
                guard let user = UserID(text) else {
                    throw ChatError(.badParameter, "after is not a cursor of an earlier answer", field: "after")
                }
                return user
            }
            let limit = try request.query.limit()
            guard let kind = try request.query.choice("kind", of: SanctionKind.self) else {
                throw ChatError(.badParameter, "kind is required: BANNED or MUTED", field: "kind")
            }
            let page = try await service.users(kind, after: after, limit: limit)
            return APIResponse(UsersView(users: page.items, next: page.next))
        },
        Route(
            method: .get, path: "/v1/users/{user}", name: "getUser", roles: .reading,
            summary: "A user apart from rooms: app-wide sanctions, number of sessions.", answer: .json(UserView.self)
        ) { request, service throws(ChatError) in
            APIResponse(try await service.user(try request.user))
        },
        sanction(
            .banned, "ban", "Ban a user: out of all rooms with reason 7, closed with 4403, kept out. 0 seconds lift it."
        ),
        sanction(.muted, "mute", "Mute a user in all rooms. 0 seconds lift it."),
    ]

    private static func sanction(_ kind: SanctionKind, _ verb: String, _ summary: String) -> Route {
        Route(
            method: .put, path: "/v1/users/{user}/\(verb)", name: "\(verb)User", roles: .moderation, summary: summary,
            request: RequestDescription(body: SanctionRequest.self, required: false), answer: .json(UserView.self),
            isIdempotent: true, refusals: [.conflict]
        ) { request, service throws(ChatError) in
            let user = try request.user
            let body = try request.decodeIfGiven(SanctionRequest.self)
            let key = request.idempotencyKey.map { "\(verb)\n\(user)\n\($0)" }
            try await service.sanction(user, kind, body, id: key)
            return APIResponse(try await service.user(user))
        }
    }
}
