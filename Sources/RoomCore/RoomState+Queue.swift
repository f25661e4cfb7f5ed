import ChatModel

/// Changes of the queue (PROTOCOL.md, "Seats").
extension RoomState {
    /// The right of an actor to change elements.
    private enum QueueRight {
        case everything
        /// All that is not locked.
        case unlocked
        /// Adding, and changing or taking one's own that is not locked.
        case own(UserID)
    }

    private func queueRight(_ actor: Actor, at now: Timestamp) throws(ChatError) -> QueueRight {
        guard case .member(let user, _, _) = actor else { return .everything }
        try requireNotMuted(user, at: now)
        if isManager(actor) { return .everything }
        switch record?.info.queueLevel {
        case .any: return .unlocked
        case .owner: return .own(user)
        case .manager, nil: throw ChatError(.forbidden, "only managers change the queue of \(room)")
        }
    }

    private func require(_ right: QueueRight, covers element: QueueElement) throws(ChatError) {
        if case .everything = right { return }
        guard !element.locked else {
            throw ChatError(.forbidden, "the element \(element.key) is locked: only managers change it")
        }
        if case .own(let user) = right, element.owner != user {
            throw ChatError(.forbidden, "the element \(element.key) belongs to \(element.owner)")
        }
    }

    /// Refuses the fields of `queueSet` that are for managers.
    private func requireMayHost(_ write: QueueWrite, _ actor: Actor) throws(ChatError) {
        let field: String? =
            if write.owner != nil { "owner" } else if write.keepOwner { "keepOwner" } else if write.locked != nil {
                "locked"
            } else { nil }
        guard let field else { return }
        guard isManager(actor) else { throw ChatError(.forbidden, "\(field) is for managers", field: field) }
        guard write.owner == nil || !write.keepOwner else {
            throw ChatError(.badParameter, "either owner or keepOwner", field: "keepOwner")
        }
    }

    /// Refuses transient elements that give an owner more of them than the room's `seatsPerUser`. Those that it has
    /// already can be changed, also when there are too many of them by now.
    private func requireSeats(for written: [QueueElement]) throws(ChatError) {
        guard let most = record?.info.seatsPerUser, most > 0 else { return }
        var gained: [UserID: Int] = [:]
        for element in written where element.transient {
            if let old = queue[element.key], old.transient, old.owner == element.owner { continue }
            let more = gained[element.owner, default: 0] + 1
            gained[element.owner] = more
            guard queue.transientCount(of: element.owner) + more <= most else {
                throw ChatError(
                    .conflict, "\(element.owner) has as many seats as the room gives a user: \(most)",
                    field: "transient")
            }
        }
    }

    mutating func queueSet(
        _ write: QueueWrite, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        guard let creator = record?.info.creator else { throw ChatError(.notFound, "there is no room \(room)") }
        let right = try queueRight(command.actor, at: outcome.time)
        try requireMayHost(write, command.actor)
        let (key, old) = (write.key, queue[write.key])
        // Before the version, which is nothing for those who may not change the element.
        if let old, old.locked { try require(right, covers: old) }
        // A key that is not there counts as version 0.
        if let ifVersion = write.ifVersion, ifVersion != old?.version ?? 0 {
            throw ChatError(.conflict, "the element \(key) has version \(old?.version ?? 0)", field: "ifVersion")
        }
        if let old {
            try require(right, covers: old)
        } else if queue.count >= command.facts.queueElementsMax {
            throw ChatError(.badParameter, "a queue has at most \(command.facts.queueElementsMax) elements")
        }
        // Somebody must own it: without any writer whoever has it keeps it, and a new one is the creator's.
        let kept = write.keepOwner ? old?.owner : nil
        let owner = kept ?? write.owner ?? command.actor.user ?? old?.owner ?? creator
        var element = QueueElement(key: key, value: write.value, owner: owner)
        element.transient = write.transient
        element.locked = write.locked ?? old?.locked ?? false
        element.version = (old?.version ?? 0) &+ 1
        try requireSeats(for: [element])
        put(element, &outcome)
        notify(
            .queueChanged, options, data: .queue(change: old == nil ? .offer : .update, element: element), for: command,
            &outcome)
        return .element(element)
    }

    /// Overwrites what is there: one 320 (see `notifyBatch`), in the order given. Each keeps whether it is transient and locked.
    /// With nothing there nobody is told.
    mutating func queueSetMany(
        _ pairs: [QueuePair], _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        let right = try queueRight(command.actor, at: outcome.time)
        guard pairs.count <= Limits.queueBatchItems else {
            throw ChatError(.badParameter, "at most \(Limits.queueBatchItems) values", field: "values")
        }
        var missing: [String] = []
        for pair in pairs {
            if let old = queue[pair.key] {
                try require(right, covers: old)
            } else {
                missing.append(pair.key)
            }
        }
        let changed = pairs.compactMap { pair -> QueueElement? in
            guard var element = queue[pair.key] else { return nil }
            element.value = pair.value
            element.owner = command.actor.user ?? element.owner
            element.version &+= 1
            return element
        }
        try requireSeats(for: changed)
        for element in changed { put(element, &outcome) }
        notifyBatch(.batchUpdate, of: changed, options, for: command, &outcome)
        return .missing(missing)
    }

    mutating func queueTake(
        _ key: String?, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        let right = try queueRight(command.actor, at: outcome.time)
        let found = if let key { queue[key] } else { queue.head }
        guard let element = found else {
            throw ChatError(.notFound, key.map { "there is no element \($0)" } ?? "the queue is empty")
        }
        try require(right, covers: element)
        drop(element.key, &outcome)
        notify(.queueChanged, options, data: .queue(change: .poll, element: element), for: command, &outcome)
        return .element(element)
    }

    /// Clearing an empty queue tells nobody.
    mutating func queueClear(
        _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        let right = try queueRight(command.actor, at: outcome.time)
        if case .own = right { throw ChatError(.forbidden, "only managers clear the queue of \(room)") }
        if case .unlocked = right { for element in queue.elements { try require(right, covers: element) } }
        guard queue.count > 0 else { return .done }
        for element in queue.elements { drop(element.key, &outcome) }
        notify(.queueChanged, options, data: .queue(change: .drop, element: nil), for: command, &outcome)
        return .done
    }

    /// Removes transient elements that are still as they were seen.
    mutating func queueRemove(
        _ versions: [QueueElementVersion], for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        let gone = versions.compactMap { version -> QueueElement? in
            guard let element = queue[version.key], element.transient, QueueElementVersion(element) == version else {
                return nil
            }
            return element
        }
        removeElements(gone, for: command, &outcome)
        return .done
    }

    /// The room itself takes elements away: one 320 (see `notifyBatch`) without operator.
    mutating func removeElements(
        _ elements: [QueueElement], for command: Command, _ outcome: inout Outcome
    ) {
        var removed: [QueueElement] = []
        for element in elements where queue[element.key] != nil {
            drop(element.key, &outcome)
            removed.append(element)
        }
        var own = command
        own.actor = .system
        notifyBatch(.partClear, of: removed, NotifyOptions(), for: own, &outcome)
    }

    /// One 320 for all elements; none for none. Where it would be longer than a frame may be it is several, one behind
    /// the other, each with a seq of its own and as many of the elements, in order, as fit.
    private mutating func notifyBatch(
        _ change: QueueChange, of elements: [QueueElement], _ options: NotifyOptions, for command: Command,
        _ outcome: inout Outcome
    ) {
        for part in FrameSize.parts(of: elements, within: Self.batchBytesMax, FrameSize.of) {
            notify(
                .queueBatchChanged, options, data: .queueBatch(change: change, elements: Array(part)), for: command,
                &outcome)
        }
    }

    /// The rest of a frame is for what is around the elements: `notifyExt` and the operator's nick.
    private static let batchBytesMax = Limits.framePayloadBytes - 16 * Limits.kilobyte

    // MARK: - Rows

    private mutating func put(_ element: QueueElement, _ outcome: inout Outcome) {
        let position = queue.set(element)
        // The next position is in the room's row.
        outcome.touchesRoom = true
        outcome.rows.append(
            CatalogueChange(
                kind: .queue, key: element.key, value: .queue(element, position: position),
                // Whether its owner is here is something that a new leader does not know.
                deadline: element.transient ? .atNewLeader : nil))
    }

    mutating func drop(_ key: String, _ outcome: inout Outcome) {
        queue.remove(key)
        outcome.rows.append(CatalogueChange(kind: .queue, key: key, value: nil))
    }
}
