import ChatModel
import History
import RoomCore
import Wire

/// COMBINE: the room keeps copies of the messages that it names (PROTOCOL.md, "Message").
extension RoomActor {
    /// The messages among these that this room has, for a room that combines them: no recalled ones, and no
    /// notifications. Nothing for somebody who is not here. Throws 413 when they are more than a COMBINE may copy.
    func copies(_ messageIDs: [String], for user: UserID?) async throws(ChatError) -> [String: Message] {
        guard user.map({ presence.isHere($0) }) ?? true else { return [:] }
        var found: [String: Message] = [:]
        var bytes = 0
        for messageID in messageIDs {
            guard bytes <= MessageCopies.bytesMax else { throw MessageCopies.tooLarge }
            var copy: Message
            do throws(ChatError) {
                copy = try await message(messageID)
            } catch {
                guard error.code == .notFound else { throw error }
                continue
            }
            guard !copy.isRecalled, copy.body.type != .notification else { continue }
            // The sender's own business.
            copy.clientID = nil
            // A copy stays when the message that it quotes is recalled.
            copy.replyTo = copy.replyTo?.withoutExcerpt
            found[messageID] = copy
            bytes += HistoryCodec.shownBytes(copy)
        }
        guard bytes <= MessageCopies.bytesMax else { throw MessageCopies.tooLarge }
        return found
    }

    /// The copies that a COMBINE of this room holds. Throws 404 when there is no such message, and for one that is
    /// recalled, whose copies are gone with its body.
    func combined(_ messageID: String, for reader: HistoryReader) async throws(ChatError) -> [Message] {
        let missing = ChatError(.notFound, "there is no COMBINE \(messageID) in \(id)", field: "messageId")
        guard case .kept(let incarnation, let seq)? = MessageID.parse(messageID), incarnation == state.incarnation
        else { throw missing }
        let row = try await row(incarnation, seq, orThrow: missing, withCopies: true, for: reader)
        guard !row.recalled, let message = try? HistoryCodec.decode(row.payload), case .combine = message.body,
            let copies = try? HistoryCodec.decodeCopies(row.copies ?? [])
        else { throw missing }
        return copies
    }
}
