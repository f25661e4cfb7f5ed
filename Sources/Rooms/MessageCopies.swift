import ChatModel
import Wire

/// What a COMBINE copies.
struct MessageCopies: Sendable {
    /// In the order in which the COMBINE names them.
    var messages: [Message] = []
    /// What they count: as long as they are in JSON, so that `combined` shows all of them in one reply.
    var bytes = 0

    /// Copies of one COMBINE together, in bytes; more is 413. They travel in one log entry.
    static let bytesMax = Limits.pageBytes

    static var tooLarge: ChatError {
        ChatError(.tooLarge, "the messages have more than \(bytesMax) bytes", field: "messageIds")
    }

    /// Obtains the messages that a COMBINE names from the rooms that may have them, one room after the other. Throws 404
    /// for the first that none of the rooms has, or that is recalled, or that is a notification; 413 when they are too
    /// much together, as soon as that is known.
    /// - Parameter ask: what of the messages a room has, of which there is not too much.
    static func collect(
        _ messageIDs: [String], from rooms: [RoomID],
        _ ask: (RoomID) async throws(ChatError) -> [String: Message]
    ) async throws(ChatError) -> MessageCopies {
        var found: [String: Message] = [:]
        for room in rooms where found.count < messageIDs.count {
            do throws(ChatError) {
                found.merge(try await ask(room)) { first, _ in first }
            } catch {
                // A room that is gone has nothing; one that can't be asked now might have what is missing.
                guard error.code == .notFound || error.code == .roomClosed else { throw error }
            }
        }
        var copies = MessageCopies()
        for messageID in messageIDs {
            guard let copy = found[messageID] else {
                throw ChatError(
                    .notFound, "there is no message \(messageID) in the sender's rooms, or it is recalled",
                    field: "messageIds")
            }
            copies.bytes += HistoryCodec.shownBytes(copy)
            guard copies.bytes <= bytesMax else { throw tooLarge }
            copies.messages.append(copy)
        }
        return copies
    }
}
