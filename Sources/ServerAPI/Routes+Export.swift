import ChatModel
import Wire

extension Routes {
    /// A room's whole history in one call (PROTOCOL.md, "Export").
    static let export: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/export", name: "exportRoom", roles: .reading,
            summary: "All kept messages as lines of JSON, oldest first; the last line is {\"end\":true,\"seq\":n}.",
            query: [
                QueryDescription(
                    name: "after", meaning: "Only seqs above: the seq of the last line that came.",
                    schema: .integer(from: 0, to: nil)),
                QueryDescription(
                    name: "startTime", meaning: "Unix milliseconds: only messages of that time and later.",
                    schema: .integer(from: 0, to: nil)),
                QueryDescription(
                    name: "endTime", meaning: "Unix milliseconds: only messages of that time and before.",
                    schema: .integer(from: 0, to: nil)),
            ],
            answer: .text(contentType: APIResponse.linesType), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            let room = try request.room
            var page = HistoryRequest()
            page.ascending = true
            page.limit = Int(Limits.pageItems)
            page.afterSeq = try request.query.number("after", in: 0...UInt64.max)
            page.startTime = Timestamp(try request.query.number("startTime", in: 0...Int64.max) ?? 0)
            let endTime = try request.query.number("endTime", in: 0...Int64.max).map { Timestamp($0) }
            let source = RoomExport.Source(
                page: { (query) async throws(ChatError) in try await service.history(of: room, query) },
                createdAt: { () async throws(ChatError) in try await service.room(room).info.createdAt })
            let export = try await RoomExport(source, page, endTime: endTime)
            var answer = APIResponse(contentType: APIResponse.linesType, body: [])
            answer.stream = APIResponseStream { try await export.piece() }
            return answer
        }
    ]
}
