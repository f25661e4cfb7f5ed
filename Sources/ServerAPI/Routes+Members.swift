import ChatModel
import Wire

extension Routes {
    /// Who is in a room.
    static let members: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/members", name: "listMembers", summary: "List a room's members.",
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
            method: .get, path: "/v1/rooms/{room}/members/{user}", name: "getMember", summary: "One member of a room.",
            answer: .json(Member.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(try await service.member(try request.user, of: try request.room))
        },
    ]
}
