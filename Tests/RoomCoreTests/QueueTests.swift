import ChatModel
import Testing

@testable import RoomCore

@Suite struct QueueTests {
    private static func set(_ key: String, _ value: String = "v", transient: Bool = false, ifVersion: Int64? = nil)
        -> CommandBody
    {
        .queueSet(QueueWrite(key: key, value: value, transient: transient, ifVersion: ifVersion), NotifyOptions())
    }

    private static func take(_ key: String? = nil) -> CommandBody { .queueTake(key: key, NotifyOptions()) }

    private static func room(_ level: QueueLevel) -> Dialogue {
        var set = RoomChanges()
        set.queueLevel = level
        return Dialogue(set: set)
    }

    private static func keys(_ it: Dialogue) throws -> [String] {
        try it.state.queuePage(after: nil, limit: 1000).items.map(\.key)
    }

    @Test func `a new element is an OFFER at the end, an overwritten one an UPDATE in its place`() throws {
        var it = Dialogue()
        let offered = it.run(Self.set("a", "1"), by: member("bob"))
        #expect(offered.element?.version == 1)
        #expect(offered.element?.owner == user("bob"))
        #expect(offered.events == [.queueChanged])
        #expect(offered.notifications.first?.data == .queue(change: .offer, element: offered.element))
        it.run(Self.set("b"), by: member("bob"))
        let updated = it.run(Self.set("a", "2"), by: member("eve"))
        #expect(updated.element?.version == 2)
        #expect(updated.element?.owner == user("eve"))
        #expect(updated.notifications.first?.data == .queue(change: .update, element: updated.element))
        #expect(try Self.keys(it) == ["a", "b"])
    }

    @Test func `a version guards, and 0 means new`() {
        var it = Dialogue()
        #expect(it.run(Self.set("a", ifVersion: 1), by: member("bob")).code == .conflict)
        #expect(it.run(Self.set("a", ifVersion: 0), by: member("bob")).error == nil)
        #expect(it.run(Self.set("a", ifVersion: 0), by: member("bob")).code == .conflict)
        #expect(it.run(Self.set("a", ifVersion: 1), by: member("bob")).element?.version == 2)
        #expect(it.run(Self.set("a", ifVersion: 1), by: member("bob")).code == .conflict)
    }

    @Test func `taking gives the head or a key, and what is not there is not found`() throws {
        var it = Dialogue()
        #expect(it.run(Self.take(), by: member("bob")).code == .notFound)
        for key in ["a", "b", "c"] { it.run(Self.set(key), by: member("bob")) }
        let taken = it.run(Self.take("b"), by: member("eve"))
        #expect(taken.element?.key == "b")
        #expect(taken.notifications.first?.data == .queue(change: .poll, element: taken.element))
        #expect(it.run(Self.take("b"), by: member("eve")).code == .notFound)
        #expect(it.run(Self.take(), by: member("eve")).element?.key == "a")
        #expect(try Self.keys(it) == ["c"])
    }

    @Test func `clearing is one DROP, and an empty queue is not cleared`() throws {
        var it = Dialogue()
        it.run(Self.set("a"), by: member("bob"))
        it.run(Self.set("b"), by: member("bob"))
        let cleared = it.run(.queueClear(NotifyOptions()), by: member("guest"))
        #expect(cleared.events == [.queueChanged])
        #expect(cleared.notifications.first?.data == .queue(change: .drop, element: nil))
        #expect(try Self.keys(it).isEmpty)
        #expect(it.run(.queueClear(NotifyOptions()), by: member("guest")) == [.result(.done)])
    }

    @Test func `a batch changes what is there and answers what is not`() {
        var it = Dialogue()
        it.run(Self.set("a", transient: true), by: member("bob"))
        it.run(Self.set("b"), by: member("bob"))
        let pairs = ["x", "b", "a", "y"].map { QueuePair(key: $0, value: "new") }
        let effects = it.run(.queueSetMany(pairs, NotifyOptions()), by: member("eve"))
        #expect(effects.result == .missing(["x", "y"]))
        #expect(effects.events == [.queueBatchChanged])
        guard case .queueBatch(.batchUpdate, let elements)? = effects.notifications.first?.data else {
            Issue.record("no batch")
            return
        }
        #expect(elements.map(\.key) == ["b", "a"])
        #expect(elements.map(\.version) == [2, 2])
        #expect(elements.map(\.owner) == [user("eve"), user("eve")])
        #expect(elements.map(\.transient) == [false, true])
        #expect(it.state.transientElements(of: user("eve")).map(\.key) == ["a"])
        let nothing = it.run(.queueSetMany([QueuePair(key: "x", value: "")], NotifyOptions()), by: member("eve"))
        #expect(nothing == [.result(.missing(["x"]))])
    }

    @Test func `a batch has at most 100 values`() {
        var it = Dialogue()
        let pairs = (0...100).map { QueuePair(key: "k\($0)", value: "") }
        #expect(it.run(.queueSetMany(pairs, NotifyOptions()), by: .system).code == .badParameter)
        #expect(it.run(.queueSetMany(pairs.dropLast(), NotifyOptions()), by: .system).error == nil)
    }

    @Test func `a queue has at most so many elements`() {
        var it = Dialogue()
        it.facts.queueElementsMax = 2
        it.run(Self.set("a"), by: member("bob"))
        it.run(Self.set("b"), by: member("bob"))
        #expect(it.run(Self.set("c"), by: member("bob")).code == .badParameter)
        #expect(it.run(Self.set("a"), by: member("bob")).error == nil)
        it.run(Self.take(), by: member("bob"))
        #expect(it.run(Self.set("c"), by: member("bob")).error == nil)
    }

    @Test func `level OWNER: everyone adds, and changes and takes its own; managers everything`() {
        var it = Self.room(.owner)
        #expect(it.run(Self.set("a"), by: member("bob")).error == nil)
        #expect(it.run(Self.set("a"), by: member("eve")).code == .forbidden)
        #expect(it.run(Self.take("a"), by: member("eve")).code == .forbidden)
        #expect(it.run(Self.take(), by: member("eve")).code == .forbidden)
        let batch = CommandBody.queueSetMany([QueuePair(key: "a", value: "x")], NotifyOptions())
        #expect(it.run(batch, by: member("eve")).code == .forbidden)
        #expect(it.run(batch, by: member("bob")).error == nil)
        #expect(it.run(.queueClear(NotifyOptions()), by: member("bob")).code == .forbidden)
        #expect(it.run(Self.set("a"), by: member("manager")).element?.owner == user("manager"))
        #expect(it.run(Self.set("a"), by: member("bob")).code == .forbidden)
        #expect(it.run(.queueClear(NotifyOptions()), by: member("manager")).error == nil)
    }

    @Test func `level MANAGER is for managers`() {
        var it = Self.room(.manager)
        for body in [Self.set("a"), Self.take(), .queueClear(NotifyOptions()), .queueSetMany([], NotifyOptions())] {
            #expect(it.run(body, by: member("normal")).code == .forbidden)
        }
        #expect(it.run(Self.set("a"), by: member("manager")).error == nil)
        #expect(it.run(Self.take(), by: member("creator")).error == nil)
    }

    @Test func `a muted member leaves the queue alone, a manager too`() {
        var it = Dialogue()
        it.run(.setMute(user("manager"), enable: true, NotifyOptions()), by: .system)
        it.run(.tempMute(user("bob"), seconds: 9, NotifyOptions()), by: .system)
        for body in [Self.set("a"), Self.take(), .queueClear(NotifyOptions()), .queueSetMany([], NotifyOptions())] {
            #expect(it.run(body, by: member("manager")).code == .muted)
            #expect(it.run(body, by: member("bob")).error?.retryAfterMs == 9000)
        }
    }

    @Test func `the server API gives elements an owner`() {
        var it = Dialogue()
        let write = QueueWrite(key: "a", value: "v", owner: user("bob"), transient: true)
        let body = CommandBody.queueSet(write, NotifyOptions())
        #expect(it.run(body, by: .system).element?.owner == user("bob"))
        #expect(it.run(Self.set("a"), by: .system).element?.owner == user("bob"))
        #expect(it.run(Self.set("b"), by: .system).element?.owner == user("creator"))
        let operated = Actor.server(UserName(user: user("op"), nick: ""))
        #expect(it.run(Self.set("b"), by: operated).element?.owner == user("op"))
    }

    @Test func `the leader's removal names what it saw, and ignores what has changed`() throws {
        var it = Dialogue()
        var seen: [QueueElementVersion] = []
        for key in ["a", "b", "c", "d"] {
            let element = it.run(Self.set(key, transient: key != "d"), by: member("bob")).element
            if let element { seen.append(QueueElementVersion(element)) }
        }
        it.run(Self.set("b", transient: true), by: member("bob"))
        it.run(Self.take("c"), by: member("manager"))
        it.run(Self.set("c", transient: true), by: member("eve"))
        let effects = it.run(.queueRemove(seen), by: .system)
        #expect(effects.events == [.queueBatchChanged])
        guard case .queueBatch(.partClear, let removed)? = effects.notifications.first?.data else {
            Issue.record("no part clear")
            return
        }
        #expect(removed.map(\.key) == ["a"])
        #expect(effects.notifications.first?.operator == nil)
        #expect(try Self.keys(it) == ["b", "d", "c"])
        #expect(it.run(.queueRemove(seen), by: .system) == [.result(.done)])
    }

    @Test func `the same element named twice goes once`() {
        var it = Dialogue()
        let element = it.run(Self.set("a", transient: true), by: member("bob")).element
        let version = element.map { QueueElementVersion($0) }
        let effects = it.run(.queueRemove([version, version].compactMap { $0 }), by: .system)
        guard case .queueBatch(_, let removed)? = effects.notifications.first?.data else {
            Issue.record("no part clear")
            return
        }
        #expect(removed.count == 1)
    }

    @Test func `transient elements are known by owner`() {
        var it = Dialogue()
        it.run(Self.set("a", transient: true), by: member("bob"))
        it.run(Self.set("b"), by: member("bob"))
        it.run(Self.set("c", transient: true), by: member("bob"))
        #expect(it.state.transientElements(of: user("bob")).map(\.key) == ["a", "c"])
        it.run(Self.set("a", transient: true), by: member("eve"))
        it.run(Self.set("c"), by: member("bob"))
        #expect(it.state.transientOwners == [user("eve")])
        it.run(Self.take("a"), by: member("eve"))
        #expect(it.state.transientOwners.isEmpty)
    }

    @Test func `pages go through the whole queue, also when it changes`() throws {
        var it = Dialogue()
        for number in 0..<5 { it.run(Self.set("k\(number)"), by: member("bob")) }
        let first = try it.state.queuePage(after: nil, limit: 2)
        #expect(first.items.map(\.key) == ["k0", "k1"])
        it.run(Self.take("k1"), by: member("bob"))
        it.run(Self.take("k2"), by: member("bob"))
        let second = try it.state.queuePage(after: first.next, limit: 2)
        #expect(second.items.map(\.key) == ["k3", "k4"])
        #expect(second.next == nil)
        #expect(throws: ChatError.self) { try it.state.queuePage(after: "?", limit: 2) }
    }
}
