import ChatModel
import Wire

/// The copies of a COMBINE.
struct MessageCopies: Sendable {
    /// In the order in which the COMBINE names them.
    var messages: [Message] = []
    /// The bytes that count: the length of the messages in JSON, so that `combined` shows all of them in one reply. A
    /// refused COMBINE counts the bytes that were read for it.
    var bytes = 0
    /// Why there are none.
    var refusal: ChatError?

    /// Copies of one COMBINE together, in bytes; more is 413. They travel in one log entry.
    static let bytesMax = Limits.pageBytes

    static var tooLarge: ChatError {
        ChatError(.tooLarge, "the messages have more than \(bytesMax) bytes", field: "messageIds")
    }

    init(refusal: ChatError? = nil, bytes: Int = 0) { (self.refusal, self.bytes) = (refusal, bytes) }

    /// Obtains the messages that a COMBINE names from the rooms that may have them, one room after the other. Refused
    /// with 404 for the first that none of the rooms has, or that is recalled, or that is a notification; with 413 when
    /// they are too much together, as soon as that is known.
    /// - Parameter ask: what of the messages a room has, of which there is not too much.
    static func collect(
        _ messageIDs: [String], from rooms: [RoomID],
        _ ask: (RoomID) async throws(ChatError) -> [String: Message]
    ) async -> MessageCopies {
        var found: [String: Message] = [:]
        for room in rooms where found.count < messageIDs.count {
            do throws(ChatError) {
                found.merge(try await ask(room)) { first, _ in first }
            } catch {
                // A room that is gone has nothing; one that can't be asked now might have what is missing.
                guard error.code == .notFound || error.code == .roomClosed else {
                    // How much it had read before it failed is not known.
                    return MessageCopies(refusal: error, bytes: bytesMax)
                }
            }
        }
        let sizes = found.mapValues(HistoryCodec.shownBytes)
        var copies = MessageCopies()
        var missing: String?
        for messageID in messageIDs {
            guard let copy = found[messageID], let size = sizes[messageID] else {
                missing = missing ?? messageID
                continue
            }
            copies.bytes += size
            guard copies.bytes <= bytesMax else { return MessageCopies(refusal: tooLarge, bytes: bytesMax) }
            copies.messages.append(copy)
        }
        guard let missing else { return copies }
        let error = ChatError(
            .notFound, "there is no message \(missing) in the sender's rooms, or it is recalled", field: "messageIds")
        return MessageCopies(refusal: error, bytes: copies.bytes)
    }
}
