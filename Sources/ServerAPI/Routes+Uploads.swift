import ChatModel
import Wire

extension Routes {
    /// Content that the app server sends into a room.
    static let uploads: [Route] = [
        Route(
            method: .post, path: "/v1/rooms/{room}/uploads", name: "upload", roles: .moderation,
            summary: "A place for content of a room; its bytes go to the client port of any gateway, by one PUT.",
            request: RequestDescription(body: UploadDraft.self), answer: .json(UploadResult.self), isIdempotent: true,
            refusals: [.forbidden, .notFound, .conflict, .tooLarge, .roomClosed]
        ) { request, service throws(ChatError) in
            let draft = try request.decode(UploadDraft.self)
            let result = try await request.perform(
                .registerUpload(draft), as: request.actor(ServerOptions()), service)
            guard case .upload(let ticket) = result else { throw request.unexpected(result) }
            return APIResponse(try await service.completed(UploadResult(ticket), in: try request.room))
        },
        Route(
            method: .delete, path: "/v1/rooms/{room}/uploads/{mediaId}", name: "removeUpload", roles: .moderation,
            summary: "Take content away, avatars too: nobody can read it any more. Messages that name it stay.",
            answer: .json(DoneAnswer.self), isIdempotent: true, refusals: [.notFound]
        ) { request, service throws(ChatError) in
            let result = try await request.perform(.removeUpload(mediaID: try request.mediaID), as: .system, service)
            guard case .done = result else { throw request.unexpected(result) }
            return .done
        },
    ]
}
