import ChatModel

/// Events of a room that a consumer did not take in time.
package struct RoomOverflow: EventOverflow {
    private var entry: RoomEntry?
    private var missing = SeqRanges()
    private var skipped = Skipped()
    private var deliveries: [String: DeliveryStatus] = [:]
    /// About messages of one's own. It comes once, so it is not left out.
    private var denials: [Denial] = []
    private var online: Int64?
    /// At most the tallies of a room, and those that it had before.
    private var totals: [String: Int64] = [:]
    private var kick: Kick?
    private var state: ConnectionState?

    package init() {}

    package mutating func fold(_ event: RoomEvent) {
        switch event {
        case .state(let state): self.state = state
        case .entered(let entry):
            // Seqs of another life of the room mean nothing any more.
            if entry.recovery == .impossible { missing.removeAll() }
            self.entry = entry
        case .message(let message): lose(message)
        case .filled(let messages): for message in messages { lose(message) }
        case .barrage(let items): skipped.barrage += Int64(items.count)
        case .gap(let gap): for range in gap.ranges { lose(range) }
        case .skipped(let more):
            skipped.barrage = Self.sum(skipped.barrage, more.barrage)
            skipped.unkept = Self.sum(skipped.unkept, more.unkept)
            skipped.events = Self.sum(skipped.events, more.events)
        case .online(let online): self.online = online
        case .tallies(let changed):
            for (key, total) in changed where totals.count < Self.totalsMax || totals[key] != nil {
                totals[key] = total
            }
        case .held: skipped.events += 1
        case .denied(let denial):
            if denials.count < Self.denialsMax { denials.append(denial) } else { skipped.events += 1 }
        case .kicked(let kick): self.kick = kick
        case .delivery(let change):
            if deliveries.count < Self.deliveriesMax || deliveries[change.clientID] != nil {
                deliveries[change.clientID] = change.status
            } else {
                skipped.events += 1
            }
        case .unsupported(let what): if let message = what.message { lose(message) } else { skipped.events += 1 }
        }
    }

    package func events() -> [RoomEvent] {
        var events: [RoomEvent] = []
        if let entry { events.append(.entered(entry)) }
        if !missing.isEmpty { events.append(.gap(Gap(ranges: missing.ranges, cause: .consumer))) }
        if skipped != Skipped() { events.append(.skipped(skipped)) }
        for (id, status) in deliveries.sorted(by: { $0.key < $1.key }) {
            events.append(.delivery(DeliveryChange(clientID: id, status: status)))
        }
        events += denials.map { .denied($0) }
        if let online { events.append(.online(online)) }
        if !totals.isEmpty { events.append(.tallies(totals)) }
        if let kick { events.append(.kicked(kick)) }
        if let state { events.append(.state(state)) }
        return events
    }

    private mutating func lose(_ message: Message) {
        if let seq = message.seq { lose(seq...seq) } else { skipped.unkept += 1 }
    }

    private mutating func lose(_ range: ClosedRange<UInt64>) {
        missing.insert(range)
        guard missing.count > Self.rangesMax, let first = missing.ranges.first, let last = missing.ranges.last else {
            return
        }
        // One range for all: it may name what was received, as a gap may (PROTOCOL.md, "Pushes").
        missing.insert(first.lowerBound...last.upperBound)
    }

    private static func sum(_ a: Int64, _ b: Int64) -> Int64 {
        let (sum, overflow) = a.addingReportingOverflow(b)
        return overflow ? .max : sum
    }

    private static let rangesMax = 64
    private static let deliveriesMax = 1_024
    /// As many as a room remembers.
    private static let denialsMax = 1_000
    private static let totalsMax = 1_024
}

/// Events of the client that a consumer did not take in time.
package struct ClientOverflow: EventOverflow {
    private var skipped: Int64 = 0
    private var state: ClientState?

    package init() {}

    package mutating func fold(_ event: ClientEvent) {
        if case .state(let state) = event { self.state = state } else { skipped += 1 }
    }

    package func events() -> [ClientEvent] {
        var events: [ClientEvent] = skipped > 0 ? [.skipped(events: skipped)] : []
        if let state { events.append(.state(state)) }
        return events
    }
}
