import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import LogStore
import Logging
import RoomCore
import Replication
import RoomProtocol
import Telemetry
import Webhooks
import Wire

/// All shards of one loop, driven by its turns.
final class LoopHost {
    let loop: EventLoop
    private(set) var shards: [ShardID: ShardHost] = [:]
    /// The shards that have work for the end of this turn. Those in which nothing happens cost a turn nothing.
    private var working: [ShardHost] = []
    private let driver: LogDriver
    private let outbox: Outbox
    private var waitingCalls = WaitingCalls()
    private var isTaking = false
    private let context: RoomContext
    /// Shards take turns, so that their syncs don't come all at once and hold up the log's.
    private var nextCheckpoint = 0
    private var secondsSinceCleaning = 0
    private let checkpointSeconds: Int
    private var reportedActive = 0
    private var reportedReplicated = 0
    private var firstReplicating = 0
    /// The shards whose rooms are still to be looked at, for what is due at that time.
    private var look: (shards: [ShardHost], time: Timestamp, isChecked: Bool) = ([], Timestamp(0), false)
    private var checksLook = false
    private var pace = ProposalPace()
    private var paceTimer: LoopTimer?
    /// The rounds that may not be committed yet: the shards of which they have commands, and the last entry of each.
    private var onTheWay: [(shard: ShardHost, index: UInt64)] = []
    /// When lanes are told what is believed of them, by shard.
    private var pulses = PulseTimes()
    /// Some may be due this turn.
    private var isPulseDue = false
    /// Lanes that want to know it room by room.
    private var tallyRequests: [(NodeID, TallyRequest)] = []

    /// The demands of the app's callbacks on the rooms of this loop.
    var callbacks: LoopCallbacks { context.callbacks.value }

    init(
        context: RoomContext, store: LogStore, transport: any ConsensusTransport, checkpointSeconds: Int
    ) {
        loop = context.loop
        self.context = context
        self.checkpointSeconds = checkpointSeconds
        // The driver of the system group tells, which each node has once.
        driver = LogDriver(
            loop: context.loop, store: store, transport: transport, logger: context.logger, tellsOfStore: false)
        outbox = Outbox(sink: context.sink)
    }

    /// Opens a shard. Throws `RaftError` when its log contradicts itself, or its files are older than that.
    func add(
        _ shard: ShardID, server: ServerID, store: LogStore, storage: ShardStorage, entriesRetained: UInt64
    ) throws(RaftError) {
        let log = try GroupLog(
            group: GroupID(shard.number), server: server, store: store, loop: loop, appliedIndex: storage.appliedIndex,
            installed: storage.installedMark.flatMap { try? SnapshotMark(decoding: $0) },
            entriesRetained: entriesRetained, figures: context.figures.shard(shard),
            refusedTerms: context.refusedTerms)
        // The log lets entries go, and counts them as applied, only when the shard's files on disk have them.
        guard log.appliedIndex <= storage.appliedIndex else {
            throw RaftError(
                .corruptLog,
                "the files of shard \(shard.number), in \(storage.directory), are missing or older than the log: they have "
                    + "what entry \(storage.appliedIndex) made, and the log goes on behind \(log.appliedIndex)")
        }
        let host = ShardHost(
            shard: shard, log: log, storage: storage, context: context, outbox: outbox,
            onWork: { [unowned self] shard in working.append(shard) })
        // A later leader does not answer calls to a former one: lanes have to announce their sessions to it first.
        host.willChangeLeadership = { [unowned self] in if !isTaking { takeCalls(untilNanoseconds: .max) } }
        shards[shard] = host
        driver.add(log)
    }

    /// Begins to take part in the loop's turns.
    func start() {
        pulses = PulseTimes(shards.keys, at: loop.nowMilliseconds)
        loop.addTurnEnd(.propose) { [unowned self] in
            noteCommitted()
            takeCalls(untilNanoseconds: EventLoop.nowNanoseconds + EventLoop.shareNanoseconds)
            propose()
            driver.pump()
            noteCommitted()
        }
        loop.addTurnEnd(.publish) { [unowned self] in
            // Twice the share: in a storm of enters their answers are what everybody waits for.
            publish(untilNanoseconds: EventLoop.nowNanoseconds + 2 * EventLoop.shareNanoseconds)
        }
        loop.every(milliseconds: 1000) { [unowned self] in everySecond() }
        let interval = UInt64(max(10, checkpointSeconds * 1000 / max(1, shards.count)))
        // Together with the other timers, where that makes it only a little more often.
        loop.every(milliseconds: interval < 100 ? interval : interval / 100 * 100) { [unowned self] in
            checkpointNext()
        }
        loop.every(milliseconds: 100) { [unowned self] in
            isPulseDue = true
            for shard in shards.values {
                shard.closeBarrageWindows()
                shard.publishTotals()
                shard.tickReplica()
            }
            replicatePresence()
            beginLook()
        }
    }

    /// The link is not given more than it carries beside everything else: 2.5 MB a second of each loop, 16,000 sessions
    /// of usual size. Each time another shard comes first.
    private func replicatePresence() {
        var bytes = 256 << 10
        let behind = shards.values.filter(\.presenceSender.isBehind)
        firstReplicating += 1
        for place in behind.indices {
            behind[(place + firstReplicating) % behind.count].replicatePresence(bytes: &bytes)
        }
    }

    /// Proposes what is staged, or leaves it to the turn in which the pace allows it.
    private func propose() {
        let commands = working.reduce(0) { $0 + $1.stagedCount }
        guard commands > 0 else { return }
        let now = EventLoop.nowNanoseconds
        guard pace.mayBegin(commands: commands, atNanoseconds: now) else {
            if paceTimer?.isScheduled != true { wakeForRound(at: now) }
            return
        }
        pace.began(atNanoseconds: now)
        onTheWay.removeAll { $0.shard.hasCommitted($0.index) }
        for shard in working {
            if let index = shard.proposeStaged() { onTheWay.append((shard, index)) }
        }
        // Refused, all of it.
        if onTheWay.isEmpty { pace.committed() }
    }

    /// Looks whether the round on its way is committed, and has the next turn propose the commands that wait for that.
    private func noteCommitted() {
        guard !onTheWay.isEmpty, onTheWay.allSatisfy({ round in round.shard.hasCommitted(round.index) }) else { return }
        pace.committed()
        onTheWay.removeAll(keepingCapacity: true)
        if working.contains(where: { $0.stagedCount > 0 }) { loop.executeLater {} }
    }

    /// Schedules a turn for the moment at which the next round may begin.
    private func wakeForRound(at now: UInt64) {
        paceTimer?.cancel()
        paceTimer = loop.schedule(afterMilliseconds: (pace.waitEnd - now + 999_999) / 1_000_000) {}
    }

    func denyHeld(of user: UserID) {
        for shard in shards.values { shard.denyHeld(of: user) }
    }

    func stop() {
        takeCalls(untilNanoseconds: .max)
        publish(untilNanoseconds: .max)
    }

    private func publish(untilNanoseconds end: UInt64) {
        var isLeftOver = false
        // One that gets work from another's turn is behind it in the list.
        var next = 0
        while next < working.count {
            if working[next].publish(untilNanoseconds: end) { isLeftOver = true }
            next += 1
        }
        working.removeAll { !$0.endTurn() }
        assert(!shards.values.contains(where: \.isOverlooked), "a shard has work that nobody has noted")
        outbox.deliver()
        publishTallies()
        if isLeftOver { loop.executeLater {} }
    }

    // MARK: - What lanes are told of themselves

    private func publishTallies() {
        for (node, request) in tallyRequests {
            let lane = Lane(node: node, number: request.lane)
            let tallies =
                shards[request.shard]?.tallies(of: lane, request.part)
                ?? ShardTallies(shard: request.shard, lane: request.lane, term: nil, part: request.part)
            context.sink.notify(tallies, to: node)
        }
        tallyRequests = []
        guard isPulseDue else { return }
        isPulseDue = false
        var led: [ShardNotice] = []
        var tallies: [NodeID: [ShardID: [LaneTally]]] = [:]
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        // Not more than the share of a turn, but one at least: the others have been due for longer the next time.
        for shard in pulses.due(at: loop.nowMilliseconds) where led.isEmpty || EventLoop.nowNanoseconds < end {
            pulses.finish(shard, at: loop.nowMilliseconds)
            guard let pulse = shards[shard]?.pulse() else { continue }
            led.append(pulse.notice)
            for (node, lanes) in pulse.tallies { tallies[node, default: [:]][shard] = lanes }
        }
        if !led.isEmpty { context.sink.pulse(led, tallies) }
    }

    /// A lane of that node asks. One answer a turn and shard is enough: further requests of a turn are left out.
    func receive(_ request: TallyRequest, from node: NodeID) {
        guard tallyRequests.count < Self.tallyRequestsMax, !tallyRequests.contains(where: { $0 == (node, request) })
        else { return }
        tallyRequests.append((node, request))
        loop.executeLater {}
    }

    private static let tallyRequestsMax = 1_024

    /// A lane of that node announces these rooms' sessions anew, behind this.
    func receive(_ recount: LaneRecount, from node: NodeID, _ rooms: [(ShardID, RoomID)]) {
        let lane = Lane(node: node, number: recount.lane)
        let context = context
        for (shard, room) in rooms {
            let work = RoomWork.visit(room) { room in
                let now = context.now()
                room?.onLoop { $0.recount(lane, at: now) }
            }
            waitingCalls.append(work, of: shard)
        }
    }

    /// How many are in each room in memory that is not empty.
    func onlineCounts() -> [RoomID: Int] {
        var counts: [RoomID: Int] = [:]
        for shard in shards.values {
            for room in shard.activeRooms {
                let online = room.onLoop { $0.presence.online }
                if online > 0 { counts[room.id] = online }
            }
        }
        return counts
    }

    /// How many rooms somebody is in, and how many people are in them.
    var onlineTotals: (rooms: Int, online: Int) {
        shards.values.reduce((0, 0)) { ($0.0 + $1.agenda.occupied, $0.1 + $1.agenda.online) }
    }

    /// Consensus messages of other nodes for the shards of this loop.
    func receive(_ messages: [RaftMessage]) { driver.receive(messages) }

    func receive(_ update: PresenceUpdate) { shards[update.shard]?.receive(update) }

    func receive(_ message: ReplicationMessage, from node: NodeID, _ shard: ShardID) {
        shards[shard]?.receive(message, from: node)
    }

    /// A node is connected that was not before.
    func reached(_ node: NodeID) {
        context.lostNodes.value.remove(node)
        driver.reached(node)
        for shard in shards.values { shard.reached(node) }
    }

    /// The connection to a node has ended. Its earlier calls are settled first: a session that enters by them is to be
    /// away then.
    func onNodeLost(_ node: NodeID) {
        takeCalls(untilNanoseconds: .max)
        context.lostNodes.value.insert(node)
        driver.onNodeLost(node)
        for shard in shards.values { shard.onNodeLost(node) }
    }

    /// The shards that this node leads.
    var notices: [ShardNotice] { shards.values.compactMap(\.notice) }

    /// Requests in order; the end of the turn takes them.
    func receive(_ calls: [(ShardID, RoomRequest)]) {
        for (shard, request) in calls { waitingCalls.append(.request(request), of: shard) }
        while waitingCalls.isOverfull { takeSomeCalls() }
    }

    /// Passes calls on to their rooms, those first that have waited to be confirmed, until there are none or the time
    /// is over; then the next turn goes on.
    private func takeCalls(untilNanoseconds end: UInt64) {
        var isLeftOver = false
        for shard in working where shard.takeConfirmed(untilNanoseconds: end) { isLeftOver = true }
        while !waitingCalls.isEmpty {
            takeSomeCalls()
            if end != .max, EventLoop.nowNanoseconds >= end { break }
        }
        if isLeftOver || !waitingCalls.isEmpty { loop.executeLater {} }
    }

    private func takeSomeCalls() {
        isTaking = true
        // Calls that come meanwhile are taken next time.
        for _ in 0..<min(waitingCalls.count, WaitingCalls.callsAtATime) {
            guard let next = waitingCalls.popFirst() else { break }
            shards[next.shard]?.receive(next.work)
        }
        isTaking = false
    }

    func explain(_ room: RoomID, _ shard: ShardID, node: NodeID) -> RoomExplanation {
        var explanation = RoomExplanation(room: room, time: context.now())
        if let host = shards[shard] { explanation.log = host.figures(node: node) }
        return explanation
    }

    private func checkpointNext() {
        let order = shards.keys.sorted()
        guard !order.isEmpty else { return }
        nextCheckpoint = (nextCheckpoint + 1) % order.count
        shards[order[nextCheckpoint]]?.checkpoint()
    }

    private func everySecond() {
        secondsSinceCleaning += 1
        var (active, replicated) = (0, 0)
        for shard in shards.values {
            shard.tick()
            active += shard.activeCount
            replicated += shard.presenceReplica.count
            // Day files go within an hour after their last row has expired (PROTOCOL.md, "History").
            if secondsSinceCleaning >= 600 { shard.storage.removeExpiredFiles() }
        }
        context.figures.activeRooms.add(active - reportedActive)
        context.figures.replicatedSessions.add(replicated - reportedReplicated)
        (reportedActive, reportedReplicated) = (active, replicated)
        if secondsSinceCleaning >= 600 { secondsSinceCleaning = 0 }
        // The rooms of debug builds are all looked at by then.
        checksLook = true
    }

    private func beginLook() {
        // Each shard has its turn before any has its next one.
        guard look.shards.isEmpty else { return }
        look = (Array(shards.values), context.now(), checksLook)
        checksLook = false
        lookAtDueRooms()
    }

    /// A share of a turn at a time.
    private func lookAtDueRooms() {
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        while let shard = look.shards.last,
            shard.lookAtDueRooms(at: look.time, isChecked: look.isChecked, untilNanoseconds: end)
        {
            look.shards.removeLast()
            if EventLoop.nowNanoseconds >= end { break }
        }
        guard !look.shards.isEmpty else { return }
        loop.executeLater { [unowned self] in lookAtDueRooms() }
    }
}
