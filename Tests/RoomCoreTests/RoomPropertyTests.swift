import ChatModel
import Testing

@testable import RoomCore

/// Random commands against `NaiveRoom`. `Dialogue` also compares, after every command, with the restored room.
@Suite struct RoomPropertyTests {
    static let names = ["c", "u0", "u1", "u2", "u3", "u4", "u5"]
    static let keys = ["a", "b", "c", "d", "e"]

    @Test(arguments: Seed.seeds(10))
    func `a room decides like the rules written down once more`(seed: UInt64) throws {
        var random = Seed(seed)
        var it = Dialogue(staffed: false)
        var naive = NaiveRoom()
        var first: [UInt64: CommandResult] = [:]
        var asked: [UInt64: (body: CommandBody, actor: Actor)] = [:]
        // Kept messages of this life of the room, as history has them.
        var kept: [String: Message] = [:]
        var lastWindow: UInt64 = 0
        for step in 0..<700 {
            var actor = Self.actor(&random)
            var body = step == 0 ? Self.create(&random) : Self.body(it.state, &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0: body = Self.amend(kept.keys.sorted(), &random)
            case 1: body = Self.tally(&random)
            case 2: body = Self.window(&lastWindow, of: it.state.incarnation, &random)
            case 3: body = Self.messages(naive, at: it.now.milliseconds, &random)
            case 4...6: (body, actor) = Self.poll(it.state, actor, &random)
            case 7: body = .report(messageID: kept.keys.sorted().randomElement(using: &random) ?? "none", reason: nil)
            case 8: body = Self.delivered(it, &random)
            case 9...10: body = .post(MessageDraft(body: .text("t")))
            default: break
            }
            if step == 0 { body = Self.create(&random) }
            var key = Int.random(in: 0..<4, using: &random) == 0 ? nil : UInt64.random(in: 0..<400, using: &random)
            // A repeat says the same again.
            if let known = key.flatMap({ asked[$0] }) { (body, actor) = known }
            // A window has a name of its own.
            if case .tap = body { key = nil }
            if case .amend(let messageID, _) = body { it.facts.amended = kept[messageID] }
            let facts = Self.facts(body, kept, &it, &random)
            let hold = Self.hold(body, &random)
            let heldID = MessageID.held(it.state.incarnation ?? Incarnation(0), index: it.index + 1).text
            let held = hold.map { (id: heldID, policy: $0) }
            let expected = naive.run(
                body, by: actor, key: key, hold: held, facts: facts, at: it.now.milliseconds)
            it.facts.hold = hold
            let effects = it.run(body, by: actor, key: key)
            it.facts.amended = nil
            let comment: Comment = "SEED=\(seed) step \(step): \(body) by \(actor)"
            #expect(effects.code == expected.code, comment)
            #expect(effects.events == expected.events, comment)
            #expect(effects.kicked == expected.kicked, comment)
            #expect(effects.shown.count == expected.events.count + expected.posts, comment)
            #expect(effects.denials.map(NaiveRoom.Denial.init) == expected.denials, comment)
            if case .poll(let poll)? = effects.result, !expected.isRepeat {
                #expect(poll.counts == expected.counts, comment)
            }
            if expected.isRepeat {
                let known = try #require(key.flatMap { first[$0] }, comment)
                let repeated = try #require(effects.result, comment)
                if case .held = known { continue }
                // Profiles and texts of the room are as they are now.
                #expect(RoomState.remembered(repeated, of: body) == RoomState.remembered(known, of: body), comment)
                if case .element = known { #expect(repeated == known, comment) }
                if case .missing = known { #expect(repeated == known, comment) }
            } else if let key, expected.code == nil {
                first[key] = effects.result
                asked[key] = (body, actor)
            }
            if it.state.incarnation != naive.incarnation { kept = [:] }
            naive.incarnation = it.state.incarnation
            for effect in effects {
                if case .amend(let message) = effect {
                    #expect(Self.isAmended(message, from: kept[message.messageID], by: body, at: it.now), comment)
                    kept[message.messageID] = message
                    naive.posts[message.messageID]?.text = Self.text(message)
                }
                guard case .append(let message, _) = effect, let seq = message.seq else { continue }
                kept[message.messageID] = message
                naive.posts[message.messageID] = NaiveRoom.Post(
                    seq: seq, sender: message.from?.user, time: message.time.milliseconds,
                    isNotification: message.body.type == .notification, text: Self.text(message))
            }
            try compare(it.state, naive, comment)
            try compareMore(it.state, naive, at: it.now, comment)
            guard effects.code == expected.code, it.state.lastSeq == naive.seq else { return }
            if Int.random(in: 0..<3, using: &random) == 0 { it.pass(milliseconds: Self.pause(&random)) }
        }
    }

    private func compare(_ state: RoomState, _ naive: NaiveRoom, _ comment: Comment) throws {
        #expect(state.exists == naive.exists, comment)
        #expect(state.lastSeq == naive.seq, comment)
        #expect(state.held.ids == naive.held.map(\.id), comment)
        for name in Self.names {
            let person = naive.people[user(name)] ?? NaiveRoom.Person()
            #expect(state.role(of: user(name)) == person.shown, comment)
            let record = state.memberRecord(of: user(name))
            #expect(record?.tempMutedUntil?.milliseconds == person.mutedUntil, comment)
            #expect(record?.bannedUntil?.milliseconds == person.bannedUntil, comment)
        }
        #expect(try state.queuePage(after: nil, limit: 100).items == naive.queue, comment)
        for key in Self.tallyKeys {
            let tally = state.tally(key)
            let known = naive.tallies[key] ?? (naive.exists && key == Tally.like ? NaiveRoom.Counter() : nil)
            let told = tally.map {
                NaiveRoom.Counter(total: $0.total, closed: $0.closed, isServers: $0.by == .server)
            }
            if naive.exists { #expect(told == known, comment) }
        }
        #expect(state.taps.lives.mapValues(\.window) == naive.windows.mapValues(\.window), comment)
        let deadlines = naive.people.values.flatMap { [$0.mutedUntil, $0.bannedUntil].compactMap { $0 } }
        #expect(state.held.deadlines.first?.time.milliseconds == naive.held.map(\.until).min(), comment)
        #expect(state.members.deadlines.first?.time.milliseconds == deadlines.min(), comment)
    }

    /// Polls, reports, denied messages, and what the webhook is owed of held ones.
    private func compareMore(_ state: RoomState, _ naive: NaiveRoom, at now: Timestamp, _ comment: Comment) throws {
        #expect(state.pollList.map(\.id) == naive.polls.map(\.id), comment)
        #expect(state.pollList.map(\.counts) == naive.polls.map(\.counts), comment)
        #expect(state.pollList.map(\.closed) == naive.polls.map(\.isClosed), comment)
        let open = naive.polls.filter { !$0.isClosed }
        #expect(state.polls.nextClose?.milliseconds == open.map(\.until).min(), comment)
        #expect(state.pollCounts.map(\.total) == open.flatMap(\.counts), comment)
        let reports = try state.reportPage(after: nil, limit: 2_000, at: now).items
        #expect(
            reports.map(NaiveRoom.Report.init) == naive.reports.map { $0.shown(at: now.milliseconds) }, comment)
        let ends = naive.reports.filter { $0.excerpt != nil }.map(\.until)
        #expect(state.reports.nextDeadline?.milliseconds == ends.min(), comment)
        let denied = naive.denied.filter { now.milliseconds - $0.time < 600_000 }
        #expect(state.denials(since: 0, at: now).map(NaiveRoom.Denial.init) == denied, comment)
        let former = (state.webhook?.events ?? []).filter { $0.kind == .held }
        let owed = state.owedHolds(after: 0, countMax: .max) + former
        #expect(owed.map(\.index).sorted() == naive.owed, comment)
    }

    private static func text(_ message: Message) -> String? {
        if case .text(let text) = message.body { text } else { nil }
    }

    private static func isAmended(
        _ message: Message, from former: Message?, by body: CommandBody, at now: Timestamp
    ) -> Bool {
        guard case .amend(_, let set) = body, let former else { return false }
        var fields = former.fields
        if let text = set.text { fields.body = .text(text) }
        fields.ext = set.ext ?? fields.ext
        fields.editedAt = now
        return message == Message(fields)
    }
}

extension [Effect] {
    fileprivate var kicked: [UserID] {
        compactMap { if case .kick(let user, _, _) = $0 { user } else { nil } }
    }
}

extension NaiveRoom.Denial {
    fileprivate init(_ record: DeniedRecord) {
        self.init(
            id: record.heldID, user: record.user, time: record.time.milliseconds, after: record.after,
            reason: record.reason)
    }
}

extension NaiveRoom.Report {
    fileprivate init(_ report: MessageReport) {
        self.init(
            messageID: report.messageID, seq: report.seq, user: report.reporter.user,
            time: report.time.milliseconds, excerpt: report.excerpt, until: report.keptUntil.milliseconds)
    }
}
