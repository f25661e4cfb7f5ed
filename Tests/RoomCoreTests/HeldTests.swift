import ChatModel
import Testing

@testable import RoomCore

/// Messages that wait for a manager.
@Suite struct HeldTests {
    private static let options = NotifyOptions()

    @discardableResult
    private static func send(
        _ it: inout Dialogue, _ policy: HoldPolicy = HoldPolicy(), by actor: Actor = member("bob"), key: UInt64? = nil,
        _ change: (inout MessageDraft) -> Void = { _ in }
    ) -> [Effect] {
        var draft = MessageDraft(body: .text("x"))
        change(&draft)
        it.facts.hold = policy
        defer { it.facts.hold = nil }
        let id = actor.user.flatMap { user in key.map { CommandID(scope: user.text, text: "\($0)") } }
        return it.run(.post(draft), by: actor, key: key, id: id)
    }

    private static func held(
        _ it: inout Dialogue, _ policy: HoldPolicy = HoldPolicy(), by actor: Actor = member("bob"), key: UInt64? = nil,
        _ change: (inout MessageDraft) -> Void = { _ in }
    ) throws -> String {
        try #require(send(&it, policy, by: actor, key: key, change).heldID)
    }

    @discardableResult
    private static func decide(
        _ it: inout Dialogue, _ id: String, _ isAllowed: Bool, by actor: Actor = member("manager"), key: UInt64? = nil,
        reason: String? = nil
    ) -> [Effect] {
        it.run(.decideHeld(heldID: id, HeldDecision(isAllowed: isAllowed, reason: reason)), by: actor, key: key)
    }

    @Test func `nobody sees it, it has no seq, and managers are told`() throws {
        var it = Dialogue()
        let effects = Self.send(&it, key: 1) { ($0.ext, $0.mentions) = ("e", [user("ann")]) }
        let id = try #require(effects.heldID)
        #expect(effects.shown.isEmpty && it.state.lastSeq == 0 && it.state.heldCount == 1)
        let told = try #require(effects.told.first)
        #expect(told.message.messageID == id && told.message.seq == nil && told.message.place == .outside)
        #expect(told.message.clientID == "1" && told.message.time == it.now && told.message.ext == "e")
        #expect(told.expiresAt == it.now.adding(seconds: 600) && told.onExpiry == .deny)
        let life = try #require(it.state.incarnation)
        #expect(MessageID.parse(id) == .held(life, index: it.index))
        #expect(RoomState.isHeldID(id) && !RoomState.isHeldID("a-1"))
    }

    @Test func `allowed, it is a message of now, under its old clientId`() throws {
        var it = Dialogue()
        let id = try Self.held(&it, key: 1) { $0.mentions = [user("ann")] }
        it.run(.post(MessageDraft(body: .text("between"))), by: member("ann"))
        it.pass(seconds: 30)
        let effects = Self.decide(&it, id, true)
        let message = try #require(effects.shown.first)
        #expect(effects.shown.count == 1 && effects.result == .decided(message))
        #expect(message.seq == 2 && message.time == it.now && message.clientID == "1" && message.messageID != id)
        #expect(message.mentions == [user("ann")] && message.from?.user == user("bob"))
        #expect(effects.contains(.append(message, commandKey: CommandKey(high: 7, low: 1))))
        #expect(it.state.heldCount == 0 && effects.told.isEmpty && effects.denials.isEmpty)
        // The role is that of now.
        let second = try Self.held(&it)
        it.run(.setRole(user("bob"), .manager, NotifyOptions(notify: false)), by: .system)
        #expect(Self.decide(&it, second, true).shown.first?.from?.role == .manager)
    }

    @Test func `denied, it is gone, and its sender is told why`() throws {
        var it = Dialogue()
        let id = try Self.held(&it, key: 1)
        let effects = Self.decide(&it, id, false, reason: "rude")
        #expect(effects.shown.isEmpty && it.state.lastSeq == 0)
        let denial = try #require(effects.denials.first)
        #expect(denial.heldID == id && denial.user == user("bob") && denial.clientID == "1" && denial.reason == "rude")
        guard case .decided(let message)? = effects.result else { throw ChatError(.internal, "not decided") }
        #expect(message.messageID == id && message.seq == nil)
        #expect(it.state.denials(of: user("bob"), since: 0, at: it.now).map(\.heldID) == [id])
        #expect(it.state.denials(of: user("bob"), since: 1, at: it.now).isEmpty, "it has been told")
        #expect(it.state.denials(of: user("ann"), since: 0, at: it.now).isEmpty)
    }

    @Test func `a repeat of the send answers heldId, then the message, or 13009`() throws {
        var it = Dialogue()
        let allowed = try Self.held(&it, key: 1)
        let denied = try Self.held(&it, HoldPolicy(seconds: 86_400), key: 2)
        let waiting = try Self.held(&it, HoldPolicy(seconds: 86_400), key: 3)
        #expect(Self.send(&it, key: 1).heldID == allowed && it.state.heldCount == 3)
        // Also one that the leader would not hold any more.
        #expect(it.run(.post(MessageDraft(body: .text("x"))), by: member("bob"), key: 2).heldID == denied)
        let message = try #require(Self.decide(&it, allowed, true).shown.first)
        Self.decide(&it, denied, false)
        #expect(Self.send(&it, key: 1).posted?.messageID == message.messageID)
        #expect(Self.send(&it, key: 2).code == .rejected && it.state.lastSeq == 1)
        #expect(it.state.remembers(CommandKey(high: 7, low: 2), at: it.now))
        it.pass(seconds: Limits.commandMemorySeconds)
        #expect(Self.send(&it, key: 3).heldID == waiting, "as long as it waits")
        #expect(!it.state.remembers(CommandKey(high: 7, low: 2), at: it.now))
        #expect(Self.send(&it, key: 2).heldID != nil, "forgotten")
    }

    @Test func `managers decide, once: the first wins`() throws {
        var it = Dialogue()
        for actor in [member("bob"), member("normal"), member("ann")] {
            let id = try Self.held(&it)
            #expect(Self.decide(&it, id, true, by: actor).code == .forbidden)
            #expect(Self.decide(&it, id, false, by: actor).code == .forbidden)
        }
        let actors: [Actor] = [
            member("creator"), member("manager"), .system, .server(UserName(user: user("bob"), nick: "")),
            .moderator(UserName(user: user("mod"), nick: "")),
        ]
        for actor in actors {
            let (first, second) = (try Self.held(&it), try Self.held(&it))
            #expect(Self.decide(&it, first, true, by: actor).error == nil)
            #expect(Self.decide(&it, first, true, by: actor).code == .conflict)
            #expect(Self.decide(&it, first, false, by: actor).code == .conflict)
            #expect(Self.decide(&it, second, false, by: actor).error == nil)
            #expect(Self.decide(&it, second, true, by: actor).code == .conflict)
            #expect(it.run(.withdrawHeld(heldID: second), by: member("bob")).code == .conflict)
        }
        for unknown in ["", "x", "a-1", "a.1", MessageID.held(try #require(it.state.incarnation), index: .max).text] {
            #expect(Self.decide(&it, unknown, true).code == .notFound, "\(unknown)")
            #expect(it.run(.withdrawHeld(heldID: unknown), by: member("bob")).code == .notFound)
        }
        #expect(it.state.lastSeq == UInt64(actors.count))
    }

    @Test func `a repeat of the decision has the first answer`() throws {
        var it = Dialogue()
        let (first, second) = (try Self.held(&it), try Self.held(&it))
        let message = try #require(Self.decide(&it, first, true, key: 1).shown.first)
        #expect(Self.decide(&it, first, true, key: 1).result == .decidedBefore(messageID: message.messageID))
        Self.decide(&it, second, false, key: 2)
        #expect(Self.decide(&it, second, false, key: 2).result == .decidedBefore(messageID: nil))
    }

    @Test func `its sender withdraws it at any time while it waits, a manager one of those below`() throws {
        var it = Dialogue()
        let long = HoldPolicy(seconds: 3_600)
        let own = try Self.held(&it, long)
        it.pass(seconds: 3_000)
        #expect(it.run(.withdrawHeld(heldID: own), by: member("ann")).code == .forbidden)
        let effects = it.run(.withdrawHeld(heldID: own), by: member("bob"))
        #expect(effects.result == .done && effects.denials.map(\.reason) == ["WITHDRAWN"] && effects.shown.isEmpty)
        let other = try Self.held(&it)
        #expect(it.run(.withdrawHeld(heldID: other), by: member("manager")).result == .done)
        let above = try Self.held(&it, by: member("creator"))
        #expect(it.run(.withdrawHeld(heldID: above), by: member("manager")).code == .forbidden)
        #expect(it.run(.withdrawHeld(heldID: above), by: .system).result == .done)
        // A message of the app server's in the name of a user is not that user's to withdraw.
        let named = try Self.held(&it, by: .server(UserName(user: user("bob"), nick: "")))
        #expect(it.run(.withdrawHeld(heldID: named), by: member("bob")).code == .forbidden)
        #expect(it.run(.withdrawHeld(heldID: named), by: member("manager")).result == .done)
    }

    @Test(arguments: HoldExpiry.allCases)
    func `after its time the setting of then decides, and only then`(onExpiry: HoldExpiry) throws {
        var it = Dialogue()
        let id = try Self.held(&it, HoldPolicy(seconds: 10, onExpiry: onExpiry), key: 1)
        #expect(
            it.state.nextDeadline == it.now.adding(seconds: 10)
                && it.store.deadlines.contains(it.now.adding(seconds: 10)))
        it.pass(milliseconds: 9_999)
        #expect(it.run(.expire, by: .system).shown.isEmpty && it.state.heldCount == 1)
        it.pass(milliseconds: 1)
        let effects = it.run(.expire, by: .system)
        #expect(it.state.heldCount == 0)
        switch onExpiry {
        case .allow:
            #expect(effects.shown.map(\.clientID) == ["1"] && effects.denials.isEmpty)
        case .deny:
            #expect(effects.shown.isEmpty && effects.denials.map(\.reason) == ["EXPIRED"])
        }
        #expect(Self.decide(&it, id, true).code == .conflict)
    }

    @Test func `a decision that comes between the end of its time and expire wins`() throws {
        var it = Dialogue()
        let id = try Self.held(&it, HoldPolicy(seconds: 10))
        it.pass(seconds: 11)
        #expect(Self.decide(&it, id, true).shown.count == 1)
        #expect(it.run(.expire, by: .system).denials.isEmpty)
    }

    @Test func `whoever is muted, kicked or blacklisted meanwhile gets nothing through`() throws {
        let ends: [(CommandBody, String)] = [
            (.setMute(user("bob"), enable: true, Self.options), "MUTED"),
            (.tempMute(user("bob"), seconds: 5, Self.options), "MUTED"),
            (.kick(user("bob"), banSeconds: nil, Self.options), "KICKED"),
            (.kick(user("bob"), banSeconds: 60, Self.options), "KICKED"),
            (.setBlacklist(user("bob"), enable: true, Self.options), "BLACKLISTED"),
        ]
        for (body, reason) in ends {
            var it = Dialogue()
            it.run(.post(MessageDraft(body: .text("first"))), by: member("bob"))
            let ids = [try Self.held(&it), try Self.held(&it)]
            let others = [
                try Self.held(&it, by: member("ann")),
                try Self.held(&it, by: .server(UserName(user: user("bob"), nick: ""))),
            ]
            let effects = it.run(body, by: member("manager"))
            #expect(effects.denials.map(\.heldID) == ids && effects.denials.allSatisfy { $0.reason == reason })
            // A client that has heard of the mute, and not of this, is told again.
            #expect(effects.denials.allSatisfy { $0.after == it.state.lastSeq })
            #expect(Self.decide(&it, ids[0], true).code == .conflict)
            for other in others { #expect(Self.decide(&it, other, true).shown.count == 1) }
        }
        var it = Dialogue()
        let id = try Self.held(&it)
        it.run(.setMute(user("ann"), enable: true, Self.options), by: member("manager"))
        it.run(.muteRoom(enable: true, Self.options), by: member("manager"))
        it.run(.kick(user("bob"), banSeconds: 0, Self.options), by: member("manager"))
        #expect(Self.decide(&it, id, true).shown.count == 1, "a manager lets it through in a muted room")
    }

    @Test func `a closed room denies all, also one that closes because it is idle`() throws {
        for isIdle in [false, true] {
            var set = RoomChanges()
            set.idleCloseSeconds = 20
            var it = Dialogue(set: set)
            let (first, second) = (try Self.held(&it, key: 1), try Self.held(&it, by: member("ann")))
            it.pass(seconds: 30)
            let effects = it.run(isIdle ? .expire : .closeRoom(Self.options), by: .system)
            #expect(effects.denials.map(\.heldID) == [first, second] && effects.denials[0].reason == "ROOM_CLOSED")
            let phases = effects.compactMap { (effect: Effect) -> String? in
                switch effect {
                case .denied: "denied"
                case .kickAll: "kick"
                default: nil
                }
            }
            #expect(phases == ["denied", "denied", "kick"])
            #expect(Self.decide(&it, first, true).code == .roomClosed)
            it.run(.reopenRoom, by: .system)
            #expect(Self.decide(&it, first, true).code == .conflict)
            #expect(Self.send(&it, key: 1).code == .rejected)
        }
    }

    @Test func `a deleted room has none, and when it is back it knows that they were denied`() throws {
        var it = Dialogue()
        it.facts.keepDeletedSeconds = 3_600
        let (first, second) = (try Self.held(&it, key: 1), try Self.held(&it, key: 2))
        Self.decide(&it, first, false)
        let effects = it.run(.deleteRoom, by: .system)
        #expect(effects.denials.map(\.heldID) == [second] && it.state.heldCount == 0)
        it.run(.undeleteRoom, by: .system)
        it.run(.reopenRoom, by: .system)
        #expect(it.state.denials(since: 0, at: it.now).map(\.heldID) == [first, second])
        #expect(Self.decide(&it, second, true).code == .conflict)
        #expect(Self.send(&it, key: 1).code == .rejected && Self.send(&it, key: 2).code == .rejected)
        #expect(it.state.lastSeq == 0, "nothing that was denied is sent again")
        it.facts.keepDeletedSeconds = 0
        _ = try Self.held(&it)
        it.run(.deleteRoom, by: .system)
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        #expect(it.state.heldCount == 0 && it.state.denials(since: 0, at: it.now).isEmpty)
        #expect(Self.decide(&it, second, true, by: member("creator")).code == .notFound, "of another life")
    }

    @Test func `what was denied of a deleted room is forgotten while it is aside, and with it`() throws {
        var it = Dialogue()
        it.facts.keepDeletedSeconds = 86_400
        _ = try Self.held(&it, key: 1)
        it.run(.deleteRoom, by: .system)
        it.pass(seconds: Limits.commandMemorySeconds + 60)
        let effects = it.run(.expire, by: .system)
        #expect(effects.rows.contains { $0.kind == .denied && $0.value == nil })
        it.run(.undeleteRoom, by: .system)
        #expect(it.state.denials(since: 0, at: it.now).isEmpty)
        it.run(.reopenRoom, by: .system)
        _ = try Self.held(&it, key: 2)
        it.run(.deleteRoom, by: .system)
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        #expect(it.state.denials(since: 0, at: it.now).isEmpty && it.state.heldCount == 0)
        #expect(it.state.exists && !it.state.isKeptDeleted)
    }

    @Test func `the 1,001st is refused, until one is decided; pages have them all in their order`() throws {
        var it = Dialogue()
        var ids: [String] = []
        it.restores = false
        for _ in 0..<Limits.heldMessages { ids.append(try Self.held(&it, HoldPolicy(seconds: 60, onExpiry: .allow))) }
        it.restores = true
        #expect(Self.send(&it).code == .rejected)
        var (listed, after): ([String], String?) = ([], nil)
        repeat {
            let page = try it.state.heldPage(after: after, limit: 100)
            #expect(page.items.count == 100)
            listed += page.items.map(\.messageID)
            after = page.next
        } while after != nil
        #expect(listed == ids)
        for cursor in ["?", "", "nonsense", "zz", "2.1", ids[0] + "0.0"] {
            #expect(throws: ChatError.self, "\(cursor)") { try it.state.heldPage(after: cursor, limit: 1) }
        }
        Self.decide(&it, ids[500], false)
        let last = try Self.held(&it, HoldPolicy(seconds: 60, onExpiry: .allow))
        #expect(Self.send(&it).code == .rejected)
        // An expire decides a bounded number, and is asked for again.
        it.pass(seconds: 60)
        var decided = 0
        while let due = it.state.nextDeadline, due <= it.now {
            let effects = it.run(.expire, by: .system)
            #expect((1...256).contains(effects.shown.count))
            decided += effects.shown.count
        }
        #expect(decided == Limits.heldMessages && it.state.heldCount == 0 && it.state.lastSeq == UInt64(decided))
        #expect(Self.decide(&it, last, true).code == .conflict)
    }

    @Test func `a user has a share of the places, and of those of denied ones`() throws {
        var it = Dialogue()
        let (bob, ann) = (user("bob"), user("ann"))
        it.restores = false
        for _ in 1..<Limits.heldAndDeniedPerUser / Limits.heldPerUser {
            for _ in 0..<Limits.heldPerUser {
                try it.state.requireShareOfHeld(of: bob)
                _ = try Self.held(&it)
            }
            let error = #expect(throws: ChatError.self) { try it.state.requireShareOfHeld(of: bob) }
            #expect(error?.code == .tooOften && error?.retryAfterMs == 10_000)
            try it.state.requireShareOfHeld(of: ann)
            for id in it.state.held.ids { Self.decide(&it, id, false) }
        }
        for _ in 0..<Limits.heldPerUser {
            try it.state.requireShareOfHeld(of: bob)
            Self.decide(&it, try Self.held(&it), false)
        }
        #expect(it.state.held.count == 0)
        #expect(throws: ChatError.self) { try it.state.requireShareOfHeld(of: bob) }
        try it.state.requireShareOfHeld(of: ann)
    }

    @Test func `large ones are bounded by their bytes, and denials are forgotten at their bound`() throws {
        var it = Dialogue()
        let text = String(repeating: "x", count: Limits.textBytes)
        let ext = String(repeating: "e", count: Limits.extBytes)
        var count = 0
        it.restores = false
        while true {
            let effects = Self.send(&it) { ($0.body, $0.ext) = (.text(text), ext) }
            guard effects.error == nil else { break }
            count += 1
        }
        #expect(count * (text.utf8.count + ext.utf8.count) <= Limits.heldBytesPerRoom && count > 900)
        #expect(it.state.held.bytes <= Limits.heldBytesPerRoom)
        it.run(.setMute(user("bob"), enable: true, Self.options), by: member("manager"))
        #expect(it.state.held.bytes == 0 && it.state.denied.records.count == count)
        for _ in 0..<(Limits.heldMessages - count + 1) { _ = try Self.held(&it, by: member("ann")) }
        it.restores = true
        it.run(.setMute(user("ann"), enable: true, Self.options), by: member("manager"))
        #expect(it.state.denied.records.count == Limits.heldMessages)
        it.pass(seconds: Limits.commandMemorySeconds + 60)
        while let due = it.state.nextDeadline, due <= it.now { it.run(.expire, by: .system) }
        #expect(it.state.denied.records.isEmpty)
    }

    @Test func `only a kept message can be held, slow mode counts it, and nothing is held of what is refused`() throws {
        var set = RoomChanges()
        set.slowModeSeconds = 30
        var it = Dialogue(set: set)
        #expect(Self.send(&it) { $0.keep = false }.code == .rejected)
        #expect(Self.send(&it) { $0.to = [user("ann")] }.code == .rejected)
        #expect(Self.send(&it) { $0.body = .command(payload: [1]) }.code == .rejected)
        #expect(Self.send(&it) { $0.mentionAll = true }.code == .forbidden)
        let id = try Self.held(&it)
        #expect(Self.send(&it).code == .tooOften)
        #expect(Self.decide(&it, id, true).shown.count == 1, "not once more")
        it.run(.setMute(user("ann"), enable: true, Self.options), by: member("manager"))
        #expect(Self.send(&it, by: member("ann")).code == .muted && it.state.heldCount == 0)
    }

    @Test func `what the app server has sent for a user is that user's, from the level on that says so`() throws {
        let server = Actor.server(UserName(user: user("bob"), nick: ""))
        var it = Dialogue()
        it.facts.heldBySender = true
        let ids = [try Self.held(&it, by: server), try Self.held(&it, by: .system)]
        #expect(it.state.heldIDs(of: user("bob")) == [ids[0]])
        let effects = it.run(.setBlacklist(user("bob"), enable: true, Self.options), by: member("manager"))
        #expect(effects.denials.map(\.heldID) == [ids[0]] && effects.denials.first?.reason == "BLACKLISTED")
        #expect(Self.decide(&it, ids[0], true).code == .conflict)
        #expect(Self.decide(&it, ids[1], true).shown.count == 1)
    }

    @Test func `what is allowed has the rights that its sender has then`() throws {
        var it = Dialogue()
        it.facts.heldBySender = true
        it.facts.highPerSecondMax = 10
        it.run(.setManager(user("bob"), enable: true, Self.options), by: .system)
        let manager = member("bob")
        func held(by actor: Actor) throws -> String {
            try Self.held(&it, by: actor) { ($0.priority, $0.mentionAll) = (.high, true) }
        }
        let before = try held(by: manager)
        let (after, ofServer) = (try held(by: manager), try held(by: .server(UserName(user: user("bob"), nick: ""))))
        let allowed = try #require(Self.decide(&it, before, true).shown.first)
        #expect(allowed.priority == .high && allowed.mentionAll)
        it.run(.setManager(user("bob"), enable: false, Self.options), by: .system)
        let lowered = try #require(Self.decide(&it, after, true).shown.first)
        #expect(lowered.priority == .normal && !lowered.mentionAll && lowered.from?.role == .normal)
        let server = try #require(Self.decide(&it, ofServer, true).shown.first)
        #expect(server.priority == .high && server.mentionAll, "the app server may do both")
    }

    @Test func `HIGH counts when it becomes a message`() throws {
        var it = Dialogue()
        it.facts.highPerSecondMax = 1
        let manager = member("manager")
        let ids = try (0..<2).map { _ in try Self.held(&it, by: manager) { $0.priority = .high } }
        let guest = try Self.held(&it) { $0.priority = .high }
        #expect(it.run(.post(MessageDraft(body: .text("y"))), by: manager).shown.first?.priority == .normal)
        let priorities = (ids + [guest]).map { Self.decide(&it, $0, true).shown.first?.priority }
        #expect(priorities == [.high, .normal, .normal])
    }

    @Test func `a reply does not quote what was recalled meanwhile`() throws {
        var it = Dialogue()
        let original = try #require(it.run(.post(MessageDraft(body: .text("quoted"))), by: member("ann")).shown.first)
        it.facts.original = OriginalMessage(original)
        let id = try Self.held(&it) { $0.replyTo = original.messageID }
        let other = try Self.held(&it) { $0.replyTo = original.messageID }
        it.facts.original = nil
        #expect(Self.decide(&it, other, true).shown.first?.replyTo?.excerpt == "quoted")
        let target = RecallTarget(seq: 1, sender: user("ann"), time: original.time, type: .text)
        it.run(.recall([target], Self.options), by: member("ann"))
        let reply = try #require(Self.decide(&it, id, true).shown.first?.replyTo)
        #expect(reply.seq == 1 && reply.excerpt == nil)
    }

    @Test func `the copies of a COMBINE wait with it`() throws {
        var it = Dialogue()
        let copied = try #require(it.run(.post(MessageDraft(body: .text("copied"))), by: member("ann")).shown.first)
        it.facts.copies = [copied]
        let id = try Self.held(&it) {
            $0.body = .combine(title: "t", summary: "s", messageIDs: [copied.messageID])
        }
        it.facts.copies = []
        let effects = Self.decide(&it, id, true)
        let places = effects.enumerated().compactMap { index, effect -> Int? in
            switch effect {
            case .keepCopies(let copies): copies == [copied] ? index : nil
            case .append: index
            default: nil
            }
        }
        #expect(places.count == 2 && places[0] + 1 == places[1])
    }

    @Test func `the webhook is owed that it waits, and not what its sender keeps from it`() throws {
        var it = Dialogue()
        it.facts.webhook = true
        let id = try Self.held(&it)
        let event = try #require(it.state.webhook?.events.last)
        #expect(event.kind == .held && event.after == 0)
        #expect(it.state.heldMessage(index: event.index)?.messageID == id)
        _ = try Self.held(&it) { $0.webhook = false }
        #expect(it.state.webhook?.events.count == 1)
        Self.decide(&it, id, false)
        #expect(it.state.webhook?.events.count == 1 && it.state.heldMessage(index: event.index) == nil)
        // The bound is as high as that of messages that wait, and openings are counted apart.
        it.restores = false
        for number in 0..<(WebhookRecord.heldMax + 1) {
            let id = try Self.held(&it, by: member("ann"), key: UInt64(number))
            Self.decide(&it, id, false)
        }
        it.restores = true
        let owed = try #require(it.state.webhook)
        #expect(owed.events.count == WebhookRecord.heldMax && owed.forgotten == 2)
        it.run(.closeRoom(Self.options), by: .system)
        #expect(it.state.webhook?.events.first?.kind == .held && it.state.webhook?.events.last?.kind == .closed)
    }

    /// Content of bob's that the room has, and a message's name for it.
    private static func picture(_ it: inout Dialogue) throws -> (id: String, media: Media) {
        let mediaID = MediaID(in: it.room, random: (1, 2)).text
        it.facts.mediaID = mediaID
        let draft = UploadDraft(kind: .image, name: "a.png", contentType: "image/png", size: 9)
        guard case .upload(let ticket)? = it.run(.registerUpload(draft), by: member("bob")).result else {
            throw ChatError(.internal, "no place")
        }
        it.facts.mediaID = nil
        it.run(.completeUpload(mediaID: ticket.mediaID, digest: "d", isInline: true), by: .system)
        var media = Media(url: "", name: "", size: 0, contentType: "")
        media.id = ticket.mediaID
        return (ticket.mediaID, media)
    }

    @Test func `content that it names stays until it is decided, and nobody reads it`() throws {
        var it = Dialogue()
        let (mediaID, media) = try Self.picture(&it)
        let policy = HoldPolicy(seconds: 7_200)
        let id = try Self.held(&it, policy) { $0.body = .image(media) }
        let second = try Self.held(&it, policy) { $0.body = .image(media) }
        #expect(it.state.upload(mediaID)?.isReadable(at: it.now) == false)
        // It is one of the places that a user may have without a message, until somebody has decided.
        #expect(it.state.uploads.unnamed(of: user("bob")) == 1)
        it.pass(seconds: 5_000)
        it.run(.expire, by: .system)
        let message = try #require(Self.decide(&it, id, true).shown.first)
        #expect(message.body.media?.name == "a.png")
        #expect(it.state.upload(mediaID)?.isReadable(at: it.now) == true)
        // Another one still waits: the content is not the recalled message's alone.
        let target = RecallTarget(seq: 1, sender: user("bob"), time: message.time, type: .image)
        it.run(.recall([target], Self.options), by: .system)
        #expect(it.state.upload(mediaID)?.isReadable(at: it.now) == false)
        Self.decide(&it, second, false)
        it.pass(seconds: 7_200)
        it.run(.expire, by: .system)
        #expect(it.state.upload(mediaID) == nil)
    }

    @Test func `a message whose content has all the messages that it may have is not let through`() throws {
        var it = Dialogue()
        let (_, media) = try Self.picture(&it)
        let waiting = try Self.held(&it, HoldPolicy(seconds: 600)) { $0.body = .image(media) }
        _ = try Self.held(&it, HoldPolicy(seconds: 60, onExpiry: .allow)) { $0.body = .image(media) }
        let posts = (0..<Limits.referencesPerUpload).map { _ in
            it.run(.post(MessageDraft(body: .image(media))), by: .system).shown
        }
        #expect(posts.allSatisfy { $0.count == 1 })
        let refused = it.run(
            .decideHeld(heldID: waiting, HeldDecision(isAllowed: true)), by: member("manager"))
        #expect(refused.code == .conflict && it.state.heldCount == 2)
        // It is denied in place of what its policy says.
        it.pass(seconds: 61)
        let seq = it.state.lastSeq
        it.run(.expire, by: .system)
        #expect(it.state.heldCount == 1 && it.state.lastSeq == seq)
        // A copy of it is one more.
        let copy = try #require(posts.first?.first)
        it.facts.copies = [copy]
        let combined = MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: [copy.messageID]))
        #expect(it.run(.post(combined), by: .system).code == .conflict)
        it.facts.copies = []
        // One of them goes: there is a place.
        let target = RecallTarget(
            seq: try #require(copy.seq), sender: nil, time: copy.time, type: .image)
        it.run(.recall([target], Self.options), by: .system)
        #expect(Self.decide(&it, waiting, true).shown.count == 1)
    }

    @Test func `content of those that an expire leaves for the next one stays`() throws {
        var it = Dialogue()
        let (mediaID, media) = try Self.picture(&it)
        let policy = HoldPolicy(seconds: 10, onExpiry: .allow)
        for _ in 0..<300 { _ = try Self.held(&it, policy, by: member("ann")) }
        _ = try Self.held(&it, policy) { $0.body = .image(media) }
        // Nobody has led the room for a day.
        it.pass(seconds: 86_400)
        it.run(.expire, by: .system)
        #expect(it.state.heldCount == 45 && it.state.upload(mediaID) != nil)
        it.run(.expire, by: .system)
        #expect(it.state.heldCount == 0 && it.state.upload(mediaID)?.isReadable(at: it.now) == true)
    }
}

extension [Effect] {
    var heldID: String? {
        if case .held(let id)? = result { id } else { nil }
    }

    fileprivate var told: [HeldRecord] {
        compactMap { if case .held(let record) = $0 { record } else { nil } }
    }

    var denials: [DeniedRecord] {
        compactMap { if case .denied(let record) = $0 { record } else { nil } }
    }
}
