import ChatModel
import Consensus
import RoomCore

/// What must hold in every run, however unlucky. It sees all nodes at once, as nobody in the cluster can.
package struct ClusterCheckers {
    package enum Name: String, Hashable, CaseIterable, Sendable {
        /// At most one leader per term of a group.
        case oneLeaderPerTerm
        /// All replicas get the same entries, each once and in order.
        case oneOrder
        /// At an equal index all replicas have decided alike.
        case replicasEqual
        /// What was acked stays.
        case acknowledged
        /// Kept messages count from 1 without holes.
        case denseSeq
        /// No command is done twice.
        case onceOnly
        /// What a subscriber is shown is a contiguous slice of the room's messages.
        case contiguousStream
        /// Nobody is heard while muted or blacklisted.
        case mutedSilent
        /// Nobody is sent what came after he or she was blacklisted.
        case blacklistedOut
        /// Nothing grows without bound.
        case boundedQueues
        /// A message is stamped no earlier than the one before it.
        case monotonicTime
        /// Five seconds after a fault of nodes or links has ended, who was in a room before has been shown everything there,
        /// or told that it is missing, and what is said is answered.
        case nobodyDeaf
        /// Five seconds after, everybody is in a room who has asked since.
        case everybodyEnters
        /// Five seconds after, leaders hold exactly those for present whom their gateways have.
        case nobodyGhost
        /// When the faults end, gossip knows who is there.
        case gossipConverges
        /// When the faults end, everything asked for is answered and every group is where it belongs.
        case liveness
    }

    package struct Violation: Hashable, CustomStringConvertible, Sendable {
        package let name: Name
        package let text: String
        package var description: String { "\(name.rawValue): \(text)" }
    }

    private struct Term: Hashable {
        let group: GroupID
        let term: UInt64
    }

    /// One group as the first replica to apply an entry has seen it.
    private struct Canon {
        var entries: [Entry] = []
        var effects: [[Effect]] = []
        var history: [Message] = []
        var clientIDs: Set<String> = []
        var silenced: Set<UserID> = []
        /// Who is blacklisted, and the last message of before.
        var barred: [UserID: UInt64] = [:]
        var time = Timestamp(.min)
    }

    package private(set) var violations: [Violation] = []
    private var leaders: [Term: ServerID] = [:]
    private var canons: [GroupID: Canon] = [:]
    private var acks: [(group: GroupID, clientID: String, seq: UInt64)] = []
    package private(set) var ackCount = 0

    mutating func fail(_ name: Name, _ text: String) {
        if violations.count < 20 { violations.append(Violation(name: name, text: text)) }
    }

    func lastSeq(_ group: GroupID) -> UInt64 { UInt64(canons[group]?.history.count ?? 0) }

    func contains(proposal: Int, in group: GroupID) -> Bool {
        canons[group]?.entries.contains { Payload($0)?.proposal == proposal } ?? false
    }

    mutating func leads(_ group: GroupID, term: UInt64, _ server: ServerID) {
        if let other = leaders.updateValue(server, forKey: Term(group: group, term: term)), other != server {
            fail(.oneLeaderPerTerm, "\(other) and \(server) lead term \(term) of group \(group.number)")
        }
    }

    /// A replica has applied an entry, which had to be the one after `before`.
    mutating func applies(
        _ entry: Entry, _ proposal: Proposal?, _ effects: [Effect], group: GroupID, at server: ServerID,
        before: UInt64
    ) {
        if entry.index != before + 1 {
            fail(.oneOrder, "\(server) applied \(entry.index) of group \(group.number) after \(before)")
            return
        }
        var canon = canons.removeValue(forKey: group) ?? Canon()
        defer { canons[group] = canon }
        let position = Int(entry.index) - 1
        guard position >= canon.entries.count else {
            if canon.entries[position] != entry {
                fail(.oneOrder, "\(server) has another entry \(entry.index) of group \(group.number)")
            } else if canon.effects[position] != effects {
                fail(.replicasEqual, "\(server) decides entry \(entry.index) of group \(group.number) otherwise")
            }
            return
        }
        canon.entries.append(entry)
        canon.effects.append(effects)
        for effect in effects {
            if case .append(let message, _) = effect { keep(message, &canon) }
            if case .publish(let message) = effect { hear(message, proposal, canon) }
        }
        noteSilence(proposal, effects, &canon)
    }

    private mutating func keep(_ message: Message, _ canon: inout Canon) {
        if message.seq != UInt64(canon.history.count + 1) {
            fail(.denseSeq, "seq \(message.seq ?? 0) after \(canon.history.count)")
        }
        if message.time < canon.time { fail(.monotonicTime, "\(message.time) after \(canon.time)") }
        canon.time = max(canon.time, message.time)
        if let id = message.clientID, !canon.clientIDs.insert(id).inserted {
            fail(.onceOnly, "the message \(id) is there twice")
        }
        canon.history.append(message)
    }

    private mutating func hear(_ message: Message, _ proposal: Proposal?, _ canon: Canon) {
        guard let user = message.from?.user, canon.silenced.contains(user) else { return }
        fail(.mutedSilent, "\(user) is heard although muted or blacklisted")
    }

    private func noteSilence(_ proposal: Proposal?, _ effects: [Effect], _ canon: inout Canon) {
        // A repeat, which changes nothing, has its first answer and nothing else.
        guard case .room(let command)? = proposal, effects.count > 1, case .result(let result)? = effects.last else {
            return
        }
        if case .refused = result { return }
        if case .setBlacklist(let user, let enable, _) = command.body {
            canon.barred[user] = enable ? UInt64(canon.history.count) : nil
        }
        switch command.body {
        case .setMute(let user, let enable, _), .setBlacklist(let user, let enable, _):
            if enable { canon.silenced.insert(user) } else { canon.silenced.remove(user) }
        default: break
        }
    }

    // MARK: - Clients

    mutating func acked(_ group: GroupID, clientID: String, seq place: MessagePlace) {
        ackCount += 1
        guard case .kept(let seq) = place else { return acks.append((group, clientID, 0)) }
        acks.append((group, clientID, seq))
    }

    /// An app shows its user a message.
    mutating func shows(_ message: Message, group: GroupID, to user: UserID) {
        let seq = message.seq ?? 0
        if let history = canons[group]?.history, seq == 0 || seq > history.count || history[Int(seq) - 1] != message {
            fail(.contiguousStream, "\(user) is shown a message \(seq) that is not the room's")
        }
    }

    /// A gateway has sent a message when it was new, not because it was asked for it.
    mutating func sends(_ seq: UInt64, group: GroupID, to user: UserID) {
        if let last = canons[group]?.barred[user], seq > last {
            fail(.blacklistedOut, "\(user) is sent \(seq) and was blacklisted after \(last)")
        }
    }

    func isBarred(_ user: UserID, _ group: GroupID) -> Bool { canons[group]?.barred[user] != nil }

    mutating func holds(_ count: Int, atMost bound: Int, _ what: String) {
        if count > bound { fail(.boundedQueues, "\(count) \(what), \(bound) at most") }
    }

    // MARK: - The end

    /// Every replica's history is the room's, and everything acked is in it.
    mutating func ends(_ histories: [(group: GroupID, server: ServerID, history: [Message])]) {
        for (group, server, history) in histories
        where history != canons[group].map({ Array($0.history.prefix(history.count)) }) ?? [] {
            fail(.replicasEqual, "\(server) has another history of group \(group.number)")
        }
        for ack in acks {
            let history = canons[ack.group]?.history ?? []
            let isThere = ack.seq > 0 && ack.seq <= history.count
            if !isThere || history[Int(ack.seq) - 1].clientID != ack.clientID {
                fail(.acknowledged, "\(ack.clientID) was acked as \(ack.seq) and is not there")
            }
        }
    }
}
