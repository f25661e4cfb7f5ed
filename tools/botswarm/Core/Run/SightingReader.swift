import ChatModel
import Wire

/// Turns what the wire says into what the ledger compares.
package struct SightingReader: Sendable {
    package let names: BotNames

    package init(names: BotNames) { self.names = names }

    /// A message with a seq; nil for one without.
    package func kept(_ message: Message) -> KeptSighting? {
        guard let seq = message.seq else { return nil }
        return KeptSighting(
            seq: seq, messageID: Fingerprint(message.messageID), body: body(of: message), origin: origin(of: message),
            time: message.time, sentAt: Self.sentAt(message.ext))
    }

    /// A message without a seq; nil for one with it, and for what belongs to no room.
    package func unkept(_ message: Message) -> UnkeptSighting? {
        guard case .unkept(let after) = message.place else { return nil }
        return UnkeptSighting(
            after: after, messageID: Fingerprint(message.messageID), body: body(of: message),
            origin: origin(of: message), time: message.time, sentAt: Self.sentAt(message.ext))
    }

    /// Those of a page that have a seq; a page of history has no others.
    package func page(_ messages: [Message]) -> [KeptSighting] { messages.compactMap(kept) }

    package func barrage(_ item: BarrageItem) -> BarrageSighting {
        BarrageSighting(
            body: Fingerprint(item.text), claim: names.claim(in: item.text, sender: item.from?.user), count: item.count,
            sentAt: Self.sentAt(item.ext))
    }

    /// The `ext` of a message that tells when it was sent, for bots of other workers.
    package static func ext(sentAt: SwarmInstant) -> String { String(sentAt.nanoseconds, radix: 36) }

    private static func sentAt(_ ext: String?) -> SwarmInstant? {
        guard let ext, !ext.isEmpty, ext.utf8.count <= 13 else { return nil }
        return UInt64(ext, radix: 36).map(SwarmInstant.init)
    }

    private func body(of message: Message) -> Fingerprint {
        switch message.body {
        case .text(let text): Fingerprint(text)
        case .notification(let notification): Fingerprint(kind: "notification", notification.event.rawValue)
        default: Fingerprint(kind: message.body.type.rawValue, message.isRecalled ? 1 : 0)
        }
    }

    private func origin(of message: Message) -> SightingOrigin {
        switch message.body {
        case .text(let text): names.claim(in: text, sender: message.from?.user).map(SightingOrigin.bot) ?? .foreign
        case .notification(let notification): .notification(RoomEvent(notification))
        default: .foreign
        }
    }
}
