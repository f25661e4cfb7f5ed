import ChatModel
import History
import RoomCore
import Wire

/// COMBINE: the room keeps copies of the messages that it names (PROTOCOL.md, "Message").
extension RoomActor {
    /// The messages among these that this room has, for a room that combines them: no recalled ones, and no
    /// notifications. Nothing for somebody who is not here.
    func copies(
        _ messageIDs: [String], for user: UserID?,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<[String: Message], ChatError>) -> Void
    ) {
        guard user.map({ presence.isHere($0) }) ?? true else { return completion(self, .success([:])) }
        copy(messageIDs[...], [:], completion)
    }

    /// - Parameter bytes: of what was found; more than a COMBINE may copy is not read.
    private func copy(
        _ messageIDs: ArraySlice<String>, _ found: [String: Message], bytes: Int = 0,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<[String: Message], ChatError>) -> Void
    ) {
        guard bytes <= MessageCopies.bytesMax else { return completion(self, .failure(MessageCopies.tooLarge)) }
        guard let messageID = messageIDs.first else { return completion(self, .success(found)) }
        let rest = messageIDs.dropFirst()
        find(messageID) { room, result in
            var (found, bytes) = (found, bytes)
            switch result {
            case .success(let message):
                if !message.isRecalled, message.body.type != .notification {
                    var copy = message
                    // The sender's own business.
                    copy.clientID = nil
                    found[messageID] = copy
                    bytes += HistoryCodec.shownBytes(copy)
                }
            case .failure(let error):
                guard error.code == .notFound else { return completion(room, .failure(error)) }
            }
            room.copy(rest, found, bytes: bytes, completion)
        }
    }

    /// The copies that a COMBINE of this room holds. Fails with 404 when there is no such message, and for one that
    /// is recalled, whose copies are gone with its body.
    func combined(
        _ messageID: String, for reader: HistoryReader,
        _ completion: @escaping @Sendable (isolated RoomActor, Result<[Message], ChatError>) -> Void
    ) {
        let missing = ChatError(.notFound, "there is no COMBINE \(messageID) in \(id)", field: "messageId")
        guard case .kept(let incarnation, let seq)? = MessageID.parse(messageID), incarnation == state.incarnation
        else { return completion(self, .failure(missing)) }
        readRow(incarnation, seq, missing, withCopies: true, for: reader) { room, result in
            completion(
                room,
                result.flatMap { row in
                    guard !row.recalled, let message = try? HistoryCodec.decode(row.payload),
                        case .combine = message.body,
                        let copies = try? HistoryCodec.decodeCopies(row.copies ?? [])
                    else { return .failure(missing) }
                    return .success(copies)
                })
        }
    }
}
