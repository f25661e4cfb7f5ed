import ChatModel
import Testing

@testable import RoomCore

@Suite struct ReplyTests {
    private static func reply(to id: String, _ text: String = "yes") -> CommandBody {
        var draft = MessageDraft(body: .text(text))
        draft.replyTo = id
        return .post(draft)
    }

    @Test func `a reply says whom and what it answers`() throws {
        var it = Dialogue()
        let asked = try PinTests.post(&it, "ready?")
        it.facts.original = asked.original
        let shown = try #require(it.run(Self.reply(to: asked.id), by: member("eve")).shown.first)
        #expect(
            shown.replyTo
                == ReplyReference(messageID: asked.id, seq: 1, user: user("bob"), nick: "nick-bob", excerpt: "ready?"))
        // A reply can be answered as well, and what is not kept answers too.
        it.facts.original = OriginalMessage(shown)
        var draft = MessageDraft(body: .text("go"))
        (draft.replyTo, draft.keep) = (shown.messageID, false)
        let second = try #require(it.run(.post(draft), by: .system).shown.first)
        #expect(second.replyTo?.excerpt == "yes" && second.replyTo?.user == user("eve") && second.seq == nil)
    }

    @Test func `of a recalled message there is no excerpt`() throws {
        var it = Dialogue()
        var asked = try PinTests.post(&it)
        asked.original.isRecalled = true
        it.facts.original = asked.original
        let shown = it.run(Self.reply(to: asked.id), by: member("eve")).shown.first
        #expect(shown?.replyTo?.messageID == asked.id && shown?.replyTo?.excerpt == nil)
    }

    @Test func `what is no kept message of this room is not found, and uses nothing up`() throws {
        var set = RoomChanges()
        set.slowModeSeconds = 60
        var it = Dialogue(set: set)
        let asked = try PinTests.post(&it)
        #expect(it.run(Self.reply(to: asked.id), by: member("eve")).code == .notFound)
        it.facts.original = asked.original
        for id in ["", "m", "1-1", asked.id + "0"] {
            let refused = it.run(Self.reply(to: id), by: member("eve"), key: 1)
            #expect(refused.code == .notFound && refused.error?.field == "replyTo")
        }
        #expect(it.run(Self.reply(to: asked.id), by: member("eve"), key: 1).error == nil)
        #expect(it.run(Self.reply(to: asked.id), by: member("eve")).code == .tooOften)
    }

    @Test func `a repeat needs no fact`() throws {
        var it = Dialogue()
        let asked = try PinTests.post(&it)
        it.facts.original = asked.original
        let first = it.run(Self.reply(to: asked.id), by: member("eve"), key: 1)
        it.facts.original = nil
        #expect(it.run(Self.reply(to: asked.id), by: member("eve"), key: 1) == first.suffix(1))
    }

    @Test(
        arguments: [
            (MessageBody.text("hello"), "hello"), (.tip("rules"), "rules"),
            (.location(latitude: 0, longitude: 0, title: "here"), "here"),
            (.image(Media(url: "u", name: "p.png", size: 1, contentType: "c")), "p.png"),
            (.combine(title: "t", summary: "s", messageIDs: ["m"]), "t"),
            (.custom(content: "{}", subtype: 1, searchable: "gift"), "gift"),
            (.custom(content: "{}", subtype: 1, searchable: nil), nil), (.recalled(.text), nil), (.text(""), nil),
            (.command(payload: [1]), nil), (.notification(Notification(.roomMuted)), nil),
        ] as [(MessageBody, String?)])
    func `the excerpt is what a person reads`(body: MessageBody, excerpt: String?) {
        #expect(body.excerpt == excerpt)
    }

    @Test(
        arguments: [
            (String(repeating: "a", count: 256), 256), (String(repeating: "a", count: 257), 256),
            // Two, three and four bytes, which 256 is a multiple of or not.
            (String(repeating: "é", count: 200), 256), (String(repeating: "字", count: 100), 255),
            (String(repeating: "a", count: 255) + "字", 255), (String(repeating: "😀", count: 100), 256),
            // A family of 25 bytes, a letter with a mark, a flag of two scalars.
            (String(repeating: "👨‍👩‍👧‍👦", count: 20), 250), (String(repeating: "a", count: 254) + "e\u{301}", 254),
            (String(repeating: "a", count: 255) + "e\u{301}", 255), (String(repeating: "a", count: 252) + "🇩🇪", 252),
            // One character that alone is too long.
            ("e" + String(repeating: "\u{301}", count: 1_000), 255),
            ("a" + "e" + String(repeating: "\u{301}", count: 1_000), 1),
        ] as [(String, Int)])
    func `a long text is cut between characters`(text: String, bytes: Int) throws {
        let excerpt = try #require(MessageBody.text(text).excerpt)
        #expect(excerpt.utf8.count == bytes)
        #expect(text.utf8.starts(with: excerpt.utf8))
        if bytes < text.utf8.count, excerpt.count > 1 { #expect(text.hasPrefix(excerpt)) }
    }
}
