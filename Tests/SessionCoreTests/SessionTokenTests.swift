import ChatModel
import SessionCore
import Testing
import Wire

/// The life of a session's token, as dialogues.
@Suite struct SessionTokenTests {
    private func warning(_ seconds: Int64) -> Session.Effect { .push(.token(TokenPush(expiresInSeconds: seconds))) }
    private let expired = Session.Effect.close(.authentication, "the token has expired")

    @Test func `a minute before its end the session is told, once`() {
        var dialogue = SessionDialogue()
        _ = dialogue.connect(dialogue.claims(endsAfter: 100))
        dialogue.time = dialogue.time.adding(seconds: 39)
        #expect(dialogue.session.onTick(at: dialogue.time) == [])
        dialogue.time = dialogue.time.adding(seconds: 1)
        #expect(dialogue.session.onTick(at: dialogue.time) == [warning(60)])
        dialogue.time = dialogue.time.adding(seconds: 1)
        #expect(dialogue.session.onTick(at: dialogue.time) == [])
    }

    @Test func `a token that ends within the minute is told behind the reply to connect`() throws {
        var dialogue = SessionDialogue()
        let effects = dialogue.connect(dialogue.claims(endsAfter: 20))
        try #require(effects.count == 2)
        #expect(effects[0].connectResult != nil && effects[1] == warning(20))
    }

    @Test func `one that was accepted thanks to the skew has 0 seconds left`() {
        var dialogue = SessionDialogue()
        #expect(dialogue.connect(dialogue.claims(endsAfter: -10)).last == warning(0))
        #expect(dialogue.session.onTick(at: dialogue.time) == [expired])
    }

    @Test func `in its last second the end has a moment of its own`() {
        var dialogue = SessionDialogue()
        _ = dialogue.connect(dialogue.claims(endsAfter: 10))
        dialogue.time = Timestamp(dialogue.time.milliseconds + 9_400)
        #expect(dialogue.session.onTick(at: dialogue.time) == [.wake(afterMilliseconds: 601)])
        #expect(dialogue.session.onLastMoment(at: dialogue.time) == [])
        dialogue.time = Timestamp(dialogue.time.milliseconds + 601)
        #expect(dialogue.session.onLastMoment(at: dialogue.time) == [expired])
    }

    @Test func `a refresh in the last second saves the session`() {
        var dialogue = SessionDialogue()
        _ = dialogue.connect(dialogue.claims(endsAfter: 1))
        #expect(dialogue.session.onTick(at: dialogue.time) == [.wake(afterMilliseconds: 1_001)])
        let claims = dialogue.claims(endsAfter: 3600)
        #expect(
            dialogue.session.onRefresh(claims, request: 9, at: dialogue.time)
                == [.reply(9, .success(.refresh(RefreshResult(expiresAt: claims.expiresAt))))])
        dialogue.time = dialogue.time.adding(seconds: 2)
        #expect(dialogue.session.onLastMoment(at: dialogue.time) == [])
        #expect(dialogue.session.onTick(at: dialogue.time) == [])
    }

    @Test func `looks that are made only when one is due tell the warning, the last moment and the end`() throws {
        var dialogue = SessionDialogue()
        _ = dialogue.connect(dialogue.claims(endsAfter: 1_000))
        let end = dialogue.time.adding(seconds: 1_000)
        var told: [Timestamp: [Session.Effect]] = [:]
        for _ in 0..<3 {
            dialogue.time = max(dialogue.time, try #require(dialogue.session.nextTick(after: dialogue.time)))
            told[dialogue.time] = dialogue.session.onTick(at: dialogue.time)
        }
        #expect(
            told == [
                end.adding(seconds: -60): [warning(60)], end.adding(seconds: -1): [.wake(afterMilliseconds: 1_001)],
                end: [expired],
            ])
    }

    @Test func `another token brings another look, and without one none is due`() {
        var dialogue = SessionDialogue()
        #expect(dialogue.session.nextTick(after: dialogue.time) == nil)
        _ = dialogue.connect(dialogue.claims(endsAfter: 3_600))
        #expect(dialogue.session.nextTick(after: dialogue.time) == dialogue.time.adding(seconds: 3_540))
        _ = dialogue.session.onRefresh(dialogue.claims(endsAfter: 100), request: nil, at: dialogue.time)
        #expect(dialogue.session.nextTick(after: dialogue.time) == dialogue.time.adding(seconds: 40))
    }

    @Test func `each token is warned of once`() {
        var dialogue = SessionDialogue()
        _ = dialogue.connect(dialogue.claims(endsAfter: 30))
        let effects = dialogue.session.onRefresh(dialogue.claims(endsAfter: 50), request: nil, at: dialogue.time)
        #expect(effects == [warning(50)])
        #expect(dialogue.session.onTick(at: dialogue.time) == [])
    }

    @Test func `a narrower token ends the stay in the other rooms, with reason 6, behind its reply`() throws {
        var dialogue = SessionDialogue.connected(in: "a", "b", "c")
        let claims = dialogue.claims(rooms: ["b"])
        let effects = dialogue.session.onRefresh(claims, request: 9, at: dialogue.time)
        try #require(effects.count == 7)
        #expect(effects[0] == .reply(9, .success(.refresh(RefreshResult(expiresAt: claims.expiresAt)))))
        #expect(
            Array(effects[1...]) == [
                .parted("a"), .left("a"), .kicked("a", .tokenRevoked), .parted("c"), .left("c"),
                .kicked("c", .tokenRevoked),
            ])
        #expect(dialogue.rooms == ["b"] && dialogue.decideEnter("a").error?.code == .forbidden)
    }

    @Test func `a takeover with a narrower token ends the stay in the other rooms, before its reply`() throws {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        _ = dialogue.disconnect()
        let effects = dialogue.moveAndConnect(dialogue.claims(rooms: ["b"]))
        try #require(effects.count == 6)
        #expect(
            Array(effects[..<5]) == [
                .moved("a"), .moved("b"), .parted("a"), .left("a"), .kicked("a", .tokenRevoked),
            ])
        #expect(effects[5].connectResult?.resumed == true)
    }

    @Test func `a wider token lets the session enter what it could not`() {
        var dialogue = SessionDialogue()
        _ = dialogue.connect(dialogue.claims(rooms: ["b"]))
        #expect(dialogue.decideEnter("a").error?.field == "room")
        _ = dialogue.session.onRefresh(dialogue.claims(), request: nil, at: dialogue.time)
        #expect(dialogue.decideEnter("a").error == nil)
    }

    @Test func `a token of a clock that is ahead counts as issued now`() {
        var dialogue = SessionDialogue()
        _ = dialogue.connect(dialogue.claims(issuedAt: dialogue.time.adding(seconds: 20)))
        #expect(dialogue.session.issuedAt == dialogue.time)
        _ = dialogue.session.onRefresh(dialogue.claims(issuedAt: Timestamp(5)), request: nil, at: dialogue.time)
        #expect(dialogue.session.issuedAt == Timestamp(5))
    }

    @Test func `who is revoked hears it of each room and is closed with 4401`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        #expect(
            dialogue.session.onRevoke() == [
                .kicked("a", .tokenRevoked), .kicked("b", .tokenRevoked),
                .close(.authentication, "the token has been revoked"),
            ])
        _ = dialogue.disconnect()
        #expect(dialogue.session.onRevoke() == [])
    }

    @Test func `an anonymous session has no token that ends`() {
        var dialogue = SessionDialogue.connected(anonymous: true)
        #expect(dialogue.session.onTick(at: Timestamp(.max)) == [])
        #expect(dialogue.session.onLastMoment(at: Timestamp(.max)) == [])
    }
}
