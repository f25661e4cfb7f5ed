import ChatModel
import EventLoop
import Synchronization

/// The phases of a run, one after the other.
struct SwarmPhases {
    let swarm: Swarm
    let books: [RoomBook]
    let lanes: [LoopBound<SwarmLane>]
    let areNew: Bool
    private let clock = ContinuousClock()

    init(swarm: Swarm, books: [RoomBook], lanes: [LoopBound<SwarmLane>], areNew: Bool) {
        self.swarm = swarm
        self.books = books
        self.lanes = lanes
        self.areNew = areNew
    }

    private var scenario: Scenario { swarm.scenario }
    private var ownBots: Int {
        (0..<scenario.bots).count { swarm.part.has(BotID($0), rooms: scenario.rooms) }
    }

    func run() async throws -> RunReport {
        var report = RunReport(scenario: scenario, run: swarm.names.run, rooms: books.map(\.room.text))
        report.workers = swarm.part.count
        report.enteringSeconds = try await ramp()
        try await swarm.conductor.reach(.entered)
        try await stages(&report)
        try await collect()
        for lane in lanes { await lane.loop.run { lane.value.noteUnanswered() } }
        try await swarm.conductor.reach(.settled)
        await countPeople()
        await readHistories()
        report.counters = await count()
        for lane in lanes { report.latencies.add(await lane.loop.run { lane.value.latencies }) }
        for book in books {
            let (findings, totals) = book.ledger.withLock { ledger in
                ledger.close()
                return (ledger.findings, ledger.totals)
            }
            report.findings.add(findings)
            report.totals.add(totals)
        }
        report.lastFailure = await lastFailure()
        report.timeline = swarm.recorder.timeline
        report.marks = swarm.recorder.marks
        return report
    }

    // MARK: - Entering

    /// - Returns: how long it took until all were in.
    private func ramp() async throws(SwarmFailure) -> Double {
        let (bots, parts) = (ownBots, Double(swarm.part.count))
        let rate = scenario.rampPerSecond / parts / Double(lanes.count)
        let entering = max(1, scenario.enteringMax / swarm.part.count / lanes.count)
        swarm.recorder.mark("entering")
        let began = clock.now
        for lane in lanes { await lane.loop.run { lane.value.ramp(perSecond: rate, enteringMax: entering) } }
        let rampSeconds = scenario.rampPerSecond > 0 ? Double(scenario.bots) / scenario.rampPerSecond : 0
        let deadline = clock.now + .seconds(rampSeconds + Self.entrySeconds + Double(bots) / Self.leastEntriesPerSecond)
        // Somebody must have got through after this time, else nobody is there.
        let firstContact = clock.now + .seconds(Self.firstContactSeconds)
        let allCame = await wait(until: deadline, "entering") {
            if swarm.wasInterrupted { return true }
            let counters = await count()
            return counters.here + counters.stopped >= bots || (counters.connected == 0 && clock.now > firstContact)
        }
        swarm.recorder.endMark(allWereBack: allCame)
        if bots > 0, await count().connected == 0 {
            throw SwarmFailure(.unreachable, "no bot could connect: \(await lastFailure() ?? "no answer")")
        }
        return (clock.now - began).inSeconds
    }

    // MARK: - Stages

    private func stages(_ report: inout RunReport) async throws {
        let share = 1 / Double(lanes.count * swarm.part.count)
        let (began, before, bots) = (clock.now, await count(), ownBots)
        for (number, stage) in scenario.stages.enumerated() {
            try await swarm.conductor.reach(.stage(number))
            if swarm.wasInterrupted { continue }
            swarm.recorder.mark(stage.name)
            for lane in lanes { await lane.loop.run { lane.value.begin(stage, share: share) } }
            let stageBegan = clock.now
            let allAreBack = await wait(until: clock.now + .seconds(stage.seconds), stage.name) {
                guard !swarm.wasInterrupted else { return true }
                guard stage.endsWhenAllAreBack, clock.now - stageBegan > Self.cutTakes else { return false }
                let counters = await count()
                return counters.here + counters.stopped >= bots
            }
            for lane in lanes { await lane.loop.run { lane.value.endStage() } }
            swarm.recorder.endMark(allWereBack: allAreBack || !stage.endsWhenAllAreBack)
        }
        let after = await count()
        report.sendingSeconds = (clock.now - began).inSeconds
        report.acked = after.acked - before.acked
        report.delivered = after.delivered - before.delivered
    }

    /// Waits until everybody is back and everything has arrived, also what other workers' bots have sent.
    private func collect() async throws {
        swarm.recorder.mark("draining")
        let deadline = clock.now + .seconds(scenario.drainSeconds)
        let bots = ownBots
        await wait(until: deadline, "draining") {
            for lane in lanes { await lane.loop.run { lane.value.lift() } }
            let counters = await count()
            return counters.outstanding == 0 && counters.here + counters.stopped >= bots
        }
        try await swarm.conductor.reach(.sent)
        var statements: [Int: [MessageStatement]] = [:]
        for book in books where swarm.part.count > 1 {
            statements[book.number] = book.ledger.withLock { $0.statements }
        }
        let books = books
        try await swarm.conductor.exchange(statements) { number, statements in
            guard books.indices.contains(number) else { return }
            books[number].ledger.withLock { ledger in
                for statement in statements { ledger.hear(statement) }
            }
        }
        await wait(until: max(deadline, clock.now + Self.settlingTakes), "draining") { await isSettled(bots) }
        swarm.recorder.endMark(allWereBack: true)
    }

    /// Whether everybody is back and nothing is on its way.
    private func isSettled(_ bots: Int) async -> Bool {
        let counters = await count()
        guard counters.outstanding == 0, counters.here + counters.stopped >= bots else { return false }
        return books.allSatisfy { book in book.ledger.withLock { $0.isSettled() } }
    }

    // MARK: - The end

    /// How many a room says that are in it has to be right within the grace, when nobody comes or goes any more.
    private func countPeople() async {
        guard areNew, scenario.isCounted, await count().stopped == 0 else { return }
        func isRight(_ book: RoomBook) -> Bool { book.online.withLock { $0 } == Int64(expectedPeople(book)) }
        let present = Set(
            (0..<scenario.bots).map(BotID.init).filter { swarm.part.has($0, rooms: scenario.rooms) }
                .map { scenario.room(of: $0) })
        let own = books.filter { present.contains($0.number) }
        var nextQuestion = clock.now
        await wait(until: clock.now + Self.countingTakes, "counting") {
            if own.allSatisfy(isRight) { return true }
            guard clock.now >= nextQuestion else { return false }
            nextQuestion = clock.now + .milliseconds(500)
            for lane in lanes { await lane.loop.run { lane.value.askOnline() } }
            return false
        }
        for book in own where !isRight(book) {
            let online = book.online.withLock { $0 }.map { "\($0)" } ?? "no answer"
            book.ledger.withLock { $0.noteMiscount("\(expectedPeople(book)) bots are here, and online is \(online)") }
        }
    }

    private func expectedPeople(_ book: RoomBook) -> Int {
        (scenario.bots - book.number + scenario.rooms - 1) / scenario.rooms
    }

    private func readHistories() async {
        swarm.recorder.mark("reading")
        let messages = books.reduce(0) { sum, book in sum + book.ledger.withLock { $0.lastSeq } }
        let seconds = Self.historySeconds + Double(messages) / Self.historyMessagesPerSecond
        let bots = ownBots
        await wait(until: clock.now + .seconds(seconds), "reading") {
            for lane in lanes { await lane.loop.run { lane.value.audit() } }
            // Nobody is left to read it.
            if await count().stopped >= bots { return true }
            guard books.allSatisfy({ book in isAudited(book) }) else { return false }
            for lane in lanes {
                guard await lane.loop.run({ lane.value.hasReadQueues }) else { return false }
            }
            return true
        }
        for book in books where !isAudited(book) { book.ledger.withLock { $0.noteHistoryUnread() } }
        swarm.recorder.endMark(allWereBack: true)
    }

    /// Whether the room's history was read; of a room without bots of this worker there is nothing to compare.
    private func isAudited(_ book: RoomBook) -> Bool {
        book.audit.withLock { $0.stage == .done } || book.ledger.withLock { $0.viewers.isEmpty }
    }

    // MARK: - Watching

    private func lastFailure() async -> String? {
        for lane in lanes {
            if let failure = await lane.loop.run({ lane.value.lastFailure }) { return failure }
        }
        return nil
    }

    private func count() async -> LaneCounters {
        var sum = LaneCounters()
        for lane in lanes { sum.add(await lane.loop.run { lane.value.count() }) }
        return sum
    }

    /// Waits for the deadline or until `isDone`, and reports progress meanwhile.
    ///
    /// - Returns: whether it was done.
    @discardableResult
    private func wait(
        until deadline: ContinuousClock.Instant, _ phase: String, _ isDone: () async -> Bool
    ) async -> Bool {
        var isFirst = true
        while true {
            if isFirst || swarm.recorder.isDue {
                isFirst = false
                let left = (deadline - clock.now).inSeconds
                let counters = await count()
                let sample = swarm.recorder.isDue ? await takeSample(counters, phase) : nil
                swarm.recorder.show(
                    RunProgress(
                        scenario: scenario.name, phase: phase, counters: counters, bots: ownBots, secondsLeft: left,
                        sample: sample))
            }
            if await isDone() { return true }
            guard clock.now < deadline else { return false }
            try? await Task.sleep(for: min(Duration.milliseconds(100), deadline - clock.now))
        }
    }

    private func takeSample(_ counters: LaneCounters, _ phase: String) async -> TimelineSample {
        var latencies: Latencies.Sample = [:]
        for lane in lanes { Latencies.add(await lane.loop.run { lane.value.latencies.takeSample() }, to: &latencies) }
        return swarm.recorder.note(counters, latencies, phase: phase)
    }

    private static let entrySeconds = 60.0
    private static let leastEntriesPerSecond = 200.0
    private static let firstContactSeconds = 12.0
    /// Until connections that were cut are known to be lost.
    private static let cutTakes = Duration.milliseconds(400)
    /// Messages of others may still be on their way when these say so.
    private static let settlingTakes = Duration.seconds(10)
    /// The grace of those who were dropped, and the interval of counts (PROTOCOL.md, "Resume").
    private static let countingTakes = Duration.seconds(20)
    private static let historySeconds = 30.0
    /// One bot reads 20 pages of 100 a second (PROTOCOL.md, "Rates").
    private static let historyMessagesPerSecond = 1_000.0
}
