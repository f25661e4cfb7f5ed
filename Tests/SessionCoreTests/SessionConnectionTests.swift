import ChatModel
import RoomProtocol
import SessionCore
import Testing
import Wire

/// Connections that come, break, come back and take over, and the end of sessions, as dialogues.
@Suite struct SessionConnectionTests {
    @Test func `a client that connects is greeted, and has not resumed anything`() throws {
        var dialogue = SessionDialogue()
        let effects = dialogue.connect()
        try #require(effects.count == 1)
        let result = try #require(effects[0].connectResult)
        #expect(result.session == SessionDialogue.id && result.user == SessionDialogue.user("ann"))
        #expect(result.time == dialogue.time && result.heartbeatSeconds == 15 && result.gateways == ["ws://a"])
        #expect(!result.resumed && !result.anonymous)
        #expect(dialogue.session.presence == .connected)
        #expect(dialogue.session.caller.device == .mobile && dialogue.session.caller.tokenProfile.nick == "Nick")
    }

    @Test func `a connect without an ID has no reply`() {
        var dialogue = SessionDialogue()
        #expect(dialogue.connect(id: nil) == [])
        #expect(dialogue.session.isConnected)
    }

    @Test func `an anonymous client has the user that was made up, and is known by its address`() throws {
        var dialogue = SessionDialogue(of: "anon-1", isAnonymous: true)
        let effects = dialogue.connectAnonymously(addressHash: 9)
        let result = try #require(effects.first?.connectResult)
        #expect(result.anonymous && result.user == SessionDialogue.user("anon-1"))
        #expect(dialogue.session.caller.addressHash == 9 && dialogue.session.expiresAt == nil)
    }

    @Test func `when the connection breaks, the rooms hear that it is away, and the grace begins`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        #expect(dialogue.disconnect() == [.away("a"), .away("b")])
        #expect(dialogue.session.presence == .away(sinceMilliseconds: 5_000))
        #expect(dialogue.rooms == ["a", "b"])
        #expect(dialogue.session.announcement(in: SessionDialogue.room("a")).isAway)
    }

    @Test func `a client that is back within the grace resumes, and the rooms hear it before its reply`() throws {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        _ = dialogue.disconnect()
        dialogue.now += 9_999
        #expect(!dialogue.session.hasOutlivedGrace(ofMilliseconds: 10_000, nowMilliseconds: dialogue.now))
        let effects = dialogue.moveAndConnect()
        try #require(effects.count == 3)
        #expect(Array(effects[..<2]) == [.moved("a"), .moved("b")])
        #expect(effects[2].connectResult?.resumed == true)
        #expect(!dialogue.session.announcement(in: SessionDialogue.room("a")).isAway)
    }

    @Test func `when the grace has passed the session is over, and its rooms see it leave`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        _ = dialogue.disconnect()
        dialogue.now += 10_000
        #expect(dialogue.session.hasOutlivedGrace(ofMilliseconds: 10_000, nowMilliseconds: dialogue.now))
        #expect(dialogue.session.end() == [.parted("a"), .parted("b"), .left("a"), .left("b")])
        #expect(dialogue.session.presence == .ended && dialogue.rooms == [])
    }

    @Test func `a session that is taken up by its ID alone is the same one, in no room, with numbers of its own`()
        throws
    {
        var dialogue = SessionDialogue.connected(in: "a")
        let former = dialogue.session.requests.count
        dialogue.revive(after: 60_000)
        let first = dialogue.session.requests.count
        #expect(first > 1 << 32 && former < 1 << 32)
        let effects = dialogue.connect()
        let result = try #require(effects.last?.connectResult)
        #expect(effects.count == 1 && result.resumed && result.session == SessionDialogue.id)
        #expect(dialogue.rooms == [])
        #expect(dialogue.session.caller.revivedAt == dialogue.time)
        // In a later life they are others again.
        dialogue.revive(after: 500)
        #expect(dialogue.session.requests.count > first + 1 << 31)
    }

    @Test func `when it was taken up goes along from node to node`() {
        var dialogue = SessionDialogue.connected(in: "a")
        dialogue.revive(after: 1)
        _ = dialogue.connect()
        let handed = dialogue.session.handed(users: dialogue.users, nowMilliseconds: dialogue.now)
        #expect(handed.revivedAt == dialogue.time)
        let next = Session(
            handed, id: SessionDialogue.id, from: SessionDialogue.here,
            rates: Rates(RateLimits(), nowMilliseconds: dialogue.now))
        #expect(next.caller.revivedAt == dialogue.time)
    }

    @Test func `a session that is connected has no grace to outlive`() {
        let dialogue = SessionDialogue.connected(in: "a")
        #expect(!dialogue.session.hasOutlivedGrace(ofMilliseconds: 0, nowMilliseconds: .max / 2))
    }

    @Test func `the grace begins anew with each connection that breaks`() {
        var dialogue = SessionDialogue.connected(in: "a")
        _ = dialogue.disconnect()
        dialogue.now += 9_000
        _ = dialogue.moveAndConnect()
        _ = dialogue.disconnect()
        dialogue.now += 9_000
        #expect(!dialogue.session.hasOutlivedGrace(ofMilliseconds: 10_000, nowMilliseconds: dialogue.now))
    }

    @Test func `a newer connection takes the session over: the older one closes with 4410, and no room hears of it`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let effects = dialogue.session.move(
            users: &dialogue.users, heardAt: dialogue.heardAt, nowMilliseconds: dialogue.now)
        #expect(effects == [.close(.takenOver, "taken over by a newer connection")])
        #expect(dialogue.session.presence == .moving && dialogue.rooms == ["a"])
    }

    @Test func `a session in its grace is taken over without a close`() {
        var dialogue = SessionDialogue.connected(in: "a")
        _ = dialogue.disconnect()
        #expect(
            dialogue.session.move(users: &dialogue.users, heardAt: dialogue.heardAt, nowMilliseconds: dialogue.now)
                == [])
    }

    @Test func `a session may be taken by its user, and an anonymous one by who knows its ID`() {
        let named = SessionDialogue.connected().session
        #expect(named.mayBeTaken(by: SessionDialogue.user("ann")))
        #expect(!named.mayBeTaken(by: SessionDialogue.user("bob")) && !named.mayBeTaken(by: nil))
        let anonymous = SessionDialogue.connected(anonymous: true).session
        #expect(anonymous.mayBeTaken(by: nil) && !anonymous.mayBeTaken(by: SessionDialogue.user("anon-1")))
    }

    @Test func `what was asked over the former connection is not answered over the next`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let number = dialogue.ask(SessionDialogue.read("a"), "a", id: 7)
        _ = dialogue.moveAndConnect()
        let next = dialogue.ask(SessionDialogue.read("a"), "a", id: 7)
        #expect(number != next)
        #expect(number.flatMap { dialogue.session.onAnswer(to: $0) } == nil)
        #expect(next.flatMap { dialogue.session.onAnswer(to: $0) } == 7)
    }

    @Test func `losses of the former connection are forgotten, as a resume brings back what was missed`() {
        var dialogue = SessionDialogue.connected(in: "a")
        dialogue.session.losses.note(room: SessionDialogue.room("a"), keptSeqs: 3...4, unkept: 0, barrage: 0)
        _ = dialogue.moveAndConnect()
        #expect(dialogue.session.losses.isEmpty)
    }

    @Test func `another node is given the rooms, the count of requests and what is left of the rates`() throws {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        for index in 0..<5 { _ = dialogue.ask(SessionDialogue.text("a"), "a", id: UInt32(index)) }
        _ = dialogue.session.move(users: &dialogue.users, heardAt: dialogue.heardAt, nowMilliseconds: dialogue.now)
        let former = dialogue.session
        var other = dialogue.handedOver()
        #expect(other.rooms == ["a", "b"] && other.session.requests.count == former.requests.count)
        #expect(other.session.rates.levels(nowMilliseconds: 5_000) == former.rates.levels(nowMilliseconds: 5_000))
        let ann = SessionDialogue.user("ann")
        let ofUser = other.users.levels(of: ann, nowMilliseconds: 5_000)
        #expect(ofUser != nil && ofUser == dialogue.users.levels(of: ann, nowMilliseconds: 5_000))
        #expect(other.session.presence == .moving)
        let effects = other.connect()
        #expect(Array(effects.prefix(2)) == [.moved("a", from: "n1"), .moved("b", from: "n1")])
        #expect(effects.last?.connectResult?.resumed == true)
    }

    @Test func `a session that comes from another node without its client is away, and its rooms hear where it is`() {
        var other = SessionDialogue.connected(in: "a", "b").handedOver()
        #expect(
            other.session.onArriveAlone(nowMilliseconds: other.now)
                == [.moved("a", from: "n1"), .moved("b", from: "n1"), .away("a"), .away("b")])
        #expect(other.session.presence == .away(sinceMilliseconds: other.now))
        // They were told: once more it is only here.
        #expect(other.moveAndConnect().prefix(2) == [.moved("a"), .moved("b")])
    }

    @Test func `a former node that does not say what is left leaves full rates`() {
        let handed = HandedSession(
            user: SessionDialogue.user("ann"), anonymous: false, device: .web, startedAt: Timestamp(1))
        let full = Rates(RateLimits(), nowMilliseconds: 5_000)
        var session = Session(handed, id: SessionDialogue.id, from: SessionDialogue.here, rates: full)
        var users = UserRates(RateLimits())
        session.takeUp(users: &users, nowMilliseconds: 5_000)
        #expect(session.rates == full && users.count == 0)
    }

    @Test func `who is put offline is closed with 4403, if it is there`() {
        var dialogue = SessionDialogue.connected(in: "a")
        #expect(dialogue.session.onForcedOffline() == [.close(.forcedOffline, "forced offline")])
        _ = dialogue.disconnect()
        #expect(dialogue.session.onForcedOffline() == [])
    }

    @Test func `a resumed session speaks the encoding of its newer connection`() {
        var dialogue = SessionDialogue.connected(in: "a")
        _ = dialogue.session.move(users: &dialogue.users, heardAt: dialogue.heardAt, nowMilliseconds: dialogue.now)
        _ = dialogue.connect(in: .protobuf)
        #expect(dialogue.session.encoding == .protobuf)
    }
}
