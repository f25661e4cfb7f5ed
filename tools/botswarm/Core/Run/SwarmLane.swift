import ChatModel
import EventLoop
import Foundation

/// The bots of one event loop, and what they share. Lives on that loop.
final class SwarmLane {
    let loop: EventLoop
    let scenario: Scenario
    let sightings: SightingReader
    var counters = LaneCounters()
    var latencies = Latencies()
    var frames: FrameReader
    var random = SystemRandomNumberGenerator()
    /// When the bytes being handled were read.
    var readTime = SwarmClock.now
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
    private var faultTimer: LoopTimer?
    private var tickTimer: LoopTimer?
    private var senders: [Bot] = []

    init(loop: EventLoop, scenario: Scenario, names: BotNames, target: SwarmTarget) {
        self.loop = loop
        self.scenario = scenario
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
            let now = SwarmClock.now
            for bot in bots { bot.tick(now) }
        }
    }

    func add(_ id: BotID, _ book: RoomBook, _ viewer: RoomLedger.Viewer, isSender: Bool) {
        let bot = Bot(
            id: id, user: sightings.names.user(of: id), isAnonymous: !isSender && scenario.anonymousViewers,
            book: book, viewer: viewer, lane: self, reconnectMaxMilliseconds: scenario.reconnectMaxMilliseconds)
        bots.append(bot)
        if isSender { senders.append(bot) }
    }

    // MARK: - Phases

    /// Starts the bots, so many a second.
    func ramp(perSecond: Double) {
        var due = 0.0
        rampTimer = loop.schedule(
            afterMilliseconds: 0, repeatingMilliseconds: Self.rampMilliseconds
        ) { [unowned self] in
            due += perSecond * Double(Self.rampMilliseconds) / 1000
            while due >= 1, nextToStart < bots.count {
                due -= 1
                bots[nextToStart].connect()
                nextToStart += 1
            }
            if nextToStart == bots.count { rampTimer?.cancel() }
        }
    }

    func startSending() {
        let now = SwarmClock.now
        for bot in senders {
            bot.pacer = Pacer(
                ratePerSecond: scenario.ratePerSender, start: now, phase: Double.random(in: 0..<1, using: &random))
        }
        paceTimer = loop.schedule(
            afterMilliseconds: 0, repeatingMilliseconds: Self.paceMilliseconds
        ) { [unowned self] in
            let now = SwarmClock.now
            for bot in senders { bot.speak(now) }
        }
    }

    /// Cuts off connections of random bots, and lets others stop reading.
    ///
    /// - Parameter share: this lane's part of what the scenario asks for.
    func startFaults(share: Double) {
        let (cuts, stalls) = (scenario.cutsPerSecond * share, scenario.stallsPerSecond * share)
        guard cuts + stalls > 0 else { return }
        var (cutsDue, stallsDue) = (0.0, 0.0)
        let stallMilliseconds = UInt64(scenario.stallSeconds * 1000)
        faultTimer = loop.schedule(
            afterMilliseconds: Self.faultMilliseconds, repeatingMilliseconds: Self.faultMilliseconds
        ) { [unowned self] in
            cutsDue += cuts * Double(Self.faultMilliseconds) / 1000
            stallsDue += stalls * Double(Self.faultMilliseconds) / 1000
            while cutsDue >= 1 {
                cutsDue -= 1
                if let bot = bots.randomElement(using: &random), bot.isHere { bot.drop() }
            }
            while stallsDue >= 1 {
                stallsDue -= 1
                bots.randomElement(using: &random)?.stall(milliseconds: stallMilliseconds)
            }
        }
    }

    func stopSending() {
        paceTimer?.cancel()
        faultTimer?.cancel()
        for bot in senders { bot.finishSpeaking() }
    }

    /// Lets every bot that is in its room take a part in reading the history.
    func audit() {
        for bot in bots { bot.audit() }
    }

    func noteUnanswered() {
        for bot in senders { bot.noteUnanswered() }
    }

    /// Everybody goes.
    func leave() {
        rampTimer?.cancel()
        paceTimer?.cancel()
        faultTimer?.cancel()
        tickTimer?.cancel()
        for bot in bots { bot.leave() }
        // They hold connections that hold them.
        bots = []
        senders = []
        dirty = []
    }

    /// The numbers so far.
    func count() -> LaneCounters {
        var result = counters
        result.outstanding = bots.reduce(0) { sum, bot in
            sum + bot.pending.count + bot.fetches.count + bot.delayedFetches + (bot.isHere ? bot.unanswered.count : 0)
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
    func nextRoute(for bot: Bot) -> (WebSocketAddress, source: String?) {
        let index = (bot.id.number + bot.connectionNumber) % gateways.count
        return (gateways[index], sources[index].next())
    }

    func token(for user: UserID) -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return signer?.token(for: user, issuedAt: now, expiresAt: now + Self.tokenSeconds) ?? ""
    }

    private static let tokenSeconds: Int64 = 3_600
    private static let rampMilliseconds: UInt64 = 10
    private static let paceMilliseconds: UInt64 = 5
    private static let faultMilliseconds: UInt64 = 20
    private static let tickMilliseconds: UInt64 = 1_000
}
