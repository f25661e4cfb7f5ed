import ChatModel

@testable import RoomCore

/// Random commands, and what the leader states beside them.
extension RoomPropertyTests {
    static let tallyKeys = ["like", "a", "b"]

    /// The facts that the leader states, as the room and the model get them.
    static func facts(
        _ body: CommandBody, _ kept: [String: Message], _ it: inout Dialogue, _ random: inout Seed
    ) -> NaiveRoom.Facts {
        var facts = NaiveRoom.Facts()
        (it.facts.original, it.facts.keptSince, it.facts.pollKey) = (nil, nil, nil)
        // A leader of before holds otherwise.
        it.facts.owesByRow = Int.random(in: 0..<4, using: &random) > 0
        facts.hasWebhook = Int.random(in: 0..<4, using: &random) > 0
        it.facts.webhook = facts.hasWebhook
        if case .report(let messageID, _) = body {
            // Some are not found, and another one is none.
            let found = Int.random(in: 0..<12, using: &random) == 0 ? kept.keys.min() : messageID
            it.facts.original = found.flatMap { kept[$0] }.flatMap(OriginalMessage.init)
            facts.original = it.facts.original == nil ? nil : found
            facts.life = Int64.random(in: 1...200, using: &random) * 1000
            it.facts.keptSince = it.now.adding(milliseconds: -facts.life)
        }
        if case .openPoll = body {
            it.facts.pollKey = PollKey(
                high: UInt64.random(in: 0 ... .max, using: &random), low: UInt64.random(in: 0 ... .max, using: &random))
        }
        return facts
    }

    /// Most votes are for polls that are open, by few users, so that some vote again.
    static func poll(_ state: RoomState, _ actor: Actor, _ random: inout Seed) -> (CommandBody, Actor) {
        let id = "p\(Int.random(in: 0..<7, using: &random))"
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return (.closePoll(id: id, NotifyOptions()), actor)
        case 1...3:
            let options = (0..<Int.random(in: 2...4, using: &random)).map { "option \($0)" }
            let draft = PollDraft(
                title: "which", options: options, seconds: Int64.random(in: 1...600, using: &random),
                mayChange: Bool.random(using: &random))
            return (.openPoll(id: id, draft, NotifyOptions()), actor)
        case 4: return (.vote(poll: id, option: Int64.random(in: -1...4, using: &random)), actor)
        default:
            let open = state.pollList.filter { !$0.closed }.map(\.id)
            let voter = member(["c", "u0", "u1"].randomElement(using: &random) ?? "c")
            return (
                .vote(
                    poll: open.randomElement(using: &random) ?? id, option: Int64.random(in: 0...2, using: &random)),
                voter
            )
        }
    }

    /// The webhook has got some of what it is owed, or all.
    static func delivered(_ it: Dialogue, _ random: inout Seed) -> CommandBody {
        let back = Int.random(in: 0..<4, using: &random) == 0 ? 0 : UInt64.random(in: 0...60, using: &random)
        return .webhookDelivered(
            WebhookProgress(
                incarnation: it.state.incarnation ?? Incarnation(0),
                seq: UInt64.random(in: 0...it.state.lastSeq, using: &random), time: it.now, eventIndex: it.index - back,
                forgotten: Bool.random(using: &random) ? Int64.random(in: 0...3, using: &random) : nil)
        )
    }

    static func amend(_ known: [String], _ random: inout Seed) -> CommandBody {
        let messageID = Int.random(in: 0..<12, using: &random) == 0 ? "none" : known.randomElement(using: &random)
        var set = MessageChanges()
        let number = Int.random(in: 0..<1_000, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: set.text = "t\(number)"
        case 1: set.ext = "e\(number)"
        default: (set.text, set.ext) = ("t\(number)", "e\(number)")
        }
        return .amend(messageID: messageID ?? "none", set: set)
    }

    static func tally(_ random: inout Seed) -> CommandBody {
        let key = tallyKeys.randomElement(using: &random) ?? "a"
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return .tally(key: key, .remove)
        case 1...3:
            var settings = TallySettings()
            if Bool.random(using: &random) { settings.total = Int64.random(in: 0...9, using: &random) }
            if Bool.random(using: &random) { settings.closed = Int.random(in: 0..<3, using: &random) == 0 }
            if Bool.random(using: &random) { settings.by = TallySource.allCases.randomElement(using: &random) }
            return .tally(key: key, .set(settings))
        case 4...6: return .tally(key: key, .add(Int64.random(in: -9...20, using: &random)))
        default: return .tally(key: key, .tap(Int64.random(in: 1...100, using: &random)))
        }
    }

    /// A new window, one that comes again, or one of a room that was deleted.
    static func window(_ last: inout UInt64, of incarnation: Incarnation?, _ random: inout Seed) -> CommandBody {
        let isNew = Int.random(in: 0..<4, using: &random) > 0
        if isNew { last += 1 }
        let isOther = Int.random(in: 0..<6, using: &random) == 0
        let sums = tallyKeys.filter { _ in Bool.random(using: &random) }.map { TallyCount(key: $0, count: 3) }
        return .tap(
            TapBatch(
                life: UInt64.random(in: 1...3, using: &random), window: last, sums: sums,
                of: isOther ? Incarnation(1) : incarnation ?? Incarnation(1)))
    }

    /// Messages of before, most of them in order and behind the newest one.
    static func messages(_ naive: NaiveRoom, at now: Int64, _ random: inout Seed) -> CommandBody {
        let first = max(naive.newest, now - 1_000_000) - (Int.random(in: 0..<6, using: &random) == 0 ? 1 : 0)
        var times = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            Int64.random(in: min(first, now)...now, using: &random)
        }.sorted()
        if Int.random(in: 0..<6, using: &random) == 0 { times.append(now + Int64.random(in: 0...1, using: &random)) }
        if Int.random(in: 0..<6, using: &random) == 0 { times.reverse() }
        let seq = naive.seq + (Int.random(in: 0..<12, using: &random) == 0 ? 1 : 0)
        return .importMessages(
            times.map { ImportedMessage(time: Timestamp($0), from: nil, body: .text("of before")) },
            after: NewestMessage(seq: seq, time: Timestamp(naive.newest)))
    }

    static func pause(_ random: inout Seed) -> Int64 {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: Int64.random(in: 0..<700_000, using: &random)
        case 1..<5: Int64.random(in: 0..<60_000, using: &random)
        default: Int64.random(in: 0..<4000, using: &random)
        }
    }

    static func name(_ random: inout Seed) -> UserID { user(names.randomElement(using: &random) ?? "c") }

    static func actor(_ random: inout Seed) -> Actor {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<2: .system
        case 2: .server(UserName(user: name(&random), nick: "n"))
        case 3..<5: member("c")
        default: member(name(&random).text)
        }
    }

    static func create(_ random: inout Seed) -> CommandBody {
        var set = RoomChanges()
        set.queueLevel = QueueLevel.allCases.randomElement(using: &random)
        set.seatsPerUser = Int64.random(in: 0...2, using: &random)
        set.slowModeSeconds = Bool.random(using: &random) ? 3 : 0
        return .createRoom(creator: user("c"), set: set)
    }

    static func body(_ state: RoomState, _ random: inout Seed) -> CommandBody {
        let options = NotifyOptions()
        let user = name(&random)
        let flag = Bool.random(using: &random)
        switch Int.random(in: 0..<60, using: &random) {
        case 0: return .deleteRoom
        case 1: return .closeRoom(options)
        case 2...4: return .reopenRoom
        case 5...7: return create(&random)
        case 8...10: return .muteRoom(enable: Int.random(in: 0..<3, using: &random) == 0, options)
        case 11...13: return .setManager(user, enable: flag, options)
        case 14...16: return .setMember(user, enable: flag, options)
        case 17...19: return .setRole(user, FixedRole.allCases.randomElement(using: &random) ?? .guest, options)
        case 20...22: return .setMute(user, enable: flag, options)
        case 23...25: return .setBlacklist(user, enable: Int.random(in: 0..<4, using: &random) == 0, options)
        case 26...28: return .tempMute(user, seconds: flag ? Int64.random(in: 1..<60, using: &random) : 0, options)
        case 29: return .kick(user, banSeconds: flag ? Int64.random(in: 0..<30, using: &random) : nil, options)
        case 30...32: return .expire
        case 33: return .updateMe(ProfileChanges(nick: "n"), save: flag, options)
        case 34...35: return remove(state, &random)
        case 36...47: return queueChange(&random)
        case 48...50:
            guard let id = state.held.ids.randomElement(using: &random) else { return .expire }
            return flag
                ? .withdrawHeld(heldID: id)
                : .decideHeld(heldID: id, HeldDecision(isAllowed: Bool.random(using: &random)))
        default:
            var draft = MessageDraft(body: .text("t"))
            draft.keep = Int.random(in: 0..<4, using: &random) > 0
            draft.mentionAll = Int.random(in: 0..<8, using: &random) == 0
            draft.priority = flag ? .high : .normal
            return .post(draft)
        }
    }

    /// Some posts are held.
    static func hold(_ body: CommandBody, _ random: inout Seed) -> HoldPolicy? {
        guard case .post = body, Int.random(in: 0..<3, using: &random) == 0 else { return nil }
        return HoldPolicy(
            seconds: Int64.random(in: 1..<900, using: &random), onExpiry: Bool.random(using: &random) ? .allow : .deny)
    }

    static func remove(_ state: RoomState, _ random: inout Seed) -> CommandBody {
        var versions: [QueueElementVersion] = []
        for key in keys {
            guard let element = state.queue[key], Bool.random(using: &random) else { continue }
            var version = QueueElementVersion(element)
            if Int.random(in: 0..<3, using: &random) == 0 { version.version += 1 }
            versions.append(version)
        }
        return .queueRemove(versions)
    }

    static func queueChange(_ random: inout Seed) -> CommandBody {
        let options = NotifyOptions()
        let key = keys.randomElement(using: &random) ?? "a"
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return .queueClear(options)
        case 1: return .queueTake(key: nil, options)
        case 2...3: return .queueTake(key: key, options)
        case 4...5:
            let pairs = keys.filter { _ in Bool.random(using: &random) }.map { QueuePair(key: $0, value: "m") }
            return .queueSetMany(pairs, options)
        default:
            let version: Int64? = Bool.random(using: &random) ? nil : Int64.random(in: 0..<3, using: &random)
            var write = QueueWrite(
                key: key, value: "v", transient: Bool.random(using: &random), ifVersion: version)
            switch Int.random(in: 0..<12, using: &random) {
            case 0...1: write.owner = name(&random)
            case 2...3: write.keepOwner = true
            case 4: write.locked = true
            case 5: write.locked = false
            case 6: (write.owner, write.locked) = (name(&random), Bool.random(using: &random))
            case 7: (write.owner, write.keepOwner) = (name(&random), true)
            default: break
            }
            return .queueSet(write, options)
        }
    }
}
