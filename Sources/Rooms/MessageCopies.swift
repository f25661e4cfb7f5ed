import ChatModel
import Wire

/// Obtains the messages that a COMBINE names from the rooms that may have them, one room after the other.
enum MessageCopies {
    /// Together in bytes: they travel in one log entry. More is 413.
    static let bytesMax = 768 * 1024

    /// In the order of the IDs. Throws 404 for the first that none of the rooms has, or that is recalled, or that is a
    /// notification; 413 when they are too much together.
    /// - Parameter ask: what of the messages a room has.
    static func collect(
        _ messageIDs: [String], from rooms: [RoomID],
        _ ask: (RoomID) async throws(ChatError) -> [String: Message]
    ) async throws(ChatError) -> [Message] {
        var found: [String: Message] = [:]
        for room in rooms where found.count < messageIDs.count {
            do throws(ChatError) {
                found.merge(try await ask(room)) { first, _ in first }
            } catch {
                // A room that is gone has nothing; one that can't be asked now might have what is missing.
                guard error.code == .notFound || error.code == .roomClosed else { throw error }
            }
        }
        var copies: [Message] = []
        var bytes = 0
        for messageID in messageIDs {
            guard let copy = found[messageID] else {
                throw ChatError(
                    .notFound, "there is no message \(messageID) in the sender's rooms, or it is recalled",
                    field: "messageIds")
            }
            bytes += HistoryCodec.encode(copy).count
            guard bytes <= bytesMax else {
                throw ChatError(.tooLarge, "the messages have more than \(bytesMax) bytes", field: "messageIds")
            }
            copies.append(copy)
        }
        return copies
    }
}
