import ChatModel

/// The answer to a repeat of a command (PROTOCOL.md, "Retry"). Only what is small is remembered; the long texts of the
/// first answer are taken from the repeat itself, which carries what it sets, and else from what is so now.
extension RoomState {
    /// Whether this command has been answered, within `Limits.commandMemorySeconds`.
    public func remembers(_ key: CommandKey, at now: Timestamp) -> Bool {
        record != nil && ledger.post(key, at: now) != nil || ledger.result(key, at: now) != nil
            || rememberedHeld(key, at: now) != nil
    }

    /// The earlier answer to this command, if that was within `Limits.commandMemorySeconds`: a leader may answer it
    /// without proposing.
    ///
    /// - Parameter command: the repeat. When it asks for something else than the first try did, the answer is that of
    ///   the first all the same, without texts that nobody has any more.
    public func remembered(_ key: CommandKey, of command: Command, at now: Timestamp) -> CommandResult? {
        if let incarnation = record?.incarnation, let post = ledger.post(key, at: now) {
            return .posted(
                messageID: MessageID.kept(incarnation, seq: post.seq).text, place: .kept(seq: post.seq),
                time: post.time, priority: post.priority ?? priority(askedBy: command))
        }
        return ledger.result(key, at: now).map { answer($0, to: command) } ?? rememberedHeld(key, at: now)
    }

    /// A message that waits is found by its send for as long as it waits, and one that was denied for a while.
    private func rememberedHeld(_ key: CommandKey, at now: Timestamp) -> CommandResult? {
        if let heldID = held.id(of: key) { return .held(heldID: heldID) }
        guard let denial = denied.record(of: key), !CommandLedger.isForgotten(denial.time, at: now) else { return nil }
        return .refused(denial.refusal)
    }

    private func answer(_ remembered: RememberedResult, to command: Command) -> CommandResult {
        switch remembered {
        case .done: .done
        case .room(let info): .room(completed(info, by: command))
        case .posted(let messageID, let place, let time, let priority, let delivered):
            .posted(messageID: messageID, place: place, time: time, priority: priority, delivered: delivered)
        case .member(let member): .member(completed(member, by: command))
        case .element(let element): .element(completed(element, by: command))
        case .taken(let element): .element(element)
        case .missing(let bits): .missing(Self.names(bits, of: command.body))
        case .pinned(let pinned): .pinned(pinned)
        case .amended(let messageID): .amendedBefore(messageID: messageID)
        case .decided(let messageID): .decidedBefore(messageID: messageID)
        case .tally(let tally): .tally(tally)
        case .upload(let ticket): .upload(ticket)
        case .poll(let poll): .poll(completed(poll, by: command))
        case .imported(let result): .imported(result)
        }
    }

    /// The priority of a post of which only the command is known: as if not too many HIGH ones had come with it.
    private func priority(askedBy command: Command) -> Priority {
        guard case .post(let draft) = command.body else { return .normal }
        return draft.priority == .high && !isManager(command.actor) ? .normal : draft.priority
    }

    private func completed(_ info: RoomInfo, by command: Command) -> RoomInfo {
        let set: RoomChanges? =
            switch command.body {
            case .createRoom(_, let set), .updateRoom(let set, _): set
            default: nil
            }
        var info = info
        let present = record?.info
        info.name = set?.name ?? present?.name ?? ""
        info.announcement = set?.announcement ?? present?.announcement ?? ""
        info.ext = set?.ext ?? present?.ext ?? ""
        info.broadcastUrl = set?.broadcastUrl ?? present?.broadcastUrl ?? ""
        info.pinned = present?.pinned ?? []
        return info
    }

    private func completed(_ member: Member, by command: Command) -> Member {
        var member = member
        member.profile =
            command.facts.names[member.user] ?? members[member.user]?.savedProfile ?? Profile()
        if case .updateMe(let set, _, _) = command.body, command.actor.user == member.user {
            if case .member(_, let profile, _) = command.actor { member.profile = profile }
            set.apply(to: &member.profile)
        }
        return member
    }

    private func completed(_ poll: Poll, by command: Command) -> Poll {
        var poll = poll
        if case .openPoll(poll.id, let draft, _) = command.body {
            (poll.title, poll.options) = (draft.title, draft.options)
        } else if let present = polls[poll.id]?.record.poll, Self.isSame(present, poll) {
            (poll.title, poll.options) = (present.title, present.options)
        } else {
            // Another one has its ID now. The counts still have their options.
            poll.options = poll.counts.map { _ in "" }
        }
        return poll
    }

    /// Whether a result without texts is of this poll: a later one under its ID ends at another time.
    private static func isSame(_ present: Poll, _ result: Poll) -> Bool {
        present.closesAt == result.closesAt && present.options.count == result.counts.count
    }

    private func completed(_ element: QueueElement, by command: Command) -> QueueElement {
        var element = element
        if case .queueSet(let write, _) = command.body, write.key == element.key {
            element.value = write.value
        } else if let present = queue[element.key], QueueElementVersion(present) == QueueElementVersion(element) {
            element.value = present.value
        }
        return element
    }

    // MARK: - Remembering

    /// The part of a result to remember; nil for a refusal.
    static func remembered(_ result: CommandResult, of body: CommandBody) -> RememberedResult? {
        switch result {
        case .refused: return nil
        case .done: return .done
        case .room(var info):
            (info.name, info.announcement, info.ext, info.broadcastUrl) = ("", "", "", "")
            info.pinned = []
            return .room(info)
        case .posted(let messageID, let place, let time, let priority, let delivered):
            return .posted(messageID: messageID, place: place, time: time, priority: priority, delivered: delivered)
        case .member(var member):
            member.profile = Profile()
            return .member(member)
        case .element(var element):
            if case .queueTake = body { return .taken(element) }
            element.value = ""
            return .element(element)
        case .missing(let names): return .missing(bits(of: names, in: body))
        case .pinned(let pinned): return .pinned(pinned)
        case .amended(let message): return .amended(messageID: message.messageID)
        case .amendedBefore(let messageID): return .amended(messageID: messageID)
        case .tally(let tally): return .tally(tally)
        case .poll(var poll):
            (poll.title, poll.options) = ("", [])
            return .poll(poll)
        // The window itself is remembered, and the held message.
        case .tapped, .held: return nil
        case .decided(let message): return .decided(messageID: message.seq == nil ? nil : message.messageID)
        case .decidedBefore(let messageID): return .decided(messageID: messageID)
        case .upload(let ticket): return .upload(ticket)
        case .imported(let result): return .imported(result)
        }
    }

    private static func named(by body: CommandBody) -> [String] {
        switch body {
        case .queueSetMany(let pairs, _): pairs.map(\.key)
        case .addRobots(let robots): robots.map(\.user.text)
        case .removeRobots(let users): users.map(\.text)
        default: []
        }
    }

    /// Both are in the order of the command.
    private static func bits(of names: [String], in body: CommandBody) -> [UInt8] {
        var bits: [UInt8] = []
        var left = names[...]
        for (place, name) in named(by: body).enumerated() {
            // By their bytes: equal texts of other bytes are other keys.
            guard let next = left.first else { break }
            guard next.utf8.elementsEqual(name.utf8) else { continue }
            left.removeFirst()
            while bits.count <= place / 8 { bits.append(0) }
            bits[place / 8] |= 1 << (place % 8)
        }
        return bits
    }

    private static func names(_ bits: [UInt8], of body: CommandBody) -> [String] {
        named(by: body).enumerated().filter { place, _ in
            place / 8 < bits.count && bits[place / 8] & (1 << (place % 8)) != 0
        }.map(\.element)
    }
}

extension CommandMemory {
    /// The owner of results that count together.
    static func owner(_ actor: Actor) -> UInt64 {
        guard case .member(let user, _, _) = actor else { return 0 }
        return SampleHash.text(user.text)
    }
}
