import ChatModel
import Testing

@testable import RoomCore

/// Seats as hosts run them: owners that managers name, locks, and a room's bound on the seats of a user.
@Suite struct HostedSeatTests {
    private static func set(
        _ key: String, owner: String? = nil, keepOwner: Bool = false, locked: Bool? = nil, transient: Bool = true,
        ifVersion: Int64? = nil
    ) -> CommandBody {
        var write = QueueWrite(
            key: key, value: "v", owner: owner.map(user), transient: transient, ifVersion: ifVersion)
        (write.keepOwner, write.locked) = (keepOwner, locked)
        return .queueSet(write, NotifyOptions())
    }

    private static func take(_ key: String? = nil) -> CommandBody { .queueTake(key: key, NotifyOptions()) }
    private static func many(_ keys: String...) -> CommandBody {
        .queueSetMany(keys.map { QueuePair(key: $0, value: "w") }, NotifyOptions())
    }

    private static func room(_ level: QueueLevel = .any, seats: Int64? = nil) -> Dialogue {
        var set = RoomChanges()
        (set.queueLevel, set.seatsPerUser) = (level, seats)
        return Dialogue(set: set)
    }

    // MARK: - Owners

    @Test(arguments: QueueLevel.allCases)
    func `managers seat others, and edit a seat without becoming its owner`(level: QueueLevel) {
        var it = Self.room(level)
        let seated = it.run(Self.set("a", owner: "bob", ifVersion: 0), by: member("manager"))
        #expect(seated.element?.owner == user("bob"))
        #expect(seated.notifications.first?.data == .queue(change: .offer, element: seated.element))
        #expect(it.state.transientElements(of: user("bob")).map(\.key) == ["a"])
        let edited = it.run(Self.set("a", keepOwner: true, ifVersion: 1), by: member("creator"))
        #expect(edited.element?.owner == user("bob"))
        #expect(edited.element?.version == 2)
        #expect(edited.notifications.first?.data == .queue(change: .update, element: edited.element))
        // Nothing was there: it is the writer's.
        #expect(it.run(Self.set("b", keepOwner: true), by: member("manager")).element?.owner == user("manager"))
        // Without either the writer becomes the owner, as ever.
        #expect(it.run(Self.set("a"), by: member("manager")).element?.owner == user("manager"))
        #expect(it.state.transientElements(of: user("bob")).isEmpty)
    }

    @Test(arguments: [QueueLevel.any, .owner])
    func `owner, keepOwner and locked are for managers, whatever they say`(level: QueueLevel) {
        var it = Self.room(level)
        it.run(Self.set("own"), by: member("bob"))
        for (body, field) in [
            (Self.set("a", owner: "eve"), "owner"), (Self.set("a", owner: "bob"), "owner"),
            (Self.set("own", keepOwner: true), "keepOwner"), (Self.set("a", locked: true), "locked"),
            (Self.set("own", locked: false), "locked"),
        ] {
            for name in ["bob", "normal"] {
                let refused = it.run(body, by: member(name))
                #expect(refused.code == .forbidden)
                if name == "bob" { #expect(refused.error?.field == field) }
            }
        }
        #expect(it.state.queueCount == 1)
        // The version is not told to who has no right.
        #expect(it.run(Self.set("own", owner: "eve", ifVersion: 7), by: member("bob")).code == .forbidden)
        #expect(it.run(Self.set("own", owner: "eve", ifVersion: 7), by: member("manager")).code == .conflict)
    }

    @Test func `owner and keepOwner exclude each other`() {
        var it = Self.room()
        let body = Self.set("a", owner: "bob", keepOwner: true)
        for actor in [member("manager"), .system] {
            let refused = it.run(body, by: actor)
            #expect(refused.code == .badParameter)
            #expect(refused.error?.field == "keepOwner")
        }
    }

    @Test func `the server API keeps owners and locks, too`() {
        var it = Self.room()
        it.run(Self.set("a", owner: "bob", locked: true), by: .system)
        let operated = Actor.server(UserName(user: user("op"), nick: ""))
        let kept = it.run(Self.set("a", keepOwner: true), by: operated).element
        #expect(kept?.owner == user("bob"))
        #expect(kept?.locked == true)
        #expect(it.run(Self.set("a", locked: false), by: operated).element?.owner == user("op"))
    }

    // MARK: - Locks

    @Test(arguments: [QueueLevel.any, .owner])
    func `a locked element is changed, taken and cleared by managers only`(level: QueueLevel) {
        var it = Self.room(level)
        it.run(Self.set("free"), by: member("bob"))
        // Also by its owner, and whatever version it names.
        let locked = it.run(Self.set("a", owner: "bob", locked: true), by: member("manager"))
        #expect(locked.element?.locked == true)
        for body in [
            Self.set("a"), Self.set("a", ifVersion: 0), Self.set("a", ifVersion: 1), Self.take("a"), Self.many("a"),
            Self.many("free", "a"), .queueClear(NotifyOptions()),
        ] {
            for name in ["bob", "eve", "normal"] { #expect(it.run(body, by: member(name)).code == .forbidden) }
        }
        #expect(it.state.queue["free"]?.version == 1)
        #expect(it.run(Self.take("free"), by: member("bob")).error == nil)
        // It is the head now.
        #expect(it.run(Self.take(), by: member("bob")).code == .forbidden)
        // A write that says nothing of the lock leaves it.
        #expect(it.run(Self.set("a", keepOwner: true), by: member("creator")).element?.locked == true)
        #expect(it.run(Self.many("a"), by: member("manager")).error == nil)
        #expect(it.state.queue["a"]?.locked == true)
        let taken = it.run(Self.take(), by: member("manager"))
        #expect(taken.element?.locked == true)
        // Set anew it is unlocked.
        #expect(it.run(Self.set("a"), by: member("bob")).element?.locked == false)
    }

    @Test func `an unlocked element is everybody's again, and a cleared queue has no locks`() {
        var it = Self.room()
        it.run(Self.set("a", locked: true, transient: false), by: member("manager"))
        #expect(it.run(Self.set("a"), by: member("bob")).code == .forbidden)
        let unlocked = it.run(Self.set("a", keepOwner: true, locked: false, transient: false), by: member("manager"))
        #expect(unlocked.element?.locked == false)
        #expect(it.run(Self.set("a"), by: member("bob")).element?.owner == user("bob"))
        it.run(Self.set("b", locked: true), by: member("manager"))
        #expect(it.run(.queueClear(NotifyOptions()), by: member("manager")).error == nil)
        it.run(Self.set("b"), by: member("bob"))
        #expect(it.run(.queueClear(NotifyOptions()), by: member("bob")).error == nil)
    }

    @Test func `a locked seat goes with its owner all the same`() {
        var it = Self.room()
        let element = it.run(Self.set("a", owner: "bob", locked: true), by: member("manager")).element
        let gone = it.run(.queueRemove(element.map { [QueueElementVersion($0)] } ?? []), by: .system)
        #expect(gone.notifications.first?.data == .queueBatch(change: .partClear, elements: element.map { [$0] } ?? []))
        #expect(it.state.queueCount == 0)
    }

    @Test func `who is no manager any more changes no locked element`() {
        var it = Self.room()
        it.run(Self.set("a", locked: true), by: member("manager"))
        it.run(.setManager(user("manager"), enable: false, NotifyOptions()), by: member("creator"))
        #expect(it.run(Self.set("a"), by: member("manager")).code == .forbidden)
        #expect(it.run(Self.take("a"), by: member("manager")).code == .forbidden)
    }

    // MARK: - Seats of a user

    @Test func `a user takes no more seats than the room gives, by itself or by whoever writes`() {
        var it = Self.room(seats: 1)
        it.run(Self.set("a", ifVersion: 0), by: member("bob"))
        let refused = it.run(Self.set("b"), by: member("bob"))
        #expect(refused.code == .conflict)
        #expect(refused.error?.field == "transient")
        for actor in [member("manager"), member("creator"), .system] {
            #expect(it.run(Self.set("b", owner: "bob"), by: actor).code == .conflict)
        }
        // Managers' own seats count as well.
        it.run(Self.set("m"), by: member("manager"))
        #expect(it.run(Self.set("b"), by: member("manager")).code == .conflict)
        // An element that is not transient is no seat.
        #expect(it.run(Self.set("song", transient: false), by: member("bob")).error == nil)
        // One's own seat can be changed, and after leaving it another one taken.
        #expect(it.run(Self.set("a"), by: member("bob")).element?.version == 2)
        it.run(Self.take("a"), by: member("bob"))
        #expect(it.run(Self.set("b"), by: member("bob")).error == nil)
    }

    @Test func `overwriting somebody's seat counts for the writer`() {
        var it = Self.room(seats: 1)
        it.run(Self.set("a"), by: member("bob"))
        it.run(Self.set("b"), by: member("eve"))
        #expect(it.run(Self.set("a"), by: member("eve")).code == .conflict)
        #expect(it.run(Self.many("a"), by: member("eve")).code == .conflict)
        #expect(it.state.queue["a"]?.owner == user("bob"))
        #expect(it.run(Self.many("a", "b"), by: member("fox")).code == .conflict)
        #expect(it.run(Self.many("b"), by: member("eve")).error == nil)
        // The app server leaves every owner what it has.
        #expect(it.run(Self.many("a", "b"), by: .system).error == nil)
    }

    @Test func `keepOwner makes no second seat of what was none`() {
        var it = Self.room(seats: 1)
        it.run(Self.set("song", transient: false), by: member("bob"))
        it.run(Self.set("a"), by: member("bob"))
        #expect(it.run(Self.set("song", keepOwner: true), by: member("manager")).code == .conflict)
        #expect(it.run(Self.set("a", keepOwner: true), by: member("manager")).error == nil)
    }

    @Test func `a lower bound takes nothing away, and gives nothing more`() {
        var it = Self.room()
        for key in ["a", "b", "c"] { it.run(Self.set(key), by: member("bob")) }
        var set = RoomChanges()
        set.seatsPerUser = 1
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        #expect(it.run(Self.set("b"), by: member("bob")).element?.version == 2)
        #expect(it.run(Self.set("d"), by: member("bob")).code == .conflict)
        it.run(Self.take("a"), by: member("bob"))
        it.run(Self.take("b"), by: member("bob"))
        #expect(it.run(Self.set("d"), by: member("bob")).code == .conflict)
        set.seatsPerUser = 0
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        #expect(it.run(Self.set("d"), by: member("bob")).error == nil)
    }

    // MARK: - Settings

    @Test func `only the server API sets how many seats and HIGH messages there are`() {
        var it = Self.room()
        var set = RoomChanges()
        (set.highPerSecond, set.seatsPerUser) = (2, 3)
        let told = it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        #expect(told.notifications.first?.data == .room(set: set))
        #expect(it.state.info?.highPerSecond == 2)
        #expect(it.state.info?.seatsPerUser == 3)
        (set.highPerSecond, set.seatsPerUser) = (50, 0)
        it.run(.updateRoom(set: set, NotifyOptions()), by: member("creator"))
        #expect(it.state.info?.highPerSecond == 2)
        #expect(it.state.info?.seatsPerUser == 3)
        set.seatsPerUser = -1
        #expect(it.run(.updateRoom(set: set, NotifyOptions()), by: .system).code == .badParameter)
    }

    @Test func `a room has a number of HIGH messages a second of its own`() {
        var it = Self.room()
        it.facts.highPerSecondMax = 10
        var set = RoomChanges()
        var draft = MessageDraft(body: .text("t"))
        draft.priority = .high
        for (most, actor) in [(Int64(2), member("manager")), (30, member("creator")), (3, .system)] {
            it.pass(seconds: 2)
            set.highPerSecond = most
            it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
            let given = (0..<40).map { _ in it.run(.post(draft), by: actor).posted?.priority }
            #expect(given.count { $0 == .high } == Int(most))
            #expect(given.prefix(Int(most)).allSatisfy { $0 == .high })
        }
    }

    // MARK: - Repeats

    @Test func `a repeat after a lost answer gets the first one, and changes nothing`() {
        var it = Self.room(seats: 1)
        let body = Self.set("a", owner: "bob", locked: true, ifVersion: 0)
        let first = it.run(body, by: member("manager"), key: 1)
        it.run(Self.set("a", keepOwner: true, locked: false), by: member("creator"))
        let again = it.run(body, by: member("manager"), key: 1)
        #expect(again == [.result(.element(first.element ?? QueueElement(key: "", value: "", owner: user("x"))))])
        #expect(again.element?.locked == true)
        #expect(it.state.queue["a"]?.locked == false)
        // A refusal is not remembered: the seat is given when there is one.
        let second = Self.set("b", owner: "bob")
        #expect(it.run(second, by: member("manager"), key: 2).code == .conflict)
        it.run(Self.take("a"), by: member("bob"))
        #expect(it.run(second, by: member("manager"), key: 2).element?.owner == user("bob"))
    }

    @Test func `what the level before does not understand belongs to the feature`() {
        func feature(_ body: CommandBody, _ actor: Actor) -> Feature? {
            Command(id: nil, room: Self.room().room, actor: actor, body: body).feature
        }
        #expect(feature(Self.set("a", owner: "bob"), member("manager")) == .seats)
        // It has always had this one.
        #expect(feature(Self.set("a", owner: "bob"), .system) == nil)
        #expect(feature(Self.set("a"), member("manager")) == nil)
        for body in [Self.set("a", keepOwner: true), Self.set("a", locked: false)] {
            #expect(feature(body, .system) == .seats)
        }
        var set = RoomChanges()
        set.seatsPerUser = 0
        #expect(feature(.updateRoom(set: set, NotifyOptions()), .system) == .seats)
        set = RoomChanges()
        set.highPerSecond = 1
        #expect(feature(.createRoom(creator: user("c"), set: set), .system) == .seats)
        set = RoomChanges()
        #expect(feature(.createRoom(creator: user("c"), set: set), .system) == nil)
    }
}
