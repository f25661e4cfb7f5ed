import ChatModel
import Wire

extension Routes {
    /// Messages of before (PROTOCOL.md, "Import").
    static let imports: [Route] = [
        Route(
            method: .post, path: "/v1/rooms/{room}/import", name: "importMessages",
            summary: "Keep messages of before with their times: nobody is shown them. At most 256 KB.",
            request: RequestDescription(body: ImportBody.self), answer: .json(ImportResult.self), isFrequent: true,
            isIdempotent: true, refusals: [.notFound, .conflict, .roomClosed]
        ) { request, service throws(ChatError) in
            guard request.body.count <= Limits.importBytes else {
                throw ChatError(.tooLarge, "an import may have \(Limits.importBytes) bytes")
            }
            let body = try request.decode(ImportBody.self)
            let result = try await request.perform(
                .importMessages(body.messages, after: nil), as: .system, service)
            guard case .imported(let imported) = result else { throw request.unexpected(result) }
            return APIResponse(imported)
        }
    ]
}
