import ChatModel
import Wire

extension Routes {
    /// Routes about the members of a room.
    static let members: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/members", name: "listMembers", roles: .reading,
            summary: "List a room's members.",
            query: [
                QueryDescription(
                    name: "kind", meaning: "Which of them; FIXED when absent.", schema: .oneOf(MemberKind.self)),
                QueryDescription(
                    name: "after", meaning: "`next` of an earlier page.", schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery,
            ],
            answer: .json(MembersResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            let page = try await service.members(
                of: try request.room, kind: try request.query.choice("kind", of: MemberKind.self) ?? .fixed,
                after: try request.query.cursor("after"), limit: try request.query.limit())
            return APIResponse(MembersResult(page))
        },
        Route(
            method: .get, path: "/v1/rooms/{room}/members/{user}", name: "getMember", roles: .reading,
            summary: "One member of a room.",
            answer: .json(Member.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(try await service.member(try request.user, of: try request.room))
        },
        memberChange(
            .put, "role", name: "setRole", summary: "Make a user manager, normal member or guest; also who is away."
        ) {
            (user, body: RoleBody) in (.setRole(user, body.role, body.options.notify), body.options)
        },
        memberChange(
            .put, "blacklist", name: "setBlacklist", summary: "Forbid or allow a user to enter; puts out who is here."
        ) {
            (user, body: EnableBody) in
            (.setBlacklist(user, enable: body.enable, body.options.notify), body.options)
        },
        memberChange(.put, "mute", name: "setMute", summary: "Mute a user for good, or lift that; also who is away.") {
            (user, body: EnableBody) in (.setMute(user, enable: body.enable, body.options.notify), body.options)
        },
        memberChange(.put, "tempMute", name: "setTempMute", summary: "Mute a user for a time; 0 lifts.") {
            (user, body: TempMuteBody) in (.tempMute(user, seconds: body.seconds, body.options.notify), body.options)
        },
        Route(
            method: .post, path: "/v1/rooms/{room}/members/{user}/kick", name: "kickMember", roles: .moderation,
            summary: "Put a user out; with banSeconds also forbid entering for that time; 0 lifts a ban.",
            request: RequestDescription(body: KickBody.self, required: false), answer: .json(DoneAnswer.self),
            isIdempotent: true, refusals: [.forbidden, .notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let body = try request.decodeIfGiven(KickBody.self)
            let kick = CommandBody.kick(try request.user, banSeconds: body.banSeconds, body.options.notify)
            try await request.performDone(kick, body.options, service)
            return .done
        },
    ]

    /// A call that changes a member's standing and answers the member, as the client's operation does.
    private static func memberChange<Body: WireMessage>(
        _ method: APIMethod, _ action: String, name: String, summary: String,
        _ change: @escaping @Sendable (UserID, Body) -> (CommandBody, ServerOptions)
    ) -> Route {
        Route(
            method: method, path: "/v1/rooms/{room}/members/{user}/\(action)", name: name, roles: .moderation,
            summary: summary,
            request: RequestDescription(body: Body.self), answer: .json(MemberResult.self), isIdempotent: true,
            refusals: [.forbidden, .notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            let (command, options) = change(try request.user, try request.decode(Body.self))
            let result = try await request.perform(command, as: request.actor(options), service)
            guard case .member(let member) = result else { throw request.unexpected(result) }
            return APIResponse(MemberResult(member: member))
        }
    }
}
