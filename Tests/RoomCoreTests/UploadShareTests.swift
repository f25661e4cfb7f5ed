import ChatModel
import Testing

@testable import RoomCore

/// The places of a room for content, and how much of them everybody gets.
@Suite struct UploadShareTests {
    private static let digest = String(repeating: "ab", count: 32)

    private static func draft(_ kind: UploadKind = .image) -> UploadDraft {
        UploadDraft(kind: kind, name: "n", contentType: "image/png", size: 1)
    }

    /// A room in which the user has so many pieces that messages name.
    private static func room(_ count: Int, of user: UserID?) -> Dialogue {
        var it = Dialogue()
        it.restores = false
        for number in 0..<count {
            var record = UploadRecord(draft: draft(), user: user, createdAt: it.now)
            record.digest = digest
            record.references = [UploadReference(seq: UInt64(number), keptUntil: it.now.adding(seconds: 1_000))]
            it.state.uploads.set(record, of: "\(user?.text ?? "")-\(number)")
        }
        return it
    }

    /// The refusal of a further place.
    private static func refusal(_ it: inout Dialogue, by actor: Actor, _ kind: UploadKind = .image) -> ErrorCode? {
        it.facts.mediaID = MediaID(in: it.room, random: (it.index, 1)).text
        defer { it.facts.mediaID = nil }
        return it.run(.registerUpload(draft(kind)), by: actor).code
    }

    @Test func `nobody has more content in a room than there are places left, and others still get theirs`() {
        var it = Self.room(Limits.uploadsPerRoom / 2 - 1, of: user("eve"))
        #expect(Self.refusal(&it, by: member("eve")) == nil)
        #expect(Self.refusal(&it, by: member("eve")) == .conflict)
        #expect(Self.refusal(&it, by: member("eve"), .avatar) == .conflict)
        #expect(Self.refusal(&it, by: member("ann")) == nil)
        #expect(Self.refusal(&it, by: .system) == nil)
        // Two of that kind leave a third to the others.
        var two = Self.room(Limits.uploadsPerRoom / 2, of: user("eve"))
        for number in 0..<2_500 {
            var record = UploadRecord(draft: Self.draft(), user: user("mallory"), createdAt: two.now)
            record.references = [UploadReference(seq: UInt64(number), keptUntil: two.now.adding(seconds: 1_000))]
            two.state.uploads.set(record, of: "mallory-\(number)")
        }
        #expect(Self.refusal(&two, by: member("mallory")) == .conflict)
        #expect(Self.refusal(&two, by: member("ann")) == nil)
    }

    @Test func `a further avatar drives the oldest out, and a user no more than one`() throws {
        var it = Dialogue()
        it.restores = false
        for number in 0..<Limits.avatarsPerRoom {
            var record = UploadRecord(
                draft: Self.draft(.avatar), user: user("u\(number)"), createdAt: Timestamp(Int64(number)))
            record.digest = Self.digest
            it.state.uploads.set(record, of: "avatar-\(number)")
        }
        for round in 0..<3 {
            let id = MediaID(in: it.room, random: (UInt64(round), 1), isAvatar: true).text
            it.facts.mediaID = id
            #expect(it.run(.registerUpload(Self.draft(.avatar)), by: member("bob")).code == nil)
            it.facts.mediaID = nil
            let body = CommandBody.completeUpload(mediaID: id, digest: Self.digest, isInline: true)
            #expect(it.run(body, by: .system).result == .done)
            #expect(it.state.upload(id)?.isReadable(at: it.now) == true)
            #expect(it.state.upload("avatar-0") == nil && it.state.upload("avatar-1") != nil)
        }
    }

    @Test func `an avatar whose place is the oldest stays when it comes`() throws {
        var it = Dialogue()
        it.restores = false
        let id = MediaID(in: it.room, random: (1, 1), isAvatar: true).text
        it.facts.mediaID = id
        #expect(it.run(.registerUpload(Self.draft(.avatar)), by: member("bob")).code == nil)
        it.facts.mediaID = nil
        for number in 0..<Limits.avatarsPerRoom {
            var record = UploadRecord(
                draft: Self.draft(.avatar), user: nil, createdAt: it.now.adding(seconds: Int64(number) + 1))
            record.digest = Self.digest
            it.state.uploads.set(record, of: "avatar-\(number)")
        }
        let body = CommandBody.completeUpload(mediaID: id, digest: Self.digest, isInline: true)
        #expect(it.run(body, by: .system).result == .done)
        #expect(it.state.upload(id) != nil && it.state.upload("avatar-0") == nil)
    }

    @Test(arguments: [false, true])
    func `a COMBINE whose pictures have no places is refused, and nothing of it is here`(isHeld: Bool) throws {
        var it = Self.room(Limits.uploadsPerRoom - 1, of: nil)
        if isHeld { it.facts.hold = HoldPolicy() }
        var copies: [Message] = []
        let other = try #require(RoomID("other"))
        for number in 0..<2 {
            let foreign = MediaID(in: other, random: (UInt64(number), 5)).text
            var record = UploadRecord(draft: Self.draft(), user: user("victim"), createdAt: Timestamp(0))
            record.digest = Self.digest
            it.facts.sharedUploads.append(SharedUpload(mediaID: foreign, record: record))
            var media = Media(url: "u", name: "n", size: 1, contentType: "image/png")
            media.id = foreign
            copies.append(
                Message(
                    MessageFields(
                        room: other, place: .kept(seq: UInt64(number + 1)), messageID: "m\(number)", time: it.now,
                        from: nil, body: .image(media))))
        }
        it.facts.copies = copies
        let body = MessageBody.combine(title: "t", summary: "s", messageIDs: ["m0", "m1"])
        guard case .refused(let error)? = it.run(.post(MessageDraft(body: body)), by: member("bob")).result else {
            throw ChatError(.internal, "it was taken")
        }
        #expect(error.code == .conflict && error.field == "messageIds")
        #expect(it.state.uploads.count == Limits.uploadsPerRoom - 1 && it.state.lastSeq == 0 && it.state.heldCount == 0)
        // One has a place, and counts as that of the one who copies it.
        (it.facts.copies, it.facts.sharedUploads) = ([copies[0]], [it.facts.sharedUploads[0]])
        var small = Dialogue()
        small.facts = it.facts
        #expect(small.run(.post(MessageDraft(body: body)), by: member("bob")).code == nil)
        #expect(small.state.uploads.count(of: user("bob")) == 1 && small.state.uploads.count(of: user("victim")) == 0)
    }
}
