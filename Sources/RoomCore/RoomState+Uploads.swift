import ChatModel

/// Content that the cluster stores for the room. The room's log holds who may send it, its digest and the messages that name
/// it, so that every replica knows it and a recall ends it; the bytes are in the media store.
extension RoomState {
    // MARK: - Sending it

    /// A place for content. Its ID is a fact, for nobody must be able to guess it.
    mutating func registerUpload(
        _ draft: UploadDraft, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireMayRegister(by: command.actor, at: outcome.time)
        guard let mediaID = command.facts.mediaID, uploads[mediaID] == nil else {
            throw ChatError(.internal, "the place has no name")
        }
        let record = UploadRecord(draft: draft, user: command.actor.user, createdAt: outcome.time)
        put(record, of: mediaID, &outcome)
        return .upload(
            UploadTicket(
                mediaID: mediaID, contentType: draft.contentType,
                expiresAt: outcome.time.adding(seconds: Limits.uploadSeconds)))
    }

    /// Throws where a place would be refused: asked before the day's bytes are taken, too.
    public func requireMayRegister(by actor: Actor, at now: Timestamp) throws(ChatError) {
        guard case .member(let user, _, let anonymous) = actor else {
            return try requirePlaces(for: 1, of: actor, field: nil)
        }
        try maySpeak(user, anonymous: anonymous, at: now)
        try requirePlaces(for: 1, of: actor, field: nil)
        guard uploads.unnamed(of: user) < Limits.unnamedUploadsPerUser else {
            throw ChatError(
                .conflict, "\(user) has \(Limits.unnamedUploadsPerUser) places that no message names in \(room)")
        }
    }

    private func requirePlaces(for number: Int, of actor: Actor, field: String?) throws(ChatError) {
        var user: UserID?
        if case .member(let member, _, _) = actor { user = member }
        guard uploads.hasPlaces(for: number, of: user) else {
            let sentence =
                uploads.hasPlaces(for: number, of: nil)
                ? "nobody has more content in \(room) than there are places left"
                : "\(room) has \(Limits.uploadsPerRoom) pieces of content already"
            throw ChatError(.conflict, sentence, field: field)
        }
    }

    /// The bytes are stored. If two were sent at the same time, the first one counts.
    mutating func completeUpload(
        _ mediaID: String, _ digest: String, isInline: Bool, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        guard var record = uploads[mediaID] else { throw noContent(mediaID, "mediaId") }
        // The same said again: the answer to the first time may have been lost.
        if record.digest == digest { return .done }
        guard record.digest == nil else { throw ChatError(.conflict, "\(mediaID) has been sent already") }
        // An app server sends those of many.
        if record.draft.kind == .avatar, let user = record.user {
            for former in uploads.avatars(of: user) {
                guard var old = uploads[former] else { continue }
                old.replacedAt = outcome.time
                put(old, of: former, &outcome)
            }
        }
        (record.digest, record.isInline) = (digest, isInline)
        put(record, of: mediaID, &outcome)
        // Each user has one in use, so nobody drives out more than one of others.
        if let oldest = uploads.avatarTooMany(besides: mediaID) { put(nil, of: oldest, &outcome) }
        return .done
    }

    // MARK: - Naming it

    /// The body with what the room knows of the content that it names. Throws 404 for content that was not sent, 403 for that
    /// of another room, 409 where too many messages name it, 414 for content of another kind.
    public func completed(_ body: MessageBody) throws(ChatError) -> MessageBody {
        guard var media = body.media else { return body }
        guard media.id != nil || media.thumbnailID != nil else { return body }
        if let id = media.id {
            let draft = try nameable(id, "media.id").draft
            guard draft.kind.rawValue == body.type.rawValue else {
                throw ChatError(.badParameter, "\(id) is of the kind \(draft.kind.rawValue)", field: "media.id")
            }
            (media.url, media.name) = (MediaID.path(id, in: room), draft.name)
            (media.size, media.contentType) = (draft.size, draft.contentType)
        }
        if let id = media.thumbnailID {
            guard try nameable(id, "media.thumbnail").draft.kind == .image else {
                throw ChatError(.badParameter, "a thumbnail is an IMAGE", field: "media.thumbnail")
            }
            media.thumbnail = MediaID.path(id, in: room)
        }
        return body.with(media)
    }

    private func nameable(_ id: String, _ field: String) throws(ChatError) -> UploadRecord {
        guard let record = uploads[id], record.digest != nil else {
            if uploads[id] == nil, let known = MediaID(id), !known.isOf(room) {
                throw ChatError(.forbidden, "\(id) is content of another room", field: field)
            }
            throw noContent(id, field)
        }
        guard record.references.count < Limits.referencesPerUpload else {
            throw tooManyName(id, field)
        }
        return record
    }

    /// Throws 409 where a piece of content that a kept message names, or a copy in it, has all the messages that it may have:
    /// it would go with them while this one shows it.
    func requireMayRefer(to body: MessageBody, copies: [Message]) throws(ChatError) {
        for id in named(by: body, copies) {
            guard let record = uploads[id], record.references.count >= Limits.referencesPerUpload else { continue }
            throw tooManyName(id, "media.id")
        }
    }

    private func tooManyName(_ id: String, _ field: String) -> ChatError {
        ChatError(.conflict, "\(Limits.referencesPerUpload) messages name \(id) already", field: field)
    }

    private func noContent(_ id: String, _ field: String) -> ChatError {
        ChatError(.notFound, "there is no content \(id) in \(room)", field: field)
    }

    /// Throws 409 where a COMBINE copies more content of other rooms than this one still has places for: its pictures would be
    /// nowhere.
    func requireMayAdopt(_ command: Command) throws(ChatError) {
        guard command.facts.hasRareParts else { return }
        let shared = command.facts.sharedUploads.count { uploads[$0.mediaID] == nil }
        if shared > 0 { try requirePlaces(for: shared, of: command.actor, field: "messageIds") }
    }

    /// Content of other rooms that a COMBINE copies is this room's, too, and counts as that of the COMBINE's sender.
    mutating func adoptShared(_ command: Command, _ outcome: inout Outcome) {
        guard command.facts.hasRareParts else { return }
        for shared in command.facts.sharedUploads where uploads[shared.mediaID] == nil {
            var record = shared.record
            record.user = command.actor.user
            (record.references, record.shownUntil, record.createdAt) = ([], nil, outcome.time)
            record.heldUntil = nil
            put(record, of: shared.mediaID, &outcome)
        }
    }

    /// A message names content: from now on it lives as long as the message. A message that is not kept shows it for an hour.
    /// - Parameter copies: of a COMBINE.
    mutating func refer(
        to body: MessageBody, copies: [Message], _ place: MessagePlace, keptSince: Timestamp?, _ outcome: inout Outcome
    ) {
        for id in named(by: body, copies) {
            guard var record = uploads[id] else { continue }
            if case .kept(let seq) = place {
                guard record.references.count < Limits.referencesPerUpload else { continue }
                let life = keptSince.map { outcome.time.milliseconds(since: $0) } ?? Self.lifeMilliseconds
                record.references.append(
                    UploadReference(
                        seq: seq, keptUntil: outcome.time.adding(milliseconds: max(0, life)), time: outcome.time))
            } else {
                record.shownUntil = outcome.time.adding(seconds: Limits.uploadSeconds)
            }
            put(record, of: id, &outcome)
        }
    }

    /// A message that names content waits for a manager: nobody reads it until then, and it stays for longer than that.
    mutating func referHeld(
        to body: MessageBody, copies: [Message], until end: Timestamp, _ outcome: inout Outcome
    ) {
        let end = end.adding(seconds: Limits.uploadSeconds)
        for id in named(by: body, copies) {
            guard var record = uploads[id] else { continue }
            record.heldUntil = max(end, record.heldUntil ?? end)
            put(record, of: id, &outcome)
        }
    }

    /// The content of this room that a message names.
    private func named(by body: MessageBody, _ copies: [Message]) -> [String] {
        guard uploads.count > 0 else { return [] }
        var ids: [String] = []
        for media in [body.media] + copies.map(\.body.media) {
            for id in [media?.id, media?.thumbnailID] {
                // A COMBINE may copy content of other rooms, and the same twice.
                if let id, uploads[id] != nil, !ids.contains(id) { ids.append(id) }
            }
        }
        return ids
    }

    /// The life of messages, where the leader has not stated it.
    static var lifeMilliseconds: Int64 { RoomPolicy().retentionDays * Timestamp.millisecondsPerDay }

    // MARK: - Its end

    /// Messages are recalled: content goes with the last one that names it.
    mutating func unrefer(_ seqs: [UInt64], _ outcome: inout Outcome) {
        for seq in seqs {
            for id in uploads.named(by: seq) {
                guard var record = uploads[id] else { continue }
                record.references.removeAll { $0.seq == seq }
                let isShown = record.shownUntil.map { $0 > outcome.time } ?? false
                let isHeld = record.heldUntil.map { $0 > outcome.time } ?? false
                put(record.references.isEmpty && !isShown && !isHeld ? nil : record, of: id, &outcome)
            }
        }
    }

    /// Content that nobody shall see any more. Messages that name it stay, and so does what other rooms have of it.
    mutating func removeUpload(
        _ mediaID: String, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        guard uploads[mediaID] != nil else { throw noContent(mediaID, "mediaId") }
        put(nil, of: mediaID, &outcome)
        return .done
    }

    /// Content whose time is over goes, at most `countMax` pieces; also of a deleted room that can be restored.
    mutating func endUploads(countMax: Int, _ outcome: inout Outcome) {
        for _ in 0..<countMax {
            guard let due = (deleted?.uploads ?? uploads).deadlines.first, due.time <= outcome.time else { return }
            if deleted != nil { deleted?.uploads.set(nil, of: due.id) } else { uploads.set(nil, of: due.id) }
            outcome.rows.append(CatalogueChange(kind: .upload, key: due.id, value: nil))
        }
    }

    private mutating func put(_ record: UploadRecord?, of id: String, _ outcome: inout Outcome) {
        uploads.set(record, of: id)
        outcome.rows.append(
            CatalogueChange(kind: .upload, key: id, value: record.map { .upload($0) }, deadline: record?.deadline))
    }

    // MARK: - For the leader

    /// A piece of content; nil when the room has none of that ID.
    public func upload(_ id: String) -> UploadRecord? { uploads[id] }

    /// The digests of those of the pieces that must be kept: empty while they have not been sent. Those of a deleted room that
    /// can be restored are kept too.
    public func keptUploads(_ ids: [String]) -> [String: String] {
        let table = deleted?.uploads ?? uploads
        return Dictionary(ids.compactMap { id in table[id].map { (id, $0.digest ?? "") } }) { first, _ in first }
    }
}
