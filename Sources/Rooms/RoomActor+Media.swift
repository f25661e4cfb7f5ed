import ChatModel
import GroupDriver
import RoomCore
import Wire

/// Content that the cluster stores, where the room's state alone does not know enough (PROTOCOL.md, "Media").
extension RoomActor {
    // MARK: - Past the cluster

    /// The answer to `upload` with the place at a store elsewhere; gateways know their own places themselves.
    func placed(_ result: Result<OperationResult, ChatError>) -> Result<OperationResult, ChatError> {
        guard case .success(.upload(var ticket)) = result, let media = context.media, media.isElsewhere,
            let draft = state.upload(ticket.mediaID)?.draft, let place = media.place(of: ticket, draft, in: id)
        else { return result }
        ticket.take(place)
        return .success(.upload(ticket))
    }

    /// Content that a message names and of which the room does not know yet whether it was sent, because it goes past the
    /// cluster.
    func unsettled(in body: CommandBody) -> [(id: String, draft: UploadDraft)] {
        guard case .post(let draft) = body, let named = draft.body.media, context.media?.isElsewhere == true else {
            return []
        }
        return [named.id, named.thumbnailID].compactMap { mediaID in
            guard let mediaID, let record = state.upload(mediaID), record.digest == nil else { return nil }
            return (mediaID, record.draft)
        }
    }

    /// Asks the store for such content.
    func settle(_ body: CommandBody) async throws(ChatError) {
        for content in unsettled(in: body) {
            try await context.media?.settle(content.id, content.draft, in: id)
        }
    }

    // MARK: - Copies

    /// Makes the content that copies of other rooms name this room's, too: it lives here as long as the COMBINE, and its URL is of
    /// this room. Content that can't be shared keeps its URL.
    func share(_ facts: inout FoundFacts) async {
        guard context.media != nil, context.cluster.level.brings(.media) else { return }
        var shared = SharedContent()
        for place in facts.copies.messages.indices {
            let copy = facts.copies.messages[place]
            guard let other = copy.room, other != id, var media = copy.body.media else { continue }
            if let mediaID = media.id, await isShared(mediaID, of: other, &shared) {
                media.url = MediaID.path(mediaID, in: id)
            }
            if let mediaID = media.thumbnailID, await isShared(mediaID, of: other, &shared) {
                media.thumbnail = MediaID.path(mediaID, in: id)
            }
            facts.copies.messages[place].body = copy.body.with(media)
        }
        facts.shared = shared.uploads
    }

    private struct SharedContent {
        var uploads: [SharedUpload] = []
        /// Whether it could be shared, by ID.
        var known: [String: Bool] = [:]
    }

    private func isShared(_ mediaID: String, of other: RoomID, _ shared: inout SharedContent) async -> Bool {
        if let isKnown = shared.known[mediaID] { return isKnown }
        var isShared = state.upload(mediaID)?.digest != nil
        if !isShared, let record = await context.media?.share(mediaID, of: other, with: id) {
            shared.uploads.append(SharedUpload(mediaID: mediaID, record: record))
            isShared = true
        }
        shared.known[mediaID] = isShared
        return isShared
    }

    // MARK: - Reviews

    /// The body as whoever reviews it gets it: with what the room knows of the content that it names, and with a URL at which that
    /// can be read.
    func forReview(_ body: MessageBody) throws(ChatError) -> MessageBody {
        withReviewURL(try state.completed(body))
    }

    func forReview(_ message: Message) -> Message {
        guard let media = message.body.media, media.id != nil || media.thumbnailID != nil else { return message }
        var message = message
        message.body = withReviewURL(message.body)
        return message
    }

    private func withReviewURL(_ body: MessageBody) -> MessageBody {
        guard var media = body.media, let store = context.media else { return body }
        media.reviewURL = media.id.map { store.reviewURL(of: $0, in: id) }
        media.thumbnailReviewURL = media.thumbnailID.map { store.reviewURL(of: $0, in: id) }
        return body.with(media)
    }
}
