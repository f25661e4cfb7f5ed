import ChatModel

/// The rules of the protocol written down once more, with the plainest structures: what a `RoomState` is compared to.
struct NaiveRoom {
    struct Person {
        var role = Role.guest
        var muted = false
        var blacklisted = false
        var mutedUntil: Int64?
        var bannedUntil: Int64?
        var spokeAt: Int64?

        var shown: Role { role == .guest && (muted || blacklisted) ? .restricted : role }
    }

    struct Answer {
        var code: ErrorCode?
        var events: [EventCode] = []
        var kicked: [UserID] = []
        /// Messages besides the events.
        var posts = 0
        /// Messages that were held and did not become messages.
        var denials: [Denial] = []
        /// The counts of the poll that was opened, closed or voted in.
        var counts: [Int64]?
        var isRepeat = false
    }

    struct Post {
        var seq: UInt64
        var sender: UserID?
        var time: Int64
        var isNotification: Bool
        /// nil for a message that is no text.
        var text: String?
    }

    struct Counter: Equatable {
        var total: Int64 = 0
        var closed = false
        var isServers = false
    }

    var held: [Held] = []
    /// All that were held in this life of the room.
    var heldIDs: Set<String> = []
    /// Those that were denied and are remembered, the oldest first.
    var denied: [Denial] = []
    /// In the order of opening.
    var polls: [Ballot] = []
    var reports: [Report] = []
    /// The log entries of held messages that the webhook is owed.
    var owed: [UInt64] = []
    var exists = false
    /// As the room itself has said it.
    var incarnation: Incarnation?
    /// Kept messages by ID, as the room has shown them.
    var posts: [String: Post] = [:]
    var tallies: [String: Counter] = [:]
    /// The last window of each life that was counted, and when.
    var windows: [UInt64: (window: UInt64, time: Int64)] = [:]
    var closed = false
    var muted = false
    var level = QueueLevel.any
    var seatsPerUser = 0
    var slowSeconds: Int64 = 0
    var seq: UInt64 = 0
    /// The time of the newest kept message.
    var newest: Int64 = .min
    var people: [UserID: Person] = [:]
    var queue: [QueueElement] = []
    /// When each command was accepted, and whether it was a kept post.
    var memory: [UInt64: (time: Int64, isKeptPost: Bool, isDenied: Bool)] = [:]

    /// - Parameters:
    ///   - hold: of a post that is to be held: under which ID, and how it ends.
    ///   - facts: what the leader states beside the command.
    mutating func run(
        _ body: CommandBody, by actor: Actor, key: UInt64?, hold: (id: String, policy: HoldPolicy)? = nil,
        facts: Facts = Facts(), at now: Int64
    ) -> Answer {
        if let key, held.contains(where: { $0.key == key }) { return Answer(isRepeat: true) }
        if let key, let known = memory[key], now - known.time < 600_000 {
            return known.isDenied ? Answer(code: .rejected) : Answer(isRepeat: true)
        }
        let before = self
        self.facts = facts
        waiting = nil
        if let hold, case .post = body {
            var user: UserID?
            if case .member(let member, _, _) = actor { user = member }
            waiting = Held(
                id: hold.id, user: user, from: actor.user, key: key, until: now + hold.policy.seconds * 1000,
                isAllowedThen: hold.policy.onExpiry == .allow)
        }
        var answer = decide(body, actor, now)
        if answer.code != nil {
            self = before
            answer.events = []
            return answer
        }
        seq += UInt64(answer.events.count)
        if case .importMessages(let messages, _) = body {
            newest = messages.last?.time.milliseconds ?? newest
        } else if seq > before.seq {
            newest = now
        }
        // Those of one command are told again in the order of their IDs.
        if denied.count > before.denied.count { denied[before.denied.count...].sort { $0.id < $1.id } }
        denied = denied.filter { now - $0.time < 600_000 }
        windows = windows.filter { $0.value.time + Limits.tapLifeSeconds * 1000 > now }
        if let key, waiting == nil {
            var isKept = false
            if case .post(let draft) = body { isKept = draft.isKept }
            memory[key] = (now, isKept, false)
        }
        return answer
    }

    /// The one that is to be held now.
    var waiting: Held?
    private(set) var facts = Facts()

    subscript(user: UserID) -> Person { people[user] ?? Person() }

    func rank(_ actor: Actor) -> Int {
        actor.user.map { self[$0].role.rank } ?? 9
    }

    func isServer(_ actor: Actor) -> Bool {
        if case .member = actor { false } else { true }
    }

    func isManager(_ actor: Actor) -> Bool { isServer(actor) || rank(actor) >= 1 }

    func mayActOn(_ target: UserID, _ actor: Actor) -> Bool {
        if actor.user == target { return false }
        return rank(actor) >= 1 && rank(actor) > self[target].role.rank
    }

    func mutedCode(_ actor: Actor, _ now: Int64) -> Bool {
        guard case .member(let user, _, _) = actor else { return false }
        return self[user].muted || (self[user].mutedUntil ?? .min) > now
    }

    private mutating func decide(_ body: CommandBody, _ actor: Actor, _ now: Int64) -> Answer {
        if case .createRoom(let creator, let set) = body {
            guard isServer(actor) else { return Answer(code: .forbidden) }
            guard !exists else { return Answer(code: .conflict) }
            exists = true
            people = [creator: Person(role: .creator)]
            level = set.queueLevel ?? .any
            seatsPerUser = Int(set.seatsPerUser ?? 0)
            slowSeconds = set.slowModeSeconds ?? 0
            return Answer()
        }
        if case .tap(let batch) = body { return count(batch, actor, now) }
        if case .webhookDelivered(let progress) = body {
            owed.removeAll { $0 <= progress.eventIndex }
            return Answer()
        }
        if case .expire = body, !exists { return isServer(actor) ? Answer() : Answer(code: .forbidden) }
        guard exists else { return Answer(code: .notFound) }
        switch body {
        case .closeRoom, .reopenRoom, .deleteRoom, .expire, .queueRemove:
            if !isServer(actor) { return Answer(code: .forbidden) }
        default:
            break
        }
        switch body {
        case .closeRoom:
            guard !closed else { return Answer() }
            closed = true
            let leaving = queue.contains { $0.transient }
            queue.removeAll { $0.transient }
            return deny(.roomClosed, behind: [.roomClosed] + (leaving ? [.queueBatchChanged] : []), now) { _ in true }
        case .reopenRoom:
            closed = false
            return Answer()
        case .deleteRoom:
            // Posts are remembered by history, which goes with the room, and denials by the room.
            let answer = deny(.roomClosed, behind: [], now) { _ in true }
            self = NaiveRoom(windows: windows, memory: memory.filter { !$0.value.isKeptPost && !$0.value.isDenied })
            return answer
        case .expire:
            var events: [EventCode] = []
            for (user, person) in people {
                if let end = person.mutedUntil, end <= now {
                    people[user]?.mutedUntil = nil
                    events.append(.temporaryMuteLifted)
                }
                if let end = person.bannedUntil, end <= now { people[user]?.bannedUntil = nil }
            }
            var answer = expireHeld(behind: events, now)
            answer.events += expirePolls(now)
            endExcerpts(now)
            return answer
        case .queueRemove(let versions):
            let count = queue.count
            queue.removeAll { $0.transient && versions.contains(QueueElementVersion($0)) }
            return Answer(events: queue.count < count ? [.queueBatchChanged] : [])
        default:
            break
        }
        if closed { return Answer(code: .roomClosed) }
        if case .member(let user, _, _) = actor,
            self[user].blacklisted || (self[user].bannedUntil ?? .min) > now
        {
            return Answer(code: .blacklisted)
        }
        return decideOpen(body, actor, now)
    }

    private mutating func count(_ batch: TapBatch, _ actor: Actor, _ now: Int64) -> Answer {
        guard isServer(actor) else { return Answer(code: .forbidden) }
        if let last = windows[batch.life], batch.window <= last.window { return Answer() }
        guard exists, batch.incarnation == incarnation else { return Answer(code: .notFound) }
        if closed { return Answer(code: .roomClosed) }
        for sum in batch.sums { _ = add(sum.count, to: sum.key, byMember: true) }
        windows[batch.life] = (batch.window, now)
        return Answer()
    }

    private func tally(_ key: String) -> Counter? { tallies[key] ?? (key == Tally.like ? Counter() : nil) }

    private mutating func add(_ count: Int64, to key: String, byMember: Bool) -> Answer {
        guard var tally = tally(key) else { return Answer(code: .notFound) }
        if tally.closed { return Answer(code: .conflict) }
        if byMember, tally.isServers { return Answer(code: .forbidden) }
        tally.total += count
        guard (0...Limits.tallyTotal).contains(tally.total) else { return Answer(code: .conflict) }
        tallies[key] = tally
        return Answer()
    }

    private mutating func decideTally(_ key: String, _ change: TallyChange, _ actor: Actor, _ now: Int64) -> Answer {
        if case .tap(let count) = change {
            if mutedCode(actor, now) { return Answer(code: .muted) }
            if muted, !isManager(actor) { return Answer(code: .roomMuted) }
            return add(count, to: key, byMember: true)
        }
        guard isServer(actor) else { return Answer(code: .forbidden) }
        switch change {
        case .tap: break
        case .add(let count): return add(count, to: key, byMember: false)
        case .set(let settings):
            var tally = tally(key) ?? Counter()
            tally.total = settings.total ?? tally.total
            tally.closed = settings.closed ?? tally.closed
            if let by = settings.by { tally.isServers = by == .server }
            tallies[key] = tally
        case .remove:
            guard tally(key) != nil else { return Answer(code: .notFound) }
            tallies[key] = nil
        }
        return Answer()
    }

    private mutating func amend(_ messageID: String, _ actor: Actor, _ now: Int64) -> Answer {
        if mutedCode(actor, now) { return Answer(code: .muted) }
        if muted, !isManager(actor) { return Answer(code: .roomMuted) }
        guard let post = posts[messageID] else { return Answer(code: .notFound) }
        if !isServer(actor), post.sender != actor.user || now > post.time + 120_000 { return Answer(code: .forbidden) }
        if post.isNotification { return Answer(code: .forbidden) }
        if let code = speak(actor, now) { return Answer(code: code) }
        return Answer(events: [.amended])
    }

    /// Slow mode.
    private mutating func speak(_ actor: Actor, _ now: Int64) -> ErrorCode? {
        guard case .member(let user, _, _) = actor, rank(actor) < 1, slowSeconds > 0 else { return nil }
        if let last = self[user].spokeAt, now < last + slowSeconds * 1000 { return .tooOften }
        people[user, default: Person()].spokeAt = now
        return nil
    }

    private mutating func decideOpen(_ body: CommandBody, _ actor: Actor, _ now: Int64) -> Answer {
        switch body {
        case .post(let draft):
            if mutedCode(actor, now) { return Answer(code: .muted) }
            if muted, !isManager(actor) { return Answer(code: .roomMuted) }
            if draft.mentionAll, !isManager(actor) { return Answer(code: .forbidden) }
            if waiting != nil, !draft.isKept { return Answer(code: .rejected) }
            if let code = speak(actor, now) { return Answer(code: code) }
            if let waiting {
                hold(waiting)
                return Answer()
            }
            if draft.isKept { seq += 1 }
            return Answer(posts: 1)
        case .decideHeld(let id, let decision): return decideHeld(id, decision, actor, now)
        case .withdrawHeld(let id): return withdrawHeld(id, actor, now)
        case .openPoll(let id, let draft, _): return openPoll(id, draft, actor, now)
        case .vote(let id, let option): return vote(id, option, actor, now)
        case .closePoll(let id, _): return closePoll(id, actor)
        case .report(let messageID, _): return report(messageID, actor, now)
        case .amend(let messageID, _): return amend(messageID, actor, now)
        case .importMessages(let messages, let known):
            guard isServer(actor) else { return Answer(code: .forbidden) }
            let times = messages.map(\.time.milliseconds)
            if times.contains(where: { $0 > now }) || times != times.sorted() { return Answer(code: .badParameter) }
            if let first = times.first, seq > 0 {
                guard known?.seq == seq else { return Answer(code: .unavailable) }
                // By the leader's word: that of a repeat may be of another life of the room.
                if let latest = known?.time?.milliseconds, first < latest { return Answer(code: .conflict) }
            }
            seq += UInt64(times.count)
            return Answer()
        case .tally(let key, let change): return decideTally(key, change, actor, now)
        case .muteRoom(let enable, _):
            if rank(actor) < 1 { return Answer(code: .forbidden) }
            defer { muted = enable }
            return Answer(events: muted == enable ? [] : [enable ? .roomMuted : .roomUnmuted])
        case .setManager(let user, let enable, _):
            guard rank(actor) >= 2, mayActOn(user, actor), self[user].role != .creator else {
                return Answer(code: .forbidden)
            }
            if !enable, self[user].role != .manager { return Answer() }
            return become(user, enable ? .manager : .normal)
        case .setMember(let user, let enable, _):
            guard mayActOn(user, actor) else { return Answer(code: .forbidden) }
            if self[user].role == .creator { return Answer(code: enable ? .forbidden : nil) }
            if enable, self[user].role == .manager { return Answer() }
            return become(user, enable ? .normal : .guest)
        case .setRole(let user, let role, _):
            guard mayActOn(user, actor), self[user].role != .creator else { return Answer(code: .forbidden) }
            if role == .manager || self[user].role == .manager, rank(actor) < 2 { return Answer(code: .forbidden) }
            return become(user, role == .manager ? .manager : role == .normal ? .normal : .guest)
        case .setMute(let user, let enable, _):
            guard mayActOn(user, actor) else { return Answer(code: .forbidden) }
            if self[user].muted == enable { return Answer() }
            people[user, default: Person()].muted = enable
            guard enable else { return Answer(events: [.unmuted]) }
            return silence(user, .muted, [.muted], now)
        case .setBlacklist(let user, let enable, _):
            guard mayActOn(user, actor), self[user].role != .creator else { return Answer(code: .forbidden) }
            if self[user].blacklisted == enable { return Answer() }
            people[user, default: Person()].blacklisted = enable
            guard enable else { return Answer(events: [.unblacklisted]) }
            people[user]?.role = .guest
            var answer = silence(user, .blacklisted, [.blacklisted] + loseSeats(user), now)
            answer.kicked = [user]
            return answer
        case .tempMute(let user, let seconds, _):
            guard mayActOn(user, actor) else { return Answer(code: .forbidden) }
            let had = self[user].mutedUntil != nil
            people[user, default: Person()].mutedUntil = seconds > 0 ? now + seconds * 1000 : nil
            guard seconds > 0 else { return Answer(events: had ? [.temporaryMuteLifted] : []) }
            return silence(user, .muted, [.temporarilyMuted], now)
        case .kick(let user, let seconds, _):
            guard mayActOn(user, actor) else { return Answer(code: .forbidden) }
            if seconds == 0 {
                // Nobody is here: a ban is lifted, or there is nothing to do.
                people[user]?.bannedUntil = nil
                return Answer()
            }
            if let seconds { people[user, default: Person()].bannedUntil = now + seconds * 1000 }
            var answer = silence(user, .kicked, [.kicked] + loseSeats(user), now)
            answer.kicked = [user]
            return answer
        case .updateMe:
            return actor.user == nil ? Answer(code: .badParameter) : Answer(events: [.memberUpdatedInfo])
        case .queueSet, .queueSetMany, .queueTake, .queueClear:
            if mutedCode(actor, now) { return Answer(code: .muted) }
            if level == .manager, !isManager(actor) { return Answer(code: .forbidden) }
            return decideQueue(body, actor)
        default:
            return Answer()
        }
    }

    private mutating func become(_ user: UserID, _ role: Role) -> Answer {
        let old = self[user].role
        if old == role { return Answer() }
        if role != .guest, self[user].blacklisted { return Answer(code: .conflict) }
        people[user, default: Person()].role = role
        return switch (old, role) {
        case (_, .manager): Answer(events: [.managerSet])
        case (.manager, .normal): Answer(events: [.managerRemoved])
        case (.manager, _): Answer(events: [.managerRemoved, .fixedMemberRemoved])
        case (_, .normal): Answer(events: [.madeFixedMember])
        default: Answer(events: [.fixedMemberRemoved])
        }
    }

    private mutating func loseSeats(_ user: UserID) -> [EventCode] {
        let count = queue.count
        queue.removeAll { $0.transient && $0.owner == user }
        return queue.count < count ? [.queueBatchChanged] : []
    }

    private mutating func decideQueue(_ body: CommandBody, _ actor: Actor) -> Answer {
        let ownOnly = level == .owner && !isManager(actor)
        let before = queue
        func isLocked(_ index: Int) -> Bool { queue[index].locked && !isManager(actor) }
        func forbidden(_ index: Int) -> Bool { isLocked(index) || ownOnly && queue[index].owner != actor.user }
        /// Whether somebody has got more seats than a user may have.
        func isCrowded() -> Bool {
            func seats(_ queue: [QueueElement], _ user: UserID) -> Int {
                queue.count { $0.transient && $0.owner == user }
            }
            return seatsPerUser > 0
                && queue.contains {
                    seats(queue, $0.owner) > max(seatsPerUser, seats(before, $0.owner))
                }
        }
        switch body {
        case .queueSet(let write, _):
            if !isManager(actor), write.owner != nil || write.keepOwner || write.locked != nil {
                return Answer(code: .forbidden)
            }
            if write.owner != nil, write.keepOwner { return Answer(code: .badParameter) }
            let index = queue.firstIndex { $0.key == write.key }
            if let index, isLocked(index) { return Answer(code: .forbidden) }
            if let version = write.ifVersion, version != index.map({ queue[$0].version }) ?? 0 {
                return Answer(code: .conflict)
            }
            if let index {
                if forbidden(index) { return Answer(code: .forbidden) }
                queue[index].value = write.value
                queue[index].transient = write.transient
                queue[index].version += 1
                if let locked = write.locked { queue[index].locked = locked }
                if !write.keepOwner, let user = write.owner ?? actor.user { queue[index].owner = user }
            } else {
                guard let creator = people.first(where: { $0.value.role == .creator })?.key else {
                    return Answer(code: .internal)
                }
                var element = QueueElement(
                    key: write.key, value: write.value, owner: write.owner ?? actor.user ?? creator)
                (element.transient, element.locked) = (write.transient, write.locked ?? false)
                queue.append(element)
            }
            return isCrowded() ? Answer(code: .conflict) : Answer(events: [.queueChanged])
        case .queueSetMany(let pairs, _):
            var changed = false
            for pair in pairs {
                guard let index = queue.firstIndex(where: { $0.key == pair.key }) else { continue }
                if forbidden(index) { return Answer(code: .forbidden) }
                queue[index].value = pair.value
                queue[index].version += 1
                if let user = actor.user { queue[index].owner = user }
                changed = true
            }
            if isCrowded() { return Answer(code: .conflict) }
            return Answer(events: changed ? [.queueBatchChanged] : [])
        case .queueTake(let key, _):
            guard let index = key.map({ key in queue.firstIndex { $0.key == key } }) ?? (queue.isEmpty ? nil : 0)
            else { return Answer(code: .notFound) }
            if forbidden(index) { return Answer(code: .forbidden) }
            queue.remove(at: index)
            return Answer(events: [.queueChanged])
        default:
            if ownOnly || queue.indices.contains(where: isLocked) { return Answer(code: .forbidden) }
            defer { queue = [] }
            return Answer(events: queue.isEmpty ? [] : [.queueChanged])
        }
    }
}
