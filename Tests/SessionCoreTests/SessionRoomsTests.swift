import ChatModel
import RoomProtocol
import Testing
import Wire

@testable import SessionCore

/// Entering rooms, leaving them and being put out, as dialogues.
@Suite struct SessionRoomsTests {
    @Test func `a room that is entered is joined, heard up to its seq, and then viewed`() {
        var dialogue = SessionDialogue.connected()
        let number = dialogue.askEnter("a", id: 7)
        #expect(dialogue.isEntering("a") && !dialogue.isIn("a"))
        let entry = Session.Entry(
            room: SessionDialogue.room("a"), request: 7, result: dialogue.result("a"), missedAfter: nil)
        #expect(
            dialogue.enter("a", number: number)
                == [.joined("a"), .heard(SessionDialogue.room("a"), through: 7), .view(entry)])
        #expect(dialogue.isIn("a") && !dialogue.isEntering("a"))
    }

    @Test func `the notifyExt of the enter is part of the stay that a new leader is told`() {
        var dialogue = SessionDialogue.connected()
        let room = SessionDialogue.room("a")
        var request = EnterRequest(room: room)
        request.notifyExt = "note"
        let number = dialogue.ask(.enter(request), "a")
        _ = dialogue.enter("a", number: number)
        let stay = dialogue.session.announcement(in: room)
        #expect(stay == SessionStay(profile: Profile(nick: "Nick"), enteredAt: dialogue.time, notifyExt: "note"))
        dialogue.session.onProfile(Profile(nick: "New"), in: room)
        #expect(dialogue.session.announcement(in: room).profile.nick == "New")
    }

    @Test func `entering again by the same session is no second join`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let effects = dialogue.enter("a", number: dialogue.askEnter("a"))
        #expect(effects.count == 2 && !effects.contains(.joined("a")))
        #expect(dialogue.rooms == ["a"])
    }

    @Test func `an exit that is answered leaves the enter that was asked behind it under way`() {
        var dialogue = SessionDialogue.connected(in: "a", "b", "c")
        let exit = dialogue.ask(SessionDialogue.exit("a"), "a", id: 3)
        let enter = dialogue.askEnter("a", id: 4)
        #expect(dialogue.decideEnter("d").error?.code == .tooManyRooms)
        #expect(dialogue.exit("a", number: exit) == [.parted("a"), .reply(3, .success(.exit))])
        #expect(!dialogue.isIn("a") && dialogue.isEntering("a"))
        // It is asked of the room, behind the enter.
        #expect(dialogue.decide(SessionDialogue.text("a"), "a").error == nil)
        #expect(dialogue.enter("a", number: enter).first == .joined("a"))
        #expect(dialogue.isIn("a") && !dialogue.isEntering("a"))
    }

    @Test func `an exit behind an enter that is answered later does not undo the enter behind that one`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let exits = (dialogue.ask(SessionDialogue.exit("a"), "a", id: 3), dialogue.askEnter("a", id: 4))
        let again = dialogue.ask(SessionDialogue.exit("a"), "a", id: 5)
        _ = dialogue.exit("a", number: exits.0)
        let last = dialogue.askEnter("a", id: 6)
        _ = dialogue.enter("a", number: exits.1)
        _ = dialogue.exit("a", number: again)
        #expect(!dialogue.isIn("a") && dialogue.isEntering("a"))
        #expect(dialogue.decide(SessionDialogue.read("a"), "a").error == nil)
        _ = dialogue.enter("a", number: last)
        #expect(dialogue.isIn("a") && !dialogue.isEntering("a"))
    }

    @Test func `of two enters around an exit the second is the one that counts behind it`() {
        var dialogue = SessionDialogue.connected()
        let first = dialogue.askEnter("a", id: 3)
        let exit = dialogue.ask(SessionDialogue.exit("a"), "a", id: 4)
        let second = dialogue.askEnter("a", id: 5)
        _ = dialogue.enter("a", number: first)
        #expect(dialogue.isIn("a") && dialogue.isEntering("a"))
        _ = dialogue.exit("a", number: exit)
        #expect(!dialogue.isIn("a") && dialogue.isEntering("a"))
        #expect(dialogue.decide(SessionDialogue.read("a"), "a").error == nil)
        _ = dialogue.enter("a", number: second)
        #expect(dialogue.isIn("a") && !dialogue.isEntering("a"))
        // Nothing is left of it: the next exit is one.
        _ = dialogue.exit("a", number: dialogue.ask(SessionDialogue.exit("a"), "a"))
        #expect(dialogue.decide(SessionDialogue.read("a"), "a").error?.code == .notInRoom)
    }

    @Test(arguments: [ErrorCode.conflict, .forbidden, .notFound])
    func `a room that refuses is not entered, and may be asked again`(code: ErrorCode) {
        var dialogue = SessionDialogue.connected()
        // 409 is what `rejectNewer` says to a second device.
        let number = dialogue.askEnter("a", id: 7)
        let error = ChatError(code, "no")
        #expect(dialogue.refuseEnter("a", number: number, error) == [.reply(7, .failure(error))])
        #expect(!dialogue.isIn("a") && !dialogue.isEntering("a"))
        #expect(dialogue.decideEnter("a").error == nil)
    }

    @Test func `a client that goes while it enters is in the room all the same, and views nothing`() {
        var dialogue = SessionDialogue.connected()
        let number = dialogue.askEnter("a")
        #expect(dialogue.disconnect() == [])
        #expect(dialogue.enter("a", number: number) == [.joined("a"), .heard(SessionDialogue.room("a"), through: 7)])
        #expect(dialogue.isIn("a") && dialogue.session.announcement(in: SessionDialogue.room("a")).isAway)
    }

    @Test func `a refusal that comes when the client has gone is not said to the next connection`() {
        var dialogue = SessionDialogue.connected()
        let number = dialogue.askEnter("a")
        _ = dialogue.moveAndConnect()
        #expect(dialogue.refuseEnter("a", number: number, ChatError(.conflict, "no")) == [])
    }

    @Test func `a late answer to an enter that was given up is undone by a leave`() {
        var dialogue = SessionDialogue.connected()
        let number = dialogue.askEnter("a", id: 7)
        let enter = ClientOperation.enter(EnterRequest(room: SessionDialogue.room("a")))
        #expect(number.flatMap { dialogue.session.onGiveUp($0, enter, in: SessionDialogue.room("a")) } == 7)
        #expect(!dialogue.isEntering("a"))
        #expect(dialogue.enter("a", number: number, isOpen: false) == [.left("a")])
    }

    @Test func `a late answer does not undo a newer enter that is under way, or has succeeded`() {
        var dialogue = SessionDialogue.connected()
        let first = dialogue.askEnter("a")
        _ = dialogue.moveAndConnect()
        let second = dialogue.askEnter("a")
        #expect(dialogue.enter("a", number: first, isOpen: false) == [])
        _ = dialogue.enter("a", number: second)
        #expect(dialogue.enter("a", number: first, isOpen: false) == [])
        #expect(dialogue.isIn("a"))
    }

    @Test func `a leave because of a late answer undoes what was asked before it, and the session knows`() {
        var dialogue = SessionDialogue.connected()
        let first = dialogue.askEnter("a")
        let second = dialogue.askEnter("a")
        _ = dialogue.moveAndConnect()
        #expect(dialogue.enter("a", number: first, isOpen: false) == [.left("a")])
        // The room has answered before it heard of the leave.
        #expect(dialogue.enter("a", number: second) == [])
        #expect(!dialogue.isIn("a"))
        _ = dialogue.enter("a", number: dialogue.askEnter("a"))
        #expect(dialogue.isIn("a"))
    }

    @Test func `an enter that is given up of an earlier connection leaves the newer enter alone`() {
        var dialogue = SessionDialogue.connected()
        let first = dialogue.askEnter("a")
        _ = dialogue.moveAndConnect()
        _ = dialogue.askEnter("a")
        let enter = ClientOperation.enter(EnterRequest(room: SessionDialogue.room("a")))
        #expect(first.flatMap { dialogue.session.onGiveUp($0, enter, in: SessionDialogue.room("a")) } == nil)
        #expect(dialogue.isEntering("a"))
    }

    @Test func `a token that became narrower while the room was asked refuses it, and the room hears that it left`() {
        var dialogue = SessionDialogue.connected()
        let number = dialogue.askEnter("a", id: 7)
        _ = dialogue.session.onRefresh(dialogue.claims(rooms: ["b"]), request: 8, at: dialogue.time)
        let effects = dialogue.enter("a", number: number)
        #expect(effects.first == .left("a") && effects.last?.refusal == .forbidden && effects.count == 2)
        #expect(!dialogue.isIn("a"))
    }

    @Test func `an exit is answered when the room has let the session go`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let number = dialogue.ask(SessionDialogue.exit("a"), "a", id: 8)
        #expect(dialogue.isIn("a"))
        #expect(dialogue.exit("a", number: number) == [.parted("a"), .reply(8, .success(.exit))])
        #expect(!dialogue.isIn("a") && dialogue.decide(SessionDialogue.text("a"), "a").error?.code == .notInRoom)
    }

    @Test func `an exit that nobody has asked for ends the stay without a reply`() {
        var dialogue = SessionDialogue.connected(in: "a")
        #expect(dialogue.exit("a", number: nil) == [.parted("a")])
    }

    @Test func `an exit while the room is being entered reaches the room behind the enter`() {
        var dialogue = SessionDialogue.connected()
        let enter = dialogue.askEnter("a", id: 7)
        let exit = dialogue.ask(SessionDialogue.exit("a"), "a", id: 8)
        _ = dialogue.enter("a", number: enter)
        #expect(dialogue.exit("a", number: exit) == [.parted("a"), .reply(8, .success(.exit))])
        #expect(dialogue.rooms == [])
    }

    @Test func `an answer to an exit that has been repeated does not undo an enter of after it`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let exit = dialogue.ask(SessionDialogue.exit("a"), "a")
        _ = dialogue.exit("a", number: exit)
        _ = dialogue.enter("a", number: dialogue.askEnter("a"))
        #expect(dialogue.exit("a", number: exit, isOpen: false) == [])
        #expect(dialogue.isIn("a"))
    }

    @Test func `an exit that was given up and comes about has the room told that the session is there`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let exit = dialogue.ask(SessionDialogue.exit("a"), "a")
        #expect(dialogue.exit("a", number: exit, isOpen: false) == [.announce(SessionDialogue.room("a"))])
        #expect(dialogue.isIn("a"))
    }

    @Test(arguments: [KickReason.roomClosed, .byManager, .conflictingLogin, .blacklisted])
    func `who is put out is told why, at once`(reason: KickReason) {
        // The conflicting login is what `kickOlder` and `perDevice` say to the older session.
        var dialogue = SessionDialogue.connected(in: "a", "b")
        #expect(dialogue.kick("a", reason) == [.parted("a"), .kicked("a", reason)])
        #expect(dialogue.rooms == ["b"])
    }

    @Test func `who is put out while away is told when it is back, before the reply to connect`() throws {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        _ = dialogue.disconnect()
        #expect(dialogue.kick("a") == [.parted("a")])
        let effects = dialogue.moveAndConnect()
        try #require(effects.count == 3)
        #expect(Array(effects[..<2]) == [.moved("b"), .kicked("a", .byManager)])
        #expect(effects[2].connectResult != nil)
        // Once.
        #expect(dialogue.moveAndConnect().contains(.kicked("a", .byManager)) == false)
    }

    @Test func `who was silent when it was put out is told again, also by another node`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        dialogue.now = 50_000
        #expect(dialogue.kick("a").contains(.kicked("a", .byManager)))
        // A byte may have been on its way.
        dialogue.heardAt = 51_999
        _ = dialogue.session.move(users: &dialogue.users, heardAt: dialogue.heardAt, nowMilliseconds: 60_000)
        var other = dialogue.handedOver()
        #expect(other.connect().contains(.kicked("a", .byManager)))
        // That connection dies as well.
        other.heardAt = other.now
        _ = other.disconnect()
        #expect(other.connect().contains(.kicked("a", .byManager)))
        other.heardAt = other.now + 2_000
        _ = other.disconnect()
        #expect(!other.connect().contains(.kicked("a", .byManager)), "it has answered since")
    }

    @Test(arguments: [true, false]) func `who has asked to enter again since is not told of the kick before`(
        _ isAnswered: Bool
    ) {
        var dialogue = SessionDialogue.connected(in: "a")
        _ = dialogue.kick("a")
        let asked = dialogue.askEnter("a")
        dialogue.heardAt = dialogue.now
        if isAnswered { _ = dialogue.enter("a", number: asked) }
        _ = dialogue.disconnect()
        #expect(!dialogue.connect().contains(.kicked("a", .byManager)))
    }

    @Test func `who is in the room again when it comes back is not told of the kick before`() {
        var dialogue = SessionDialogue.connected(in: "a")
        _ = dialogue.disconnect()
        _ = dialogue.kick("a")
        _ = dialogue.session.onEnteredElsewhere(
            SessionDialogue.room("a"), dialogue.result("a"), at: dialogue.time)
        #expect(dialogue.isIn("a"))
        #expect(!dialogue.connect().contains(.kicked("a", .byManager)))
    }

    @Test func `a kick that was not told goes along to another node`() {
        var dialogue = SessionDialogue.connected(in: "a")
        _ = dialogue.disconnect()
        _ = dialogue.kick("a", .roomClosed)
        var other = dialogue.handedOver()
        #expect(other.connect().first == .kicked("a", .roomClosed))
    }

    @Test func `a kick while the room is being entered ends that`() {
        var dialogue = SessionDialogue.connected()
        _ = dialogue.askEnter("a")
        #expect(dialogue.kick("a") == [.kicked("a", .byManager)])
        #expect(!dialogue.isEntering("a"))
    }

    @Test func `a kick from a room that the session is not in says nothing`() {
        var dialogue = SessionDialogue.connected(in: "a")
        #expect(dialogue.kick("b") == [])
    }

    @Test func `a room that is being told of the session when it puts it out hears that it left`() {
        var dialogue = SessionDialogue.connected(in: "a")
        #expect(
            dialogue.kick("a", isAnnounced: true) == [.parted("a"), .left("a"), .kicked("a", .byManager)])
        // An enter that is under way is behind the announcement, and not undone.
        _ = dialogue.askEnter("b")
        #expect(dialogue.kick("b", isAnnounced: true) == [.kicked("b", .byManager)])
    }

    @Test func `a room that was entered on a lane which the session has left is known here`() {
        var dialogue = SessionDialogue.connected()
        let result = dialogue.result("a")
        let room = SessionDialogue.room("a")
        #expect(
            dialogue.session.onEnteredElsewhere(room, result, at: dialogue.time)
                == [.joined("a"), .heard(room, through: 7), .moved("a")])
        #expect(dialogue.session.onEnteredElsewhere(room, result, at: dialogue.time) == [])
        _ = dialogue.disconnect()
        #expect(
            dialogue.session.onEnteredElsewhere(SessionDialogue.room("b"), dialogue.result("b"), at: dialogue.time)
                == [.joined("b"), .heard(SessionDialogue.room("b"), through: 7), .moved("b"), .away("b")])
    }

    @Test func `a room that the present token does not allow is left, also when it was entered on another lane`() {
        var dialogue = SessionDialogue.connected()
        _ = dialogue.session.onRefresh(dialogue.claims(rooms: ["b"]), request: nil, at: dialogue.time)
        let effects = dialogue.session.onEnteredElsewhere(
            SessionDialogue.room("a"), dialogue.result("a"), at: dialogue.time)
        #expect(effects == [.left("a")] && dialogue.rooms == [])
    }

    @Test func `the voice counts in rooms that the session is in, and ends with the stay`() {
        var dialogue = SessionDialogue.connected(in: "a")
        let (here, there) = (SessionDialogue.room("a"), SessionDialogue.room("b"))
        #expect(dialogue.session.voice(in: here) == Voice(role: .normal, in: Incarnation(14)), "of epoch e")
        dialogue.session.onVoice(Voice(role: .manager), in: here)
        dialogue.session.onVoice(Voice(role: .manager), in: there)
        #expect(dialogue.session.voice(in: here)?.role == .manager && dialogue.session.voice(in: there) == nil)
        _ = dialogue.kick("a")
        #expect(dialogue.session.voice(in: here) == nil)
    }

    @Test func `losses are told of rooms that the session is in, and of no other`() {
        var dialogue = SessionDialogue.connected(in: "a", "b")
        dialogue.session.losses.note(room: SessionDialogue.room("a"), keptSeqs: 3...4, unkept: 1, barrage: 2)
        dialogue.session.losses.note(room: SessionDialogue.room("c"), keptSeqs: 3...4, unkept: 0, barrage: 0)
        let pushes = dialogue.session.takeLosses()
        var skipped = SkippedPush(room: SessionDialogue.room("a"))
        (skipped.barrage, skipped.unkept) = (2, 1)
        let gap = GapPush(room: SessionDialogue.room("a"), ranges: [SeqRange(from: 3, to: 4)], cause: .slow)
        #expect(pushes == [.gap(gap), .skipped(skipped)])
        #expect(dialogue.session.takeLosses() == [])
    }
}
