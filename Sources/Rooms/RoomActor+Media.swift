import ChatModel
import GroupDriver
import RoomCore
import Wire

/// Content that the cluster stores, where the room's state alone does not know enough (PROTOCOL.md, "Media").
extension RoomActor {
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

    /// The body as whoever reviews it gets it: with what the room knows of the content that it names, and with a URL at which that
    /// can be read.
    func forReview(_ body: MessageBody) throws(ChatError) -> MessageBody {
        withReviewURL(try state.completed(body))
    }

    func forReview(_ message: Message) -> Message {
        guard message.body.media?.id != nil else { return message }
        var message = message
        message.body = withReviewURL(message.body)
        return message
    }

    private func withReviewURL(_ body: MessageBody) -> MessageBody {
        guard var media = body.media, let mediaID = media.id, let store = context.media else { return body }
        media.reviewURL = store.reviewURL(of: mediaID, in: id)
        return body.with(media)
    }
}
