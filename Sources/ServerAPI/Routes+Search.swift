import ChatModel
import Wire

extension Routes {
    /// Looking for messages (PROTOCOL.md, "Search").
    static let search: [Route] = [
        Route(
            method: .get, path: "/v1/rooms/{room}/search", name: "searchMessages", roles: .reading,
            summary: "Messages that have a text, the newest first. A page with few or none may have a `next`.",
            query: searchQuery, answer: .json(SearchResult.self), refusals: [.notFound]
        ) { request, service throws(ChatError) in
            APIResponse(try await service.search(try searchRequest(request.query, in: try request.room)))
        }
    ]

    private static let searchQuery = [
        QueryDescription(
            name: "text",
            meaning: "Beginnings of words, and characters of Chinese, Japanese and Korean; at most 64 characters.",
            schema: .text(bytes: Limits.searchTextBytes), required: true),
        QueryDescription(
            name: "user", meaning: "Only messages of this user.", schema: .text(bytes: Limits.opaqueIDBytes)),
        QueryDescription(
            name: "types", meaning: "Comma-separated message types; all when absent.", schema: .text(bytes: nil)),
        QueryDescription(
            name: "startTime", meaning: "Unix milliseconds; only messages at or after it.",
            schema: .integer(from: 0, to: nil)),
        QueryDescription(
            name: "endTime", meaning: "Unix milliseconds; only messages at or before it.",
            schema: .integer(from: 0, to: nil)),
        limitQuery(default: Limits.searchItemsDefault),
        QueryDescription(
            name: "after", meaning: "`next` of the page before.", schema: .text(bytes: Limits.opaqueIDBytes)),
    ]

    private static func searchRequest(_ query: QueryParameters, in room: RoomID) throws(ChatError) -> SearchRequest {
        guard let text = try query.text("text") else {
            throw ChatError(.badParameter, "text is missing", field: "text")
        }
        guard text.utf8.count <= Limits.searchTextBytes else {
            throw ChatError(.tooLarge, "text has more than \(Limits.searchTextBytes) bytes", field: "text")
        }
        var request = SearchRequest(room: room, text: text)
        try request.checkText()
        if let name = try query.text("user") {
            guard let user = UserID(name) else { throw ChatError(.badParameter, "user is no user's ID", field: "user") }
            request.user = user
        }
        request.types = try query.choices("types", of: MessageType.self)
        request.startTime = Timestamp(try query.number("startTime", in: 0...Int64.max) ?? 0)
        request.endTime = Timestamp(try query.number("endTime", in: 0...Int64.max) ?? 0)
        request.limit = Int64(try query.limit(default: Limits.searchItemsDefault))
        request.after = try query.cursor("after")
        return request
    }
}
