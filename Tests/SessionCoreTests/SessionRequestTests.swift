import ChatModel
import RoomProtocol
import SessionCore
import Testing
import Wire

/// What a session may ask of rooms, and what it costs, as dialogues.
@Suite struct SessionRequestTests {
    private static let burst: Int64 = 640 * 1024
    private static let mostBytes = Int64(Limits.pageBytes)

    private func bytesLeft(_ dialogue: SessionDialogue) -> Int64 {
        dialogue.session.rates.levels(nowMilliseconds: dialogue.now).bytes / 1000
    }

    @Test func `a request goes to the room under a number of the session's own`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let before = dialogue.session.requests.count
        let asked = dialogue.decide(SessionDialogue.read("a"), "a", id: 4_000_000).asked
        #expect(asked?.count == before + 1 && asked?.number == UInt32(before + 1))
        #expect(asked?.rooms == [] && asked?.overRateMs == nil)
        #expect(dialogue.session.onAnswer(to: UInt32(before + 1)) == 4_000_000)
        #expect(dialogue.session.onAnswer(to: UInt32(before + 1)) == nil)
    }

    @Test func `a request without an ID has its place in the count and waits for nothing`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let before = dialogue.session.requests.count
        let asked = dialogue.decide(SessionDialogue.text("a"), "a", id: nil).asked
        #expect(asked?.number == nil && asked?.count == before + 1)
        #expect(dialogue.session.pass() == before + 2)
    }

    @Test func `nothing but an enter goes to a room that the session is not in`() {
        var dialogue = SessionDialogue.connected(in: "a")
        for operation in [SessionDialogue.text("b"), SessionDialogue.read("b"), SessionDialogue.exit("b")] {
            let error = dialogue.decide(operation, "b").error
            #expect(error?.code == .notInRoom && error?.message == "ann is not in b")
        }
        #expect(dialogue.session.requests.waitingCount == 0)
    }

    @Test func `a room that is being entered may be asked already`() {
        var dialogue = SessionDialogue.connected()
        _ = dialogue.askEnter("a")
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error == nil)
    }

    @Test func `who has asked to leave is out for what comes behind, until it asks to enter again`() {
        var dialogue = SessionDialogue.connected(in: "a")
        _ = dialogue.ask(SessionDialogue.exit("a"), "a")
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error?.code == .notInRoom)
        #expect(dialogue.decide(SessionDialogue.exit("a"), "a").error == nil)
        _ = dialogue.askEnter("a")
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error == nil)
    }

    @Test func `a room that is being left makes place for another one, within twice the limit`() {
        var dialogue = SessionDialogue.connected(in: "a", "b", "c")
        #expect(dialogue.decideEnter("d").error?.code == .tooManyRooms)
        _ = dialogue.ask(SessionDialogue.exit("a"), "a")
        #expect(dialogue.decideEnter("d").error == nil)
        #expect(dialogue.decideEnter("e").error?.code == .tooManyRooms)
        _ = dialogue.ask(SessionDialogue.exit("b"), "b")
        _ = dialogue.ask(SessionDialogue.exit("c"), "c")
        #expect(dialogue.decideEnter("e").error == nil)
        #expect(dialogue.decideEnter("f").error == nil)
        // Three are left and three entered: no exit has been answered yet.
        _ = dialogue.ask(SessionDialogue.exit("d"), "d")
        #expect(dialogue.decideEnter("g").error?.code == .tooManyRooms)
    }

    @Test func `rooms that are entered count towards the limit as those that it is in`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        let number = dialogue.askEnter("c")
        let full = ChatError(.tooManyRooms, "a session can be in 3 rooms", retryAfterMs: 1000)
        #expect(dialogue.decideEnter("d").error == full)
        // Where it is already it may enter again.
        #expect(dialogue.decideEnter("a").error == nil)
        #expect(dialogue.decideEnter("c").error == nil)
        _ = dialogue.refuseEnter("c", number: number, ChatError(.conflict, "no"))
        #expect(dialogue.decideEnter("d").error == nil)
    }

    @Test func `an enter that the node puts off is not under way`() {
        var dialogue = SessionDialogue.connected()
        dialogue.putOff = ChatError(.unavailable, "too many", retryAfterMs: 300)
        #expect(dialogue.decideEnter("a").error == dialogue.putOff)
        #expect(!dialogue.isEntering("a"))
    }

    @Test func `an anonymous session listens, where that is allowed`() {
        var dialogue = SessionDialogue.connected(in: "a", anonymous: true)
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error?.code == .forbidden)
        #expect(dialogue.decide(SessionDialogue.read("a"), "a").error == nil)
        let barrage = ClientOperation.barrage(BarrageRequest(room: SessionDialogue.room("a"), text: "x"))
        #expect(dialogue.decide(barrage, "a").error?.code == .forbidden)
        dialogue.limits.allowAnonymous = false
        #expect(dialogue.decideEnter("b").error?.code == .forbidden)
    }

    @Test func `barrage is never refused for rate`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let barrage = ClientOperation.barrage(BarrageRequest(room: SessionDialogue.room("a"), text: "x"))
        for _ in 0..<200 { #expect(dialogue.decide(barrage, "a").error == nil) }
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error == nil)
    }

    @Test func `beyond the rate only a change with a client ID reaches the room, as a question`() {
        var dialogue = SessionDialogue.connected(in: "a")
        // One was the enter.
        for _ in 0..<19 { #expect(dialogue.decide(SessionDialogue.text("a"), "a").asked?.overRateMs == nil) }
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").asked?.overRateMs == 100)
        let error = dialogue.decide(SessionDialogue.exit("a"), "a").error
        #expect(error == ChatError(.tooOften, "too many requests, wait 100 ms", retryAfterMs: 100))
        dialogue.now += 100
        #expect(dialogue.decide(SessionDialogue.exit("a"), "a").error == nil)
    }

    @Test func `the rate is that of the session, over all its rooms`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        // Two were the enters.
        for number in 0..<18 {
            let room = number.isMultiple(of: 2) ? "a" : "b"
            #expect(dialogue.decide(SessionDialogue.text(room), room).asked?.overRateMs == nil)
        }
        for room in ["a", "b"] {
            #expect(dialogue.decide(SessionDialogue.exit(room), room).error?.code == .tooOften)
        }
    }

    @Test func `questions have a rate of their own`() {
        var dialogue = SessionDialogue.connected(in: "a")
        for _ in 0..<119 { #expect(dialogue.decide(SessionDialogue.text("a"), "a").error == nil) }
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error?.code == .tooOften)
    }

    @Test func `reads are counted apart`() {
        var dialogue = SessionDialogue.connected(in: "a")
        for _ in 0..<20 { #expect(dialogue.decide(SessionDialogue.read("a"), "a").error == nil) }
        #expect(dialogue.decide(SessionDialogue.read("a"), "a").error?.code == .tooOften)
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error == nil)
    }

    @Test func `a refused request has cost its change, and not what it would have copied`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let before = bytesLeft(dialogue)
        #expect(dialogue.decide(combine("b"), "b").error?.code == .notInRoom)
        #expect(bytesLeft(dialogue) == before - 5)
    }

    @Test func `a takeover brings no new allowance`() {
        var dialogue = SessionDialogue.connected(in: "a")
        for _ in 0..<19 { _ = dialogue.decide(SessionDialogue.exit("a"), "a") }
        _ = dialogue.moveAndConnect()
        #expect(dialogue.decide(SessionDialogue.exit("a"), "a").error?.code == .tooOften)
        var other = dialogue.handedOver()
        _ = other.connect()
        #expect(other.decide(SessionDialogue.exit("a"), "a").error?.code == .tooOften)
    }

    // MARK: - COMBINE

    private func combine(_ room: String) -> ClientOperation {
        let body = MessageBody.combine(title: "t", summary: "s", messageIDs: ["abc"])
        return .send(SendRequest(room: SessionDialogue.room(room), clientID: "c", draft: MessageDraft(body: body)))
    }

    @Test func `a COMBINE names the rooms that the session is in`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        #expect(dialogue.decide(combine("a"), "a").asked?.rooms == dialogue.session.rooms)
    }

    @Test func `a COMBINE takes the most with the request, and gives back what it has not copied`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let number = dialogue.ask(combine("a"), "a")
        #expect(bytesLeft(dialogue) == Self.burst - 5 - Self.mostBytes)
        dialogue.answer(number, charged: 1000)
        #expect(bytesLeft(dialogue) == Self.burst - 5 - 1000)
        // A second answer gives nothing back.
        dialogue.answer(number)
        #expect(bytesLeft(dialogue) == Self.burst - 5 - 1000)
    }

    @Test func `a repeat gets all of it back`() {
        var dialogue = SessionDialogue.connected(in: "a")
        dialogue.answer(dialogue.ask(combine("a"), "a"), isRepeat: true)
        #expect(bytesLeft(dialogue) == Self.burst)
        let ofUser = dialogue.users.levels(of: dialogue.session.caller.user, nowMilliseconds: dialogue.now)
        #expect(ofUser?.bytes == 3 * Self.burst * 1000)
    }

    @Test func `a session that goes elsewhere has paid for what nobody will answer here`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let number = dialogue.ask(combine("a"), "a")
        _ = dialogue.session.move(users: &dialogue.users, heardAt: dialogue.heardAt, nowMilliseconds: dialogue.now)
        let handed = dialogue.session.handed(users: dialogue.users, nowMilliseconds: dialogue.now)
        #expect(handed.levels?.bytes == (Self.burst - 5 - Self.mostBytes) * 1000)
        #expect(handed.userLevels?.bytes == (3 * Self.burst - 5 - Self.mostBytes) * 1000)
        dialogue.answer(number)
        #expect(bytesLeft(dialogue) == Self.burst - 5 - Self.mostBytes)
    }
}
