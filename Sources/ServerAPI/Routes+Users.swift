import ChatModel
import Wire

extension Routes {
    /// Users, apart from any room.
    static let users: [Route] = [
        Route(
            method: .post, path: "/v1/users/{user}/token", name: "issueToken",
            summary: "Issue a token with which the user's clients connect.",
            request: RequestDescription(body: TokenBody.self, required: false),
            answer: .json(TokenAnswer.self), isFrequent: true
        ) { request, service throws(ChatError) in
            let user = try request.user
            let token = try request.decodeIfGiven(TokenBody.self)
            return APIResponse(TokenAnswer(token: try await service.issueToken(token.request(for: user))))
        },
        Route(
            method: .post, path: "/v1/users/{user}/revoke", name: "revokeUser",
            summary: "Refuse the user's tokens issued until now; out of all rooms, closed with 4401.",
            answer: .json(RevokedAnswer.self), isIdempotent: true
        ) { request, service throws(ChatError) in
            let key = request.idempotencyKey.map { "revoke\n\(request.path["user", default: ""])\n\($0)" }
            return APIResponse(RevokedAnswer(revokedAt: try await service.revoke(try request.user, id: key)))
        },
        Route(
            method: .post, path: "/v1/users/{user}/offline", name: "forceOffline", roles: .operation,
            summary: "End the user's sessions; closed with 4403. Tokens stay valid.",
            answer: .json(SessionCountAnswer.self), isIdempotent: true, keepsAnswer: true
        ) { request, service throws(ChatError) in
            let ended = try await service.forceOffline(try request.user)
            return APIResponse(SessionCountAnswer(sessions: Int64(ended.sessions), missing: ended.missing))
        },
        Route(
            method: .get, path: "/v1/users/{user}/sessions", name: "listUserSessions", roles: .operation,
            summary: "A user's sessions, oldest first.", answer: .json(SessionsView.self)
        ) { request, service throws(ChatError) in
            APIResponse(try await service.sessions(of: try request.user))
        },
        Route(
            method: .post, path: "/v1/users/{user}/messages", name: "sendDirect", roles: .moderation,
            summary: "Show a message to the user's connected sessions; answers how many took it.",
            request: RequestDescription(body: ServerSendRequest.self), answer: .json(ShownAnswer.self),
            isFrequent: true, isIdempotent: true, keepsAnswer: true, keyInBody: clientID, refusals: [.rejected]
        ) { request, service throws(ChatError) in
            let user = try request.user
            let message = try request.decode(ServerSendRequest.self).outside(time: request.time)
            return APIResponse(ShownAnswer(message, try await service.direct(message, to: user)))
        },
        Route(
            method: .post, path: "/v1/broadcast", name: "broadcast",
            summary: "Show a message to everyone online, at most once.",
            request: RequestDescription(body: ServerSendRequest.self), answer: .json(ShownAnswer.self),
            isIdempotent: true, keepsAnswer: true, keyInBody: clientID, refusals: [.rejected]
        ) { request, service throws(ChatError) in
            let message = try request.decode(ServerSendRequest.self).outside(time: request.time)
            return APIResponse(ShownAnswer(message, try await service.broadcast(message)))
        },
    ]

    /// A message's `clientId` does what the header does. A body that can't be read has none, and is refused later.
    private static let clientID: @Sendable (APIRequest) -> String? = { request in
        (try? request.decode(ServerSendRequest.self))?.callKey
    }
}

extension ServerSendRequest {
    /// The message as `direct` and `broadcast` show it: of no room, and kept nowhere.
    /// - Throws: 414 for what only a room can do.
    fileprivate func outside(time: Timestamp) throws(ChatError) -> Message {
        guard draft.to.isEmpty else { throw ChatError(.badParameter, "to is for messages of a room", field: "to") }
        guard draft.replyTo == nil else {
            throw ChatError(.badParameter, "replyTo is for messages of a room", field: "replyTo")
        }
        guard draft.body.type != .combine else {
            throw ChatError(.badParameter, "type COMBINE is for messages of a room", field: "type")
        }
        guard draft.body.media?.id == nil else {
            throw ChatError(
                .badParameter, "media.id is for messages of a room, which has the content", field: "media.id")
        }
        guard draft.body.media?.thumbnailID == nil else {
            throw ChatError(
                .badParameter, "a thumbnail's id is for messages of a room, which has the content",
                field: "media.thumbnail")
        }
        guard !moderate else {
            throw ChatError(.badParameter, "moderate is for messages of a room", field: "moderate")
        }
        let random = String(UInt128.random(in: .min ... .max), radix: 36)
        var fields = MessageFields(
            room: nil, place: .outside, messageID: "x\(random)", time: time,
            from: sender.map { Sender(user: $0.user, profile: $0.profile, role: .guest) }, body: draft.body)
        fields.clientID = clientID
        fields.priority = draft.priority
        fields.mentions = draft.mentions
        fields.mentionAll = draft.mentionAll
        fields.ext = draft.ext
        return Message(fields)
    }
}

extension ShownAnswer {
    fileprivate init(_ message: Message, _ shown: SessionCount) {
        messageID = message.messageID
        time = message.time
        sessions = Int64(shown.sessions)
        missing = shown.missing
    }
}
