import ChatModel
import Testing

@testable import RoomCore

/// Content that the cluster stores for a room (PROTOCOL.md, "Media").
@Suite struct UploadTests {
    fileprivate static let digest = String(repeating: "ab", count: 32)

    fileprivate static func draft(_ kind: UploadKind = .image) -> UploadDraft {
        UploadDraft(kind: kind, name: "cat.png", contentType: "image/png", size: 9)
    }

    /// A place for content, by the number of its random part.
    fileprivate static func register(
        _ it: inout Dialogue, _ number: UInt64 = 1, _ kind: UploadKind = .image, by actor: Actor = member("bob")
    ) -> String {
        it.facts.mediaID = MediaID(in: it.room, random: (number, 7)).text
        defer { it.facts.mediaID = nil }
        guard case .upload(let ticket)? = it.run(.registerUpload(draft(kind)), by: actor).result else {
            Issue.record("no place")
            return ""
        }
        return ticket.mediaID
    }

    fileprivate static func complete(_ it: inout Dialogue, _ id: String) -> CommandResult? {
        it.run(.completeUpload(mediaID: id, digest: digest, isInline: true), by: .system).result
    }

    fileprivate static func naming(_ id: String?, thumbnail: String? = nil, keep: Bool = true) -> CommandBody {
        var media = Media(url: id == nil ? "https://elsewhere" : "", name: "", size: 0, contentType: "")
        (media.id, media.thumbnailID) = (id, thumbnail)
        var draft = MessageDraft(body: .image(media))
        draft.keep = keep
        return .post(draft)
    }

    fileprivate static func post(_ it: inout Dialogue, _ body: CommandBody) throws -> Message {
        try #require(it.run(body, by: member("bob")).shown.first)
    }

    fileprivate static func recall(_ it: inout Dialogue, _ message: Message) throws {
        let target = RecallTarget(
            seq: try #require(message.seq), sender: message.from?.user, time: message.time, type: .image)
        it.run(.recall([target], NotifyOptions()), by: .system)
    }

    @Test func `a message names content that was sent, and the room fills in what it knows`() throws {
        var it = Dialogue()
        let (id, small) = (Self.register(&it), Self.register(&it, 2))
        #expect(it.run(Self.naming(id), by: member("bob")).code == .notFound, "it was not sent yet")
        #expect(Self.complete(&it, id) == .done && Self.complete(&it, small) == .done)
        let media = try #require(try Self.post(&it, Self.naming(id, thumbnail: small)).body.media)
        #expect(media.url == "/v1/media/r/\(id)" && media.name == "cat.png" && media.size == 9)
        #expect(media.contentType == "image/png" && media.thumbnail == "/v1/media/r/\(small)" && media.id == id)
        #expect(it.state.upload(id)?.isReadable(at: it.now) == true)
        // Content of elsewhere may have a thumbnail here.
        #expect(
            try Self.post(&it, Self.naming(nil, thumbnail: small)).body.media?.thumbnail == "/v1/media/r/\(small)")
    }

    @Test func `content of another room is 403, and what never was is 404`() throws {
        var it = Dialogue()
        let other = try #require(RoomID("other"))
        let foreign = MediaID(in: other, random: (1, 7)).text
        #expect(it.run(Self.naming(foreign), by: member("bob")).code == .forbidden)
        #expect(it.run(Self.naming(MediaID(in: it.room, random: (3, 3)).text), by: member("bob")).code == .notFound)
        #expect(it.run(Self.naming("nonsense"), by: member("bob")).code == .notFound)
        let file = Self.register(&it, 4, .file)
        #expect(Self.complete(&it, file) == .done)
        #expect(it.run(Self.naming(file), by: member("bob")).code == .badParameter, "a FILE is no IMAGE")
    }

    @Test func `who may not speak sends nothing, and only the cluster says that bytes are stored`() {
        var it = Dialogue()
        it.facts.mediaID = MediaID(in: it.room, random: (1, 7)).text
        it.run(.setMute(user("mute"), enable: true, NotifyOptions(notify: false)), by: .system)
        #expect(it.run(.registerUpload(Self.draft()), by: member("mute")).code == .muted)
        #expect(it.run(.registerUpload(Self.draft()), by: member("eve", anonymous: true)).code == .forbidden)
        let id = Self.register(&it, 1)
        let body = CommandBody.completeUpload(mediaID: id, digest: Self.digest, isInline: true)
        #expect(it.run(body, by: member("bob")).code == .forbidden)
        #expect(Self.complete(&it, id) == .done)
        #expect(it.run(body, by: .system).result == .done, "its answer was lost, and it is said again")
        let other = CommandBody.completeUpload(mediaID: id, digest: String(Self.digest.reversed()), isInline: true)
        #expect(it.run(other, by: .system).code == .conflict, "other bytes")
    }

    @Test func `the server API takes content away, also what a message names, and in a closed room`() throws {
        var it = Dialogue()
        let (avatar, image) = (Self.register(&it, 1, .avatar), Self.register(&it, 2))
        #expect(Self.complete(&it, avatar) == .done && Self.complete(&it, image) == .done)
        let message = try Self.post(&it, Self.naming(image))
        #expect(it.run(.removeUpload(mediaID: avatar), by: member("bob")).code == .forbidden)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        for id in [avatar, image] {
            #expect(it.run(.removeUpload(mediaID: id), by: .system).result == .done)
            #expect(it.state.upload(id) == nil && it.state.keptUploads([id]).isEmpty)
            #expect(it.run(.removeUpload(mediaID: id), by: .system).code == .notFound)
        }
        // Its bytes may come late.
        let late = CommandBody.completeUpload(mediaID: image, digest: Self.digest, isInline: true)
        #expect(it.run(late, by: .system).code == .notFound)
        // The message that named it goes as any other.
        it.run(.reopenRoom, by: .system)
        try Self.recall(&it, message)
    }

    @Test func `an app server's avatars of many people stay`() {
        var it = Dialogue()
        let (first, second) = (Self.register(&it, 1, .avatar, by: .system), Self.register(&it, 2, .avatar, by: .system))
        #expect(Self.complete(&it, first) == .done && Self.complete(&it, second) == .done)
        #expect(it.state.uploads[first]?.replacedAt == nil && it.state.uploads[second]?.replacedAt == nil)
    }

    @Test(arguments: Seed.seeds(10)) func `what a table counts is what a walk over it finds`(seed: UInt64) {
        var random = Seed(seed)
        var table = UploadTable()
        let users = [user("ann"), user("bob"), nil]
        for step in 0..<400 {
            let id = "\(Int.random(in: 0..<30, using: &random))"
            var record = UploadRecord(
                draft: Self.draft(Bool.random(using: &random) ? .avatar : .image), user: users[step % 3],
                createdAt: Timestamp(Int64(step)))
            if Bool.random(using: &random) { record.digest = Self.digest }
            if Bool.random(using: &random) { record.replacedAt = Timestamp(1) }
            if Bool.random(using: &random) { record.shownUntil = Timestamp(2) }
            if Bool.random(using: &random) {
                record.references = [UploadReference(seq: UInt64(step), keptUntil: Timestamp(9))]
            }
            table.set(Int.random(in: 0..<4, using: &random) == 0 ? nil : record, of: id)
            for user in users.compactMap({ $0 }) {
                let own = table.records.filter { $0.value.user == user }
                let avatars = own.filter {
                    $0.value.draft.kind == .avatar && $0.value.digest != nil && $0.value.replacedAt == nil
                }
                let unnamed = own.count {
                    avatars[$0.key] == nil && $0.value.references.isEmpty && $0.value.shownUntil == nil
                }
                #expect(table.count(of: user) == own.count, "SEED=\(seed)")
                #expect(table.unnamed(of: user) == unnamed, "SEED=\(seed)")
                #expect(table.avatars(of: user) == avatars.keys.sorted(), "SEED=\(seed)")
            }
        }
    }

    @Test(arguments: [UploadKind.image, .avatar])
    func `nobody takes all places of a room: one user has so many that no message names`(kind: UploadKind) {
        var it = Dialogue()
        for number in 1...UInt64(Limits.unnamedUploadsPerUser) { _ = Self.register(&it, number, kind) }
        it.facts.mediaID = MediaID(in: it.room, random: (9_999, 7)).text
        #expect(it.run(.registerUpload(Self.draft()), by: member("bob")).code == .conflict)
        #expect(it.run(.registerUpload(Self.draft()), by: member("ann")).code == nil)
    }

    @Test func `a repeat of the place gets the same one`() throws {
        var it = Dialogue()
        it.facts.mediaID = MediaID(in: it.room, random: (1, 7)).text
        let first = it.run(.registerUpload(Self.draft()), by: member("bob"), key: 1).result
        it.facts.mediaID = MediaID(in: it.room, random: (2, 7)).text
        #expect(it.run(.registerUpload(Self.draft()), by: member("bob"), key: 1).result == first)
        #expect(it.state.uploads.count == 1)
    }

    @Test func `content goes with the last message that names it`() throws {
        var it = Dialogue()
        let id = Self.register(&it)
        #expect(Self.complete(&it, id) == .done)
        let messages = [try Self.post(&it, Self.naming(id)), try Self.post(&it, Self.naming(id))]
        try Self.recall(&it, messages[0])
        #expect(it.state.upload(id)?.isReadable(at: it.now) == true)
        try Self.recall(&it, messages[1])
        #expect(it.state.upload(id) == nil)
        #expect(it.run(Self.naming(id), by: member("bob")).code == .notFound)
    }

    @Test func `content that nothing names goes after an hour, and named content with its message`() throws {
        var it = Dialogue()
        it.facts.keptSince = it.now.adding(seconds: -1000 * 3600)
        let (unnamed, named, signal) = (Self.register(&it), Self.register(&it, 2), Self.register(&it, 3))
        for id in [unnamed, named, signal] { #expect(Self.complete(&it, id) == .done) }
        _ = try Self.post(&it, Self.naming(named))
        it.pass(seconds: 1800)
        // Not kept: shown for an hour from then on.
        _ = try Self.post(&it, Self.naming(signal, keep: false))
        it.pass(seconds: 1800)
        #expect(it.state.nextDeadline.map { $0 <= it.now } == true)
        it.run(.expire, by: .system)
        #expect(it.state.upload(unnamed) == nil && it.state.upload(named) != nil)
        #expect(it.state.upload(signal)?.isReadable(at: it.now) == true)
        it.pass(seconds: 1800)
        it.run(.expire, by: .system)
        #expect(it.state.upload(signal) == nil && it.state.upload(named)?.isReadable(at: it.now) == true)
        it.pass(seconds: 999 * 3600)
        it.run(.expire, by: .system)
        #expect(it.state.upload(named) == nil)
    }

    @Test func `an avatar stays until an hour after the next one`() {
        var it = Dialogue()
        let first = Self.register(&it, 1, .avatar)
        #expect(Self.complete(&it, first) == .done)
        it.pass(seconds: 40 * 86_400)
        it.run(.expire, by: .system)
        #expect(it.state.upload(first)?.isReadable(at: it.now) == true)
        let second = Self.register(&it, 2, .avatar)
        let ofAnother = Self.register(&it, 3, .avatar, by: member("ann"))
        #expect(Self.complete(&it, second) == .done && Self.complete(&it, ofAnother) == .done)
        it.pass(seconds: 3_601)
        it.run(.expire, by: .system)
        #expect(it.state.upload(first) == nil)
        #expect(it.state.upload(second) != nil && it.state.upload(ofAnother) != nil)
    }

    @Test func `a deleted room keeps its content while it can be restored`() throws {
        var it = Dialogue()
        let id = Self.register(&it)
        #expect(Self.complete(&it, id) == .done)
        _ = try Self.post(&it, Self.naming(id))
        it.facts.keepDeletedSeconds = 86_400
        it.run(.deleteRoom, by: .system)
        #expect(it.state.upload(id) == nil && it.state.keptUploads([id, "x"]) == [id: Self.digest])
        it.run(.undeleteRoom, by: .system)
        #expect(it.state.upload(id)?.isReadable(at: it.now) == true)
        it.run(.purgeRoom, by: .system)
        #expect(it.state.keptUploads([id]).isEmpty)
    }

    @Test func `a room has so many pieces of content, and so many messages name one`() {
        var it = Dialogue()
        let id = Self.register(&it)
        #expect(Self.complete(&it, id) == .done)
        for _ in 0..<Limits.referencesPerUpload { it.run(Self.naming(id), by: .system) }
        #expect(it.run(Self.naming(id), by: .system).code == .conflict)
        var full = Dialogue()
        for number in 0..<UInt64(Limits.uploadsPerRoom) {
            full.state.uploads.set(
                UploadRecord(draft: Self.draft(), user: nil, createdAt: full.now), of: "\(number)")
        }
        full.store = FakeStore(room: full.room)
        let command = Command(
            id: nil, room: full.room, actor: .system, body: .registerUpload(Self.draft()), facts: full.facts)
        var facts = command
        facts.facts.mediaID = "x"
        #expect(full.state.apply(facts, key: nil, at: Stamp(index: 999, time: full.now)).code == .conflict)
    }

    @Test func `IDs tell their room, and nothing else is one`() throws {
        let (room, other) = (try #require(RoomID("r")), try #require(RoomID("r2")))
        let id = MediaID(in: room, random: (1, .max))
        let parsed = try #require(MediaID(id.text))
        #expect(parsed.isOf(room) && !parsed.isOf(other) && id.text.utf8.count == 48)
        for text in [
            "", "x", String(id.text.dropLast()), id.text + "0", id.text.uppercased(), "0" + id.text.dropFirst(),
        ] {
            #expect(MediaID(text) == nil || text == id.text, "\(text)")
        }
        let avatar = MediaID(in: room, random: (1, .max), isAvatar: true)
        #expect(avatar != id && MediaID(avatar.text)?.isAvatar == true && MediaID(id.text)?.isAvatar == false)
        #expect(MediaID(avatar.text)?.isOf(room) == true)
        let hard = try #require(RoomID("a#b|c+d@e:f~g!$-"))
        for path in [MediaID.path(id.text, in: room), MediaID.path(avatar.text, in: hard)] {
            #expect(MediaID.isPath(path), "\(path)")
        }
        let hostile = ["..", ".", "", "%2e%2E", ".%2e", "r/../..", "..%2F..", "r%5cx", "r?x", "r#x", "r\\x", ".\t."]
        for part in hostile {
            #expect(!MediaID.isPath("/v1/media/\(part)/\(id.text)"), "\(part)")
        }
        for rest in ["/../../go", "?token=x", "#x", "x", "/"] {
            #expect(!MediaID.isPath(MediaID.path(id.text, in: room) + rest), "\(rest)")
        }
        #expect(!MediaID.isPath("/v1/media/../../go?to=//evil.example") && !MediaID.isPath("/v1/media/r/m"))
        #expect(MediaID.path("m", in: hard) == "/v1/media/a%23b%7Cc%2Bd%40e%3Af~g%21%24-/m")
    }
}

extension UploadTests {
    @Test func `a COMBINE names what it copies, of this room and of others`() throws {
        var it = Dialogue()
        let id = Self.register(&it)
        #expect(Self.complete(&it, id) == .done)
        let original = try Self.post(&it, Self.naming(id))
        let foreign = MediaID(in: try #require(RoomID("other")), random: (5, 5)).text
        var copy = original
        var media = try #require(copy.body.media)
        media.id = foreign
        copy.body = .image(media)
        it.facts.copies = [original, copy]
        var record = UploadRecord(draft: Self.draft(), user: nil, createdAt: Timestamp(0))
        record.digest = Self.digest
        record.references = [UploadReference(seq: 1, keptUntil: it.now)]
        it.facts.sharedUploads = [SharedUpload(mediaID: foreign, record: record)]
        let body = MessageBody.combine(title: "t", summary: "s", messageIDs: [original.messageID, "x"])
        let combine = try Self.post(&it, .post(MessageDraft(body: body)))
        (it.facts.copies, it.facts.sharedUploads) = ([], [])
        #expect(it.state.upload(foreign)?.references.map(\.seq) == [combine.seq ?? 0])
        try Self.recall(&it, original)
        #expect(it.state.upload(id)?.isReadable(at: it.now) == true)
        let target = RecallTarget(
            seq: try #require(combine.seq), sender: combine.from?.user, time: combine.time, type: .combine)
        it.run(.recall([target], NotifyOptions()), by: .system)
        #expect(it.state.upload(id) == nil && it.state.upload(foreign) == nil)
    }
}
