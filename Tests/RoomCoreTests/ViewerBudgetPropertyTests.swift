import ChatModel
import Testing

@testable import RoomCore

/// A random stream against viewers that remember everything they were shown and told.
@Suite struct ViewerBudgetPropertyTests {
    private struct Receipt {
        var time: Int64
        /// A notification, a mention of the viewer, or its own.
        var comesFirst: Bool
        var isForAll: Bool
        var isSampled: Bool
    }

    private struct Viewer {
        var user: UserID
        var key: PresenceKey
        var entrySeq: UInt64
        var enteredAt: Timestamp
        var seqs: [UInt64] = []
        var named: Set<UInt64> = []
        var receipts: [Receipt] = []
        /// Unkept messages since it entered; those it got; those it was told of.
        var unkept = 0
        var unkeptReceived = 0
        var unkeptTold = 0
    }

    private struct Model {
        var random: Seed
        var budget = ViewerBudget()
        let perSecond: Int
        var now = Timestamp(1_700_000_000_000)
        var seq: UInt64 = 0
        var viewers: [Viewer] = []
        var reports: [Timestamp] = []
        let comment: Comment

        init(seed: UInt64) {
            random = Seed(seed)
            perSecond = [1, 2, 5, 10, 50].randomElement(using: &random) ?? 50
            comment = "SEED=\(seed)"
            for _ in 0..<4 { enter() }
        }

        /// An `#expect` for each delivery would take most of the time.
        private func check(_ holds: Bool, line: Int = #line) {
            if !holds { Issue.record("\(comment): line \(line) at \(now.milliseconds)") }
        }

        mutating func enter() {
            let user = user("v\(viewers.count)")
            guard let key = PresenceKey.robot(user) else { return }
            budget.noteEntered(key)
            viewers.append(Viewer(user: user, key: key, entrySeq: seq, enteredAt: now))
        }

        mutating func step() {
            if Int.random(in: 0..<200, using: &random) == 0, viewers.count < 12 { enter() }
            if Int.random(in: 0..<3, using: &random) > 0 {
                now = now.adding(milliseconds: Int64.random(in: 0...20, using: &random))
            }
            if Int.random(in: 0..<500, using: &random) == 0 { now = now.adding(milliseconds: 1500) }
            say(message())
            run()
        }

        private mutating func message() -> Message {
            let kind = Int.random(in: 0..<100, using: &random)
            let sender = viewers.randomElement(using: &random)?.user
            var place = MessagePlace.unkept(after: seq)
            if kind >= 15 {
                seq += 1
                place = .kept(seq: seq)
            }
            var message = Message(
                room: RoomID("r"), place: place, messageID: "m", time: now,
                from: sender.map { Sender(user: $0, profile: Profile(), role: .guest) }, body: .text("x"))
            switch kind {
            case 0..<4: message.to = [randomUser(), randomUser()]
            case 15..<18: (message.body, message.from) = (.notification(Notification(.muted)), nil)
            case 18..<24: message.mentions = [randomUser(), randomUser()]
            case 24: message.mentionAll = true
            case 25..<28: message.priority = .high
            case 28..<60: message.from = nil
            default: break
            }
            return message
        }

        private mutating func randomUser() -> UserID { viewers.randomElement(using: &random)?.user ?? user("nobody") }

        private mutating func say(_ message: Message) {
            let audience = budget.audience(of: message, perSecond: perSecond, at: now)
            for index in viewers.indices {
                let viewer = viewers[index].user
                let isMine = message.concernedUsers.contains(viewer)
                let isForAll = message.body.type == .notification || message.mentionAll
                if message.seq == nil, message.to.isEmpty || isMine { viewers[index].unkept += 1 }
                let isShown: Bool
                switch audience {
                case .everybody: isShown = true
                case .only(let users): isShown = users.contains(viewer)
                }
                guard isShown else {
                    // The second before counts too, also for whoever has not been here so long.
                    if now >= viewers[index].enteredAt.adding(seconds: 1) {
                        if isMine { check(count(index, where: \.comesFirst) + 1 > perSecond) }
                        if isForAll { check(count(index, where: \.isForAll) + 1 > perSecond - perSecond / 5) }
                    }
                    if isMine, !message.to.isEmpty { budget.noteSpared(viewers[index].key) }
                    continue
                }
                check(message.to.isEmpty || isMine)
                if let seq = message.seq {
                    check(seq > viewers[index].seqs.last ?? 0 && !viewers[index].named.contains(seq))
                    viewers[index].seqs.append(seq)
                } else {
                    viewers[index].unkeptReceived += 1
                    if audience != .everybody, message.to.isEmpty { budget.noteShown(to: viewers[index].key) }
                }
                viewers[index].receipts.append(
                    Receipt(
                        time: now.milliseconds, comesFirst: isMine || isForAll, isForAll: isForAll,
                        isSampled: audience == .everybody && !isForAll))
                let others = count(index) { !$0.comesFirst }
                check(others <= perSecond)
                let sampled = count(index, where: \.isSampled)
                check(sampled <= perSecond)
            }
        }

        /// Of what a viewer got in the last second.
        private func count(_ index: Int, where matches: (Receipt) -> Bool) -> Int {
            viewers[index].receipts.reversed().prefix { $0.time > now.milliseconds - 1000 }.count(where: matches)
        }

        private mutating func run() {
            guard let report = budget.takeReport(at: now) else { return }
            if let last = reports.last { check(now.milliseconds - last.milliseconds >= 1000) }
            reports.append(now)
            for index in viewers.indices {
                for range in report.ranges {
                    check(range.upperBound <= seq)
                    viewers[index].named.formUnion(range)
                }
                viewers[index].unkeptTold += report.unkept(of: viewers[index].key)
            }
        }

        mutating func finish() {
            now = now.adding(milliseconds: 5000)
            run()
            for viewer in viewers {
                let got = Set(viewer.seqs)
                for seq in (viewer.entrySeq + 1)..<(seq + 1) {
                    check(got.contains(seq) || viewer.named.contains(seq))
                }
                check(viewer.unkept == viewer.unkeptReceived + viewer.unkeptTold)
            }
        }
    }

    @Test(arguments: Seed.seeds(16))
    func `every viewer gets what is due, is told of the rest, and no more than the budget`(seed: UInt64) {
        var model = Model(seed: seed)
        for _ in 0..<1500 { model.step() }
        model.finish()
    }
}
