import ChatModel

@testable import Consensus

/// Up to five servers on a network and disks that fail in every way a seed can think of.
///
/// Messages are lost, doubled and reordered; disks keep only what was synced and sometimes refuse; servers crash,
/// lose what they had in memory, stand still, join, are removed and come back empty under a new store; snapshots,
/// transfers and reads happen at any time. Hosts say what they know and what is not so: that a leader's connection has
/// ended, that a server has begun anew, that a replica may not lead. The cores are the real ones, and nothing but the seed decides.
struct Simulation {
    /// A fault that Raft does not tolerate, to see the checkers find it.
    enum Sabotage: Hashable, CaseIterable {
        case forgetsVotes, losesSyncedEntries, reportsSavesEarly, rewindsCores, flipsPayloads, forgesAcks
        case forgesReadReplies, forgesVotes, doublesCommits, losesAcknowledged, cutsForEver
    }

    private struct Server {
        var core: RaftGroup
        var disk = TestDisk()
        var unsynced: [RaftOutput.Save] = []
        var isDown = false
        /// The state machine is the list of what was applied; this much of it is on disk.
        var applied: [Entry] = []
        var durableCount = 0
        var installedMark: SnapshotMark?
        var offer: RaftOutput.SnapshotOffer?
        var toApply: [Entry] = []
        var fetches: [RaftOutput.Fetch] = []
        var commitIndexSeen: UInt64 = 0
        /// (token, what was committed when asked)
        var reads: [UInt64: UInt64] = [:]
        var proposals: [UInt64: Entry] = [:]
        var ledTerm: UInt64 = 0
    }

    private(set) var checkers = SimulationCheckers()
    private var random: SplitMix64
    private let sabotage: Sabotage?
    private let configuration: RaftConfiguration
    private var servers: [Server] = []
    private var network: [RaftMessage] = []
    private var cut: Set<ServerID> = []
    private var nextToken: UInt64 = 0
    private var acknowledged: [Entry] = []
    private var isCalm = false
    private var oldCore: (position: Int, core: RaftGroup)?
    private var lossPercent: UInt64
    private(set) var elections = 0
    private(set) var installs = 0
    private(set) var changes = 0
    private(set) var hints = 0

    var committedCount: Int { checkers.committed.count }

    init(seed: UInt64, sabotage: Sabotage? = nil) throws {
        random = SplitMix64(seed: seed)
        self.sabotage = sabotage
        var configuration = RaftConfiguration()
        // Small bounds, so that every bound is met.
        configuration.inflightMessagesMax = 4
        configuration.inflightBytesMax = 800
        configuration.appendBytesMax = 300
        configuration.proposalBytesMax = 3_000
        configuration.windowBytesMax = 500
        configuration.committedBytesMax = 400
        configuration.applyingBytesMax = 900
        configuration.promotionLagEntriesMax = 5
        if seed % 4 != 0 { configuration.restartProofTicks = 3 * configuration.electionTimeoutTicks }
        self.configuration = configuration
        lossPercent = random.next() % 15
        let voters = (0..<(random.next() % 4 == 0 ? 1 : 3)).map { ServerID(node: "n\($0)", store: 1) }
        for number in 0..<5 {
            let id = ServerID(node: "n\(number)", store: 1)
            let start: RaftGroup.Start =
                voters.contains(id) ? .bootstrap(GroupMembership(voters: voters)) : .join
            servers.append(Server(core: try make(id, start: start)))
        }
        for position in servers.indices {
            run(position)
            // Creating a group is one explicit act, finished before anything else.
            sync(position, all: true)
        }
    }

    private mutating func make(_ id: ServerID, start: RaftGroup.Start) throws -> RaftGroup {
        try RaftGroup(
            id: id, group: GroupID(1), configuration: configuration, start: start, randomSeed: random.next())
    }

    // MARK: The run

    /// A number of random events, then calm, in which everything must come to rest.
    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            try happen()
            if !checkers.violations.isEmpty { return }
        }
        try calmDown()
    }

    private mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

    private mutating func pick() -> Int { Int(random.next() % UInt64(servers.count)) }

    private mutating func happen() throws {
        let position = pick()
        switch random.next() % 1_000 {
        case 0..<400: deliver()
        case 400..<590: tick(position)
        case 590..<740: sync(position)
        case 740..<800: propose(at: position)
        case 800..<850: apply(position)
        case 850..<890: answerFetch(position)
        case 890..<905: read(at: position)
        case 905..<925: try changeMembership(at: position)
        case 925..<931: takeSnapshot(position)
        case 931..<946: flush(position)
        case 946..<958: install(position)
        case 958..<963:
            crash(position)
            if sabotage == .losesSyncedEntries { for other in servers.indices { crash(other) } }
        case 963..<976: try restart(position)
        case 976..<978: failDisk(position)
        case 978..<982: partition()
        case 982..<990: if sabotage != .cutsForEver, sabotage != .forgesReadReplies { cut = [] }
        case 990..<994: transfer(from: position)
        case 994..<996: try replaceRemoved(position)
        case 996..<999: hint(position)
        default: rewind(position)
        }
    }

    /// No more faults; the servers get what they need until they agree.
    private mutating func calmDown() throws {
        isCalm = true
        lossPercent = 0
        if sabotage != .cutsForEver { cut = [] }
        for position in servers.indices { servers[position].core.mayLead = true }
        for position in servers.indices where servers[position].isDown || servers[position].core.isHalted {
            crash(position)
            try restart(position)
        }
        var proposed: ClosedRange<UInt64>?
        for round in 0..<600 {
            for position in servers.indices {
                tick(position)
                sync(position, all: true)
                while !servers[position].fetches.isEmpty { answerFetch(position) }
                install(position)
                while !servers[position].toApply.isEmpty { apply(position) }
            }
            for _ in 0..<network.count { deliver() }
            if !checkers.violations.isEmpty { return }
            guard round > 30, let leader = agreedLeader() else { continue }
            if proposed == nil { proposed = try? act(leader, { core throws in try core.propose([[255]]) }) }
            if let proposed, haveApplied(proposed.upperBound, of: leader) {
                checkAcknowledged()
                return
            }
        }
        checkers.fail(
            .liveness, "no agreement after the faults ended\n" + servers.map(Self.describe).joined(separator: "\n"))
    }

    private func agreedLeader() -> Int? {
        servers.indices.first { position in
            let core = servers[position].core
            return core.isEstablished && servers.allSatisfy { $0.core.term <= core.term || !$0.core.isLeader }
        }
    }

    private func haveApplied(_ index: UInt64, of leader: Int) -> Bool {
        let membership = servers[leader].core.membership
        return servers.allSatisfy { server in
            !membership.contains(server.core.id) || server.applied.count >= Int(index)
        }
    }

    private mutating func checkAcknowledged() {
        if sabotage == .losesAcknowledged, !acknowledged.isEmpty { acknowledged[0].payload = [1, 2, 3] }
        for entry in acknowledged where checkers.committed[Int(entry.index) - 1] != entry {
            checkers.fail(.acknowledged, "the proposal at \(entry.index) was reported and is gone")
        }
    }

    private static func describe(_ server: Server) -> String {
        let core = server.core
        let members = core.membership.voters.map(\.node) + core.membership.learners.map { "(\($0.node))" }
        let peers = core.peers.map { "\($0.id.node) \($0.state) match \($0.match) next \($0.next)" }
        return """
            \(core.id.node).\(core.id.store) \(core.role) term \(core.term) leader \(core.leader?.node ?? "none") \
            log \(core.firstIndex)...\(core.lastIndex) commit \(core.commitIndex) applied \(server.applied.count) \
            snapshot \(core.snapshot?.index ?? 0) installing \(core.installing?.mark.index ?? 0) \
            members \(members) peers \(peers)
            """
    }

    // MARK: Inputs

    private mutating func act<Value>(
        _ position: Int, _ body: (inout RaftGroup) throws -> Value
    ) rethrows -> Value {
        defer { run(position) }
        return try body(&servers[position].core)
    }

    private mutating func deliver() {
        guard !network.isEmpty else { return }
        let chosen = isCalm ? 0 : Int(random.next() % UInt64(min(network.count, 12)))
        var message = network[chosen]
        if isCalm || !chance(3) { network.remove(at: chosen) }
        if chance(lossPercent) || cut.contains(message.from) != cut.contains(message.to) { return }
        guard let position = servers.firstIndex(where: { $0.core.id == message.to }) else { return }
        guard !servers[position].isDown else { return }
        if sabotage == .flipsPayloads, chance(2),
            case .append(let index, let term, let commit, var entries) = message.body,
            let last = entries.indices.last, entries[last].kind == .command
        {
            entries[last].payload.append(0)
            message.body = .append(
                previousIndex: index, previousTerm: term, commitIndex: commit, entries: entries)
        }
        act(position) { $0.step(message) }
    }

    private mutating func tick(_ position: Int) {
        guard !servers[position].isDown else { return }
        if sabotage == .forgetsVotes, chance(5) {
            // Everybody may vote again, and campaigns.
            for other in servers.indices where !servers[other].isDown && servers[other].core.canCampaign {
                servers[other].core.votedFor = nil
                if chance(30) { act(other) { $0.campaign(isTransfer: true) } }
            }
        }
        act(position) { $0.tick() }
    }

    private mutating func sync(_ position: Int, all: Bool = false) {
        guard !servers[position].isDown, !servers[position].unsynced.isEmpty else { return }
        let count = all || chance(50) ? servers[position].unsynced.count : 1
        let saves = Array(servers[position].unsynced.prefix(count))
        servers[position].unsynced.removeFirst(count)
        for save in saves { servers[position].disk.write(save) }
        // One report covers all before it.
        act(position) { $0.persisted(save: saves[saves.count - 1].number) }
    }

    private mutating func propose(at position: Int) {
        guard !servers[position].isDown, servers[position].core.isLeader else { return }
        let term = servers[position].core.term
        let payloads = (0...(random.next() % 3)).map { _ in
            let value = random.next()
            return (0..<Int(1 + value % 40)).map { UInt8(truncatingIfNeeded: value >> UInt64($0 % 8)) }
        }
        guard let range = try? servers[position].core.propose(payloads) else { return }
        for (index, payload) in zip(range, payloads) {
            servers[position].proposals[index] = Entry(index: index, term: term, kind: .command, payload: payload)
        }
        run(position)
    }

    private mutating func read(at position: Int) {
        nextToken += 1
        let token = nextToken
        guard !servers[position].isDown else { return }
        if (try? servers[position].core.readIndex(token)) != nil {
            servers[position].reads[token] = checkers.maxCommitIndex
        }
        run(position)
    }

    private mutating func transfer(from position: Int) {
        let target = servers[pick()].core.id
        if !servers[position].isDown { try? act(position) { try $0.transferLeadership(to: target) } }
    }

    private mutating func changeMembership(at position: Int) throws {
        let core = servers[position].core
        guard !servers[position].isDown, core.isLeader else { return }
        let target = servers[pick()].core.id
        let change: MembershipChange =
            core.membership.learners.contains(target)
            ? (chance(80) ? .promote(target) : .remove(target))
            : core.membership.voters.contains(target) ? .remove(target) : .addLearner(target)
        if (try? act(position, { core throws in try core.proposeMembership(change) })) != nil { changes += 1 }
    }

    private mutating func apply(_ position: Int) {
        guard !servers[position].isDown, !servers[position].toApply.isEmpty else { return }
        let entries = servers[position].toApply
        servers[position].toApply = []
        for entry in entries {
            servers[position].applied.append(entry)
            if servers[position].proposals.removeValue(forKey: entry.index) == entry { acknowledged.append(entry) }
        }
        act(position) { $0.applied(upTo: entries[entries.count - 1].index) }
    }

    private mutating func answerFetch(_ position: Int) {
        guard !servers[position].isDown, !servers[position].fetches.isEmpty else { return }
        let fetch = servers[position].fetches.removeFirst()
        let entries =
            !isCalm && chance(10)
            ? [] : servers[position].disk.read(fetch.range, bytesMax: fetch.bytesMax)
        act(position) { $0.fetched(entries, for: fetch) }
    }

    private mutating func flush(_ position: Int) {
        guard !servers[position].isDown else { return }
        servers[position].durableCount = servers[position].applied.count
    }

    private mutating func takeSnapshot(_ position: Int) {
        flush(position)
        let server = servers[position]
        guard !server.isDown, let mark = server.core.snapshotMark(at: UInt64(server.durableCount)) else { return }
        act(position) { $0.snapshotTaken(mark) }
        sync(position, all: true)
        // Some of the log stays, so that followers a little behind need no snapshot.
        guard let newest = servers[position].disk.snapshot else { return }
        let keep = random.next() % 6
        let limit = newest.index > keep ? newest.index - keep : 0
        servers[position].disk.trim(upTo: limit)
        act(position) { $0.compacted(upTo: limit) }
    }

    private mutating func install(_ position: Int) {
        guard !servers[position].isDown, let offer = servers[position].offer else { return }
        servers[position].offer = nil
        let source = servers.first { $0.core.id == offer.from && $0.applied.count >= Int(offer.mark.index) }
        guard let source, !source.isDown, isCalm || !chance(20) else {
            act(position) { $0.snapshotInstallFailed(offer.mark) }
            return
        }
        installs += 1
        servers[position].applied = Array(source.applied.prefix(Int(offer.mark.index)))
        servers[position].durableCount = Int(offer.mark.index)
        servers[position].installedMark = offer.mark
        servers[position].toApply = []
        // Sometimes power fails between the host's write and the log's.
        if !isCalm, chance(10) { return crash(position) }
        act(position) { $0.snapshotInstalled(offer.mark) }
    }

    // MARK: Faults

    private mutating func crash(_ position: Int) {
        guard !servers[position].isDown else { return }
        // The disk may have written some of what it had not reported.
        let written = Int(random.next() % UInt64(servers[position].unsynced.count + 1))
        for save in servers[position].unsynced.prefix(written) { servers[position].disk.write(save) }
        if sabotage == .losesSyncedEntries {
            servers[position].disk.loseEntries(after: servers[position].disk.lastIndex / 2)
            servers[position].durableCount = min(servers[position].durableCount, Int(servers[position].disk.lastIndex))
        }
        var server = servers[position]
        server.isDown = true
        server.unsynced = []
        server.toApply = []
        server.fetches = []
        server.offer = nil
        server.reads = [:]
        server.proposals = [:]
        server.commitIndexSeen = 0
        server.ledTerm = 0
        server.applied = Array(server.applied.prefix(server.durableCount))
        servers[position] = server
        notifyOthers(of: position) { $0.onNodeLost($1) }
    }

    private mutating func restart(_ position: Int) throws {
        guard servers[position].isDown else { return }
        let server = servers[position]
        var mark = server.disk.snapshot
        if let installed = server.installedMark, installed.index > mark?.index ?? 0 { mark = installed }
        let restored = server.disk.restored(
            appliedIndex: UInt64(server.durableCount), snapshot: mark, recentBytesMax: 300)
        servers[position].core = try make(server.core.id, start: .restored(restored))
        servers[position].isDown = false
        run(position)
        notifyOthers(of: position) { $0.peerRestarted($1) }
    }

    /// What a host finds out, or believes to.
    private mutating func hint(_ position: Int) {
        guard !servers[position].isDown else { return }
        hints += 1
        let other = servers[pick()].core.id.node
        switch random.next() % 4 {
        case 0: act(position) { $0.onNodeLost(other) }
        case 1: act(position) { $0.peerRestarted(other) }
        case 2:
            let ticks = Int(random.next() % 25)
            act(position) { $0.clockJumped(ticks: ticks) }
        default: servers[position].core.mayLead.toggle()
        }
    }

    /// The connection to a server that has died ends, and there is a new one when it is back.
    private mutating func notifyOthers(of position: Int, _ notify: (inout RaftGroup, String) -> Void) {
        let name = servers[position].core.id.node
        for other in servers.indices where other != position && !servers[other].isDown && chance(80) {
            act(other) { notify(&$0, name) }
        }
    }

    private mutating func failDisk(_ position: Int) {
        guard !servers[position].isDown, !servers[position].unsynced.isEmpty else { return }
        act(position) { $0.persistFailed() }
        crash(position)
    }

    private mutating func partition() {
        cut = Set(servers.map(\.core.id).filter { _ in chance(40) })
        if sabotage == .forgesReadReplies, let leader = servers.first(where: \.core.isLeader) { cut = [leader.core.id] }
    }

    /// A server that is surely removed loses its disk and comes back as another one.
    private mutating func replaceRemoved(_ position: Int) throws {
        let id = servers[position].core.id
        let isMentioned = servers.contains { server in
            server.core.membership.contains(id) || server.disk.snapshot?.membership.contains(id) == true
        }
        guard !isMentioned else { return }
        servers[position] = Server(
            core: try make(ServerID(node: id.node, store: id.store + 1), start: .join))
        run(position)
    }

    private mutating func rewind(_ position: Int) {
        guard sabotage == .rewindsCores else { return }
        if let old = oldCore {
            oldCore = nil
            if !servers[old.position].isDown, servers[old.position].core.id == old.core.id {
                servers[old.position].core = old.core
                run(old.position)
            }
        } else {
            oldCore = (position, servers[position].core)
        }
    }

    // MARK: Outputs

    private mutating func run(_ position: Int) {
        while true {
            let output = servers[position].core.takeOutput()
            check(position)
            if output.isEmpty { return }
            let core = servers[position].core
            if output.leadership?.role == .leader {
                elections += 1
                checkers.leads(core)
            }
            if let save = output.save {
                checkers.saves(save, core: core)
                servers[position].unsynced.append(save)
                if sabotage == .reportsSavesEarly { servers[position].core.persisted(save: save.number) }
            }
            for message in output.messages {
                checkers.sends(message, disk: servers[position].disk)
                post(message)
            }
            takeCommitted(output.committed, position)
            for read in output.readStates {
                if let asked = servers[position].reads.removeValue(forKey: read.token) {
                    checkers.reads(index: read.index, committedWhenAsked: asked, at: core.id)
                }
            }
            for token in output.failedReads { servers[position].reads[token] = nil }
            servers[position].fetches.append(contentsOf: output.fetches)
            if let offer = output.snapshotOffer { servers[position].offer = offer }
        }
    }

    private mutating func takeCommitted(_ entries: [Entry], _ position: Int) {
        var entries = entries
        if sabotage == .doublesCommits, let last = entries.last { entries.append(last) }
        for entry in entries {
            let server = servers[position]
            let expected = UInt64(server.applied.count + server.toApply.count + 1)
            checkers.commits(entry, at: server.core.id, expectedIndex: expected)
            servers[position].toApply.append(entry)
        }
    }

    private mutating func check(_ position: Int) {
        let core = servers[position].core
        checkers.sees(commitIndex: core.commitIndex, before: servers[position].commitIndexSeen, at: core.id)
        servers[position].commitIndexSeen = core.commitIndex
    }

    private mutating func post(_ message: RaftMessage) {
        guard network.count < 2_000 else { return }
        var message = message
        switch (sabotage, message.body) {
        case (.forgesAcks, .append(let index, _, _, let entries)):
            var forged = message
            (forged.from, forged.to) = (message.to, message.from)
            forged.body = .appendAccepted(matchIndex: index + UInt64(entries.count))
            message = forged
        case (.forgesAcks, .heartbeat(let commitIndex, _)):
            // The receiver, too, takes it that it has had those appends.
            if let position = servers.firstIndex(where: { $0.core.id == message.to }) {
                servers[position].core.agreedIndex = commitIndex
            }
        case (.forgesReadReplies, .heartbeat(_, let round)):
            network.append(
                RaftMessage(
                    group: message.group, from: message.to, to: message.from, term: message.term,
                    body: .heartbeatReply(readRound: round)))
            // As if it came over no network at all.
            if let position = servers.firstIndex(where: { $0.core.id == message.from }) {
                servers[position].core.step(network.removeLast())
            }
        case (.forgesVotes, .vote):
            (message.from, message.to) = (message.to, message.from)
            message.body = .voteReply(granted: true)
        default: break
        }
        network.append(message)
    }
}
