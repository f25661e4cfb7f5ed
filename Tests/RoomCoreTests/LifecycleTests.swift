import ChatModel
import Testing

@testable import RoomCore

@Suite struct LifecycleTests {
    @Test func `creating answers the room, whose incarnation is the entry`() {
        var it = Dialogue(staffed: false)
        var set = RoomChanges()
        set.name = "Live"
        set.queueLevel = .manager
        let effects = it.run(.createRoom(creator: user("ann"), set: set), by: .system)
        guard case .room(let info)? = effects.result else {
            Issue.record("no room")
            return
        }
        #expect(info.name == "Live")
        #expect(info.queueLevel == .manager)
        #expect(info.createdAt == it.now)
        #expect(it.state.incarnation == Incarnation(of: it.room, createdAt: it.index))
        #expect(it.state.role(of: user("ann")) == .creator)
        #expect(it.state.lastSeq == 0)
        #expect(effects.shown.isEmpty)
    }

    @Test func `a room that exists is not created again, closed or not`() {
        var it = Dialogue()
        #expect(it.run(.createRoom(creator: user("bob"), set: RoomChanges()), by: .system).code == .conflict)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(it.run(.createRoom(creator: user("bob"), set: RoomChanges()), by: .system).code == .conflict)
        #expect(it.state.info?.creator == user("creator"))
    }

    @Test func `what does not exist is not found`() {
        var it = Dialogue(staffed: false)
        #expect(it.run(.post(MessageDraft(body: .text("a"))), by: .system).code == .notFound)
        #expect(it.run(.deleteRoom, by: .system).code == .notFound)
        #expect(it.run(.closeRoom(NotifyOptions()), by: .system).code == .notFound)
        #expect(it.run(.occupancy(emptySince: nil), by: .system).code == .notFound)
    }

    @Test func `clients neither create nor close nor delete`() {
        var it = Dialogue()
        for body: CommandBody in [
            .createRoom(creator: user("creator"), set: RoomChanges()), .closeRoom(NotifyOptions()), .reopenRoom,
            .deleteRoom, .expire, .queueRemove([]), .occupancy(emptySince: nil),
        ] {
            #expect(it.run(body, by: member("creator")).code == .forbidden)
        }
    }

    @Test func `managers change the room, and 312 says what was set`() {
        var it = Dialogue()
        var set = RoomChanges()
        set.announcement = "Hello"
        set.slowModeSeconds = 3
        #expect(it.run(.updateRoom(set: set, NotifyOptions()), by: member("normal")).code == .forbidden)
        let effects = it.run(.updateRoom(set: set, NotifyOptions(notifyExt: "x")), by: member("manager"))
        #expect(effects.events == [.roomInfoUpdated])
        #expect(effects.notifications.first?.data == .room(set: set))
        #expect(effects.notifications.first?.operator == UserName(user: user("manager"), nick: "nick-manager"))
        #expect(effects.notifications.first?.notifyExt == "x")
        #expect(it.state.info?.announcement == "Hello")
        #expect(it.state.info?.slowModeSeconds == 3)
    }

    @Test func `fields of the server API mean nothing in a client's hand`() {
        var it = Dialogue()
        var set = RoomChanges()
        set.entry = .invited
        set.idleCloseSeconds = 5
        set.viewerBudget = 7
        #expect(it.run(.updateRoom(set: set, NotifyOptions()), by: member("creator")).events.isEmpty)
        #expect(it.state.info?.entry == .anyone)
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        #expect(it.state.info?.entry == .invited)
        #expect(it.state.info?.viewerBudget == 7)
        set.viewerBudget = 0
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        #expect(it.state.info?.viewerBudget == nil)
    }

    @Test func `durations below 0 are refused`() {
        var it = Dialogue()
        var set = RoomChanges()
        set.slowModeSeconds = -1
        let error = it.run(.updateRoom(set: set, NotifyOptions()), by: .system).error
        #expect(error?.code == .badParameter)
        #expect(error?.field == "slowModeSeconds")
    }

    @Test func `without notify the change happens in silence`() {
        var it = Dialogue()
        var set = RoomChanges()
        set.name = "quiet"
        let effects = it.run(.updateRoom(set: set, NotifyOptions(notify: false)), by: .system)
        #expect(effects.shown.isEmpty)
        #expect(it.state.info?.name == "quiet")
        #expect(it.state.lastSeq == 0)
    }

    @Test func `closing kicks all after 311, takes transient elements and keeps the rest`() {
        var it = Dialogue()
        it.run(
            .queueSet(QueueWrite(key: "mic", value: "v", transient: true), NotifyOptions()),
            by: member("normal"))
        it.run(
            .queueSet(QueueWrite(key: "song", value: "v"), NotifyOptions()),
            by: member("normal"))
        let effects = it.run(.closeRoom(NotifyOptions(notifyExt: "bye")), by: .system)
        #expect(effects.events == [.roomClosed, .queueBatchChanged])
        #expect(effects.contains(.kickAll(reason: .roomClosed, ext: "bye")))
        #expect(it.state.queue["mic"] == nil)
        #expect(it.state.queue["song"] != nil)
        #expect(it.run(.closeRoom(NotifyOptions()), by: .system).count == 1)
    }

    @Test func `a closed room refuses everybody, and opens again with everything in it`() {
        var it = Dialogue()
        it.run(.post(MessageDraft(body: .text("a"))), by: member("normal"))
        it.run(.closeRoom(NotifyOptions()), by: .system)
        for body: CommandBody in [
            .post(MessageDraft(body: .text("b"))), .muteRoom(enable: true, NotifyOptions()),
            .setRole(user("bob"), .normal, NotifyOptions()), .queueClear(NotifyOptions()),
            .updateRoom(set: RoomChanges(), NotifyOptions()),
        ] {
            #expect(it.run(body, by: .system).code == .roomClosed)
        }
        #expect(throws: ChatError.self) {
            try it.state.mayEnter(user("creator"), anonymous: false, isHere: true, invitedByToken: true, at: it.now)
        }
        it.run(.reopenRoom, by: .system)
        #expect(it.state.role(of: user("manager")) == .manager)
        #expect(it.run(.post(MessageDraft(body: .text("b"))), by: member("normal")).shown.first?.seq == 3)
    }

    @Test func `deleting ends the incarnation, and the ID can be used anew`() {
        var it = Dialogue()
        it.run(.post(MessageDraft(body: .text("a"))), by: member("normal"), key: 1)
        let first = it.state.incarnation
        let effects = it.run(.deleteRoom, by: .system, key: 2)
        #expect(effects.contains(.kickAll(reason: .roomClosed, ext: nil)))
        #expect(effects.contains { $0 == first.map { .retire($0) } })
        #expect(effects.result == .done)
        #expect(!it.state.exists)
        #expect(it.state.role(of: user("manager")) == .guest)

        it.run(.createRoom(creator: user("eve"), set: RoomChanges()), by: .system)
        #expect(it.state.incarnation != first)
        #expect(it.state.lastSeq == 0)
        #expect(it.state.role(of: user("creator")) == .guest)
    }

    @Test func `the results of creating and deleting outlive the room`() {
        var it = Dialogue(staffed: false)
        let create = CommandBody.createRoom(creator: user("ann"), set: RoomChanges())
        let created = it.run(create, by: .system, key: 1).result
        #expect(it.run(create, by: .system, key: 1) == created.map { [.result($0)] } ?? [])
        it.run(.deleteRoom, by: .system, key: 2)
        #expect(it.run(.deleteRoom, by: .system, key: 2) == [.result(.done)])
        #expect(it.run(create, by: .system, key: 1) == created.map { [.result($0)] } ?? [])
        #expect(!it.state.exists)
        it.pass(seconds: Limits.commandMemorySeconds)
        #expect(it.run(create, by: .system, key: 1).count > 1)
        #expect(it.state.exists)
    }

    @Test func `muting the room is told once`() {
        var it = Dialogue()
        #expect(it.run(.muteRoom(enable: true, NotifyOptions()), by: member("normal")).code == .forbidden)
        #expect(it.run(.muteRoom(enable: true, NotifyOptions()), by: member("manager")).events == [.roomMuted])
        #expect(it.run(.muteRoom(enable: true, NotifyOptions()), by: member("manager")).events.isEmpty)
        #expect(it.run(.muteRoom(enable: false, NotifyOptions()), by: member("creator")).events == [.roomUnmuted])
    }
}
