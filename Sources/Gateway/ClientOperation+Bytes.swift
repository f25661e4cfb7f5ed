import ChatModel
import Wire

/// What a change weighs (contract, "Rates"): the bytes of its contents, decoded, whatever encoding it came in.
extension ClientOperation {
    var contentBytes: Int {
        switch self {
        case .enter(let r): Self.bytes(r.nick, r.avatar, r.ext, r.notifyExt)
        case .send(let r): r.draft.contentBytes
        case .updateRoom(let r):
            Self.bytes(r.set.name, r.set.announcement, r.set.ext, r.set.broadcastUrl, r.options.notifyExt)
        case .updateMe(let r): Self.bytes(r.set.nick, r.set.avatar, r.set.ext, r.options.notifyExt)
        case .queueSet(let r): Self.bytes(r.key, r.value, r.options.notifyExt)
        case .queueSetMany(let r):
            r.values.reduce(Self.bytes(r.options.notifyExt)) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        case .queueTake(let r): Self.bytes(r.key, r.options.notifyExt)
        case .queueClear(let r): Self.bytes(r.options.notifyExt)
        case .setManager(let r), .setMember(let r), .setMute(let r): Self.bytes(r.options.notifyExt)
        case .setBlacklist(let r): Self.bytes(r.options.notifyExt)
        case .tempMute(let r): Self.bytes(r.options.notifyExt)
        case .kick(let r): Self.bytes(r.options.notifyExt)
        case .muteRoom(let r): Self.bytes(r.options.notifyExt)
        case .connect, .refresh, .ping, .exit, .barrage, .recall, .combined, .history, .room, .members, .membersById,
            .queue:
            0
        }
    }

    /// Whether a repeat of it can be told: one that was answered costs no rate (contract, "Retry").
    var hasClientID: Bool {
        switch self {
        case .send: true
        case .recall(let r): r.clientID != nil
        case .updateRoom(let r): r.clientID != nil
        case .updateMe(let r): r.clientID != nil
        case .setManager(let r), .setMember(let r), .setMute(let r): r.clientID != nil
        case .setBlacklist(let r): r.clientID != nil
        case .tempMute(let r): r.clientID != nil
        case .kick(let r): r.clientID != nil
        case .muteRoom(let r): r.clientID != nil
        case .queueSet(let r): r.clientID != nil
        case .queueSetMany(let r): r.clientID != nil
        case .queueTake(let r): r.clientID != nil
        case .queueClear(let r): r.clientID != nil
        case .connect, .refresh, .ping, .enter, .exit, .barrage, .combined, .history, .room, .members, .membersById,
            .queue:
            false
        }
    }

    fileprivate static func bytes(_ texts: String?...) -> Int { texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
}

extension MessageDraft {
    fileprivate var contentBytes: Int {
        (mentions + to).reduce(ClientOperation.bytes(ext)) { $0 + $1.text.utf8.count } + body.contentBytes
    }
}

extension MessageBody {
    fileprivate var contentBytes: Int {
        switch self {
        case .text(let text), .tip(let text): text.utf8.count
        case .command(let payload): payload.count
        case .image(let media), .audio(let media), .video(let media), .file(let media):
            ClientOperation.bytes(media.url, media.name, media.contentType, media.thumbnail)
        case .location(_, _, let title): title.utf8.count
        case .custom(let content, _, let searchable): ClientOperation.bytes(content, searchable)
        case .combine(let title, let summary, let messageIDs):
            messageIDs.reduce(ClientOperation.bytes(title, summary)) { $0 + $1.utf8.count }
        case .notification, .recalled, .unknown: 0
        }
    }
}
