import ChatModel
import EventLoop
import FoundationEssentials
import Wire

/// The bots of one event loop, and what they share. Lives on that loop.
final class SwarmLane {
    let loop: EventLoop
    let scenario: Scenario
    let clock: SwarmClock
    /// Whether other workers have bots of this run.
    let isShared: Bool
    let sightings: SightingReader
    var counters = LaneCounters()
    var latencies = Latencies()
    var frames: FrameReader
    var random = SystemRandomNumberGenerator()
    /// When the bytes being handled were read.
    var readTime: SwarmInstant
    /// Whether slow ones are slow in the present stage, and how many of its messages are not kept.
    private(set) var isSlowStage = false
    private(set) var unkeptPercent = 0
    /// Bots with something to write at the end of the turn.
    var dirty: [Bot] = []
    /// The last thing that went wrong with a connection, for the message when nothing works.
    private(set) var lastFailure: String?
    private(set) var bots: [Bot] = []
    private let gateways: [WebSocketAddress]
    private let signer: TokenSigner?
    private var sources: [SourceAddresses]
    private var nextToStart = 0
    private var rampTimer: LoopTimer?
    private var paceTimer: LoopTimer?
    private var happenings: [Happening] = []
    private var tickTimer: LoopTimer?
    private var senders: [Bot] = []
    private var users: [Bot] = []
    private var managers: [Bot] = []
    private var slowOnes: [Bot] = []

    init(
        loop: EventLoop, scenario: Scenario, names: BotNames, target: SwarmTarget, clock: SwarmClock, isShared: Bool
    ) {
        self.loop = loop
        self.scenario = scenario
        self.clock = clock
        self.isShared = isShared
        readTime = clock.now
        sightings = SightingReader(names: names)
        frames = FrameReader(sightings: sightings)
        gateways = target.gateways
        signer = target.signer
        sources = target.gateways.map { SourceAddresses(target: $0.host) }
        loop.addTurnEnd(.flush) { [unowned self] in
            while let bot = dirty.popLast() { bot.flush() }
        }
        tickTimer = loop.schedule(
            afterMilliseconds: Self.tickMilliseconds, repeatingMilliseconds: Self.tickMilliseconds
        ) { [unowned self] in
            let now = clock.now
            for bot in bots { bot.tick(now) }
            if isSlowStage, scenario.slowOnesRead { trickle() }
        }
    }

    func add(_ id: BotID, _ book: RoomBook, _ viewer: RoomLedger.Viewer) {
        let bot = Bot(id: id, user: sightings.names.user(of: id), book: book, viewer: viewer, lane: self)
        bots.append(bot)
        if scenario.isSender(id) { senders.append(bot) }
        if bot.isManager { managers.append(bot) }
        if bot.isSlow { slowOnes.append(bot) }
        if !bot.isAnonymous { users.append(bot) }
    }

    // MARK: - Entering

    /// Starts the bots, so many a second; 0 is as fast as they get in, with at most `enteringMax` on their way.
    func ramp(perSecond: Double, enteringMax: Int) {
        var due = 0.0
        rampTimer = loop.schedule(
            afterMilliseconds: 0, repeatingMilliseconds: Self.rampMilliseconds
        ) { [unowned self] in
            due =
                perSecond > 0
                ? due + perSecond * Double(Self.rampMilliseconds) / 1000 : Double(enteringMax - countEntering())
            while due >= 1, nextToStart < bots.count {
                due -= 1
                bots[nextToStart].connect()
                nextToStart += 1
            }
            if nextToStart == bots.count { rampTimer?.cancel() }
        }
    }

    private func countEntering() -> Int { bots[..<nextToStart].reduce(0) { $0 + ($1.isEntering ? 1 : 0) } }

    // MARK: - Stages

    /// Begins a stage.
    ///
    /// - Parameter share: this lane's part of what is to happen in all.
    func begin(_ stage: Stage, share: Double) {
        isSlowStage = stage.isSlow
        unkeptPercent = stage.unkeptPercent
        let now = clock.now
        for bot in senders { bot.startSpeaking(stage, now) }
        paceTimer = loop.schedule(
            afterMilliseconds: 0, repeatingMilliseconds: Self.paceMilliseconds
        ) { [unowned self] in
            let now = clock.now
            for bot in senders { bot.speak(now) }
            happen(now)
        }
        if stage.isSlow { for bot in slowOnes where bot.isHere { bot.stopReading() } }
        cut(percent: stage.cutPercent)
        let stallMilliseconds = UInt64(stage.stallSeconds * 1000)
        happenings = [
            Happening(stage.cutsPerSecond * share, now) { [unowned self] in
                if let bot = bots.randomElement(using: &random), bot.isHere { bot.drop() }
            },
            Happening(stage.stallsPerSecond * share, now) { [unowned self] in
                bots.randomElement(using: &random)?.stall(milliseconds: stallMilliseconds)
            },
            Happening(stage.seatRate * share, now) { [unowned self] in
                users.randomElement(using: &random)?.useSeats()
            },
            Happening(stage.moderationRate * share, now) { [unowned self] in moderate() },
            Happening(stage.leaverRate * share, now) { [unowned self] in leaver() },
        ]
    }

    private func happen(_ now: SwarmInstant) {
        for index in happenings.indices { happenings[index].run(now) }
    }

    /// Cuts off a share of all connections at once.
    private func cut(percent: Double) {
        guard percent > 0 else { return }
        let here = bots.filter(\.isHere).shuffled(using: &random)
        for bot in here.prefix(Int((Double(here.count) * percent / 100).rounded(.up))) { bot.drop() }
    }

    /// Mostly a manager does something, sometimes somebody tries who may not.
    private func moderate() {
        let isAttempt = Int.random(in: 0..<100, using: &random) < 8
        (isAttempt ? senders : managers).randomElement(using: &random)?.moderate()
    }

    /// Somebody goes and comes back: by `exit`, or by a lost connection within or beyond the grace.
    private func leaver() {
        guard let bot = users.randomElement(using: &random), !bot.isManager else { return }
        switch Int.random(in: 0..<100, using: &random) {
        case ..<50: bot.leave(byExit: true, milliseconds: UInt64.random(in: 1_000...5_000, using: &random))
        case ..<80: bot.leave(byExit: false, milliseconds: UInt64.random(in: 500...3_000, using: &random))
        default: bot.leave(byExit: false, milliseconds: UInt64.random(in: 15_000...18_000, using: &random))
        }
    }

    /// Slow ones that read a little read for a moment each second.
    private func trickle() {
        for bot in slowOnes where bot.isHere {
            bot.readOn()
            bot.after(milliseconds: Self.trickleMilliseconds) { [weak self, weak bot] in
                if self?.isSlowStage == true { bot?.stopReading() }
            }
        }
    }

    /// Ends the stage; sanctions stay until ``lift()``.
    func endStage() {
        paceTimer?.cancel()
        happenings = []
        for bot in senders { bot.finishSpeaking() }
        if isSlowStage {
            isSlowStage = false
            for bot in slowOnes { bot.readOn() }
        }
    }

    /// Managers undo a little of what they did.
    func lift() {
        for bot in managers { bot.lift() }
    }

    /// A random bot that speaks in a room, of any worker.
    func randomSender(inRoom number: Int) -> BotID? {
        let count = (scenario.senders - number + scenario.rooms - 1) / scenario.rooms
        guard count > 0 else { return nil }
        return BotID(number + Int.random(in: 0..<count, using: &random) * scenario.rooms)
    }

    // MARK: - The end

    /// Asks how many are in the room, of one bot for each room.
    func askOnline() {
        var asked: Set<Int> = []
        for bot in bots where bot.isHere && asked.insert(bot.book.number).inserted && bot.pending.isEmpty {
            bot.request(.room(RoomNameRequest(room: bot.book.room)), .online)
        }
    }

    /// Whether everybody who may has read the queue.
    var hasReadQueues: Bool {
        !scenario.hasSeats || users.allSatisfy { $0.isStopped || $0.hasReadQueue }
    }

    /// Lets every bot that is in its room take a part in reading the history.
    func audit() {
        for bot in bots { bot.audit() }
    }

    func noteUnanswered() {
        for bot in bots { bot.noteUnanswered() }
    }

    /// Everybody goes.
    func leave() {
        rampTimer?.cancel()
        paceTimer?.cancel()
        tickTimer?.cancel()
        happenings = []
        for bot in bots { bot.leave() }
        // They hold connections that hold them.
        bots = []
        senders = []
        users = []
        managers = []
        slowOnes = []
        dirty = []
    }

    /// The numbers so far.
    func count() -> LaneCounters {
        var result = counters
        result.outstanding = bots.reduce(0) { sum, bot in
            sum + bot.pending.count + bot.fetches.count + bot.delayedFetches + bot.lifts.count
                + (bot.isHere ? bot.unanswered.count : 0)
        }
        return result
    }

    // MARK: - For bots

    func note(failure: String) { lastFailure = failure }

    func randomBytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            withUnsafeBytes(of: random.next() as UInt64) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }

    /// Where a bot connects to, and from where: another node each time.
    /// - Parameter number: of the connection: each goes to the node behind that of the one before.
    func nextRoute(for bot: Bot, _ number: Int) -> (WebSocketAddress, source: String?) {
        let index = (bot.id.number + number) % gateways.count
        return (gateways[index], sources[index].next())
    }

    func token(for user: UserID) -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return signer?.token(for: user, issuedAt: now, expiresAt: now + Self.tokenSeconds) ?? ""
    }

    private static let tokenSeconds: Int64 = 3_600
    private static let rampMilliseconds: UInt64 = 10
    private static let paceMilliseconds: UInt64 = 5
    private static let trickleMilliseconds: UInt64 = 5
    private static let tickMilliseconds: UInt64 = 1_000
}
