import ChatModel
import EventLoop
import Foundation
import Synchronization

/// A whole run: rooms, bots, sending, waiting until everything has arrived, reading the history, judging.
package final class Swarm: Sendable {
    private let scenario: Scenario
    private let target: SwarmTarget
    private let names: BotNames
    private let progress: @Sendable (RunProgress) -> Void
    private let isInterrupted = Atomic(false)

    /// - Parameter progress: is given the state of the run about twice a second.
    package init(
        scenario: Scenario, target: SwarmTarget, names: BotNames, progress: @escaping @Sendable (RunProgress) -> Void
    ) {
        self.scenario = scenario
        self.target = target
        self.names = names
        self.progress = progress
    }

    /// Ends the sending early; what was sent is still judged. From any thread.
    package func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

    /// - Parameter rooms: existing rooms; empty creates as many as the scenario wants.
    package func run(rooms existing: [RoomID]) async throws -> RunReport {
        let books = try await makeRooms(existing)
        let lanes = try await makeLanes(books)
        do {
            let report = try await run(books, lanes)
            await end(lanes)
            return report
        } catch {
            await end(lanes)
            throw error
        }
    }

    // MARK: - Setting up

    private func makeRooms(_ existing: [RoomID]) async throws(SwarmFailure) -> [RoomBook] {
        guard existing.isEmpty else { return existing.map { RoomBook(room: $0, names: names) } }
        guard let api = target.api else {
            throw SwarmFailure(
                .usage,
                "no admin key to create rooms with: set \(SwarmTarget.adminKeyVariable) and --api, or name existing "
                    + "rooms with --room")
        }
        let creator = RoomCreator(servers: api.servers, adminKey: api.adminKey)
        var books: [RoomBook] = []
        for number in 0..<scenario.rooms {
            guard let room = RoomID("swarm-\(names.run)-\(number)"), let owner = UserID("swarm-\(names.run)") else {
                preconditionFailure("a short tag and a number make a room ID")
            }
            try await creator.create(room, creator: owner, enterExitNotify: scenario.enterExitNotify)
            books.append(RoomBook(room: room, names: names))
        }
        return books
    }

    private func makeLanes(_ books: [RoomBook]) async throws -> [LoopBound<SwarmLane>] {
        guard target.signer != nil || (scenario.anonymousViewers && scenario.senders == 0) else {
            throw SwarmFailure(
                .usage,
                "no key to sign tokens with: set \(SwarmTarget.tokenKidVariable) and \(SwarmTarget.tokenSecretVariable)"
            )
        }
        var lanes: [LoopBound<SwarmLane>] = []
        for number in 0..<scenario.loops {
            let loop = try EventLoop(name: "swarm-\(number)")
            loop.start()
            let (scenario, names, target) = (scenario, names, target)
            lanes.append(
                await loop.run {
                    LoopBound(
                        onLoop: SwarmLane(loop: loop, scenario: scenario, names: names, target: target), loop: loop)
                })
        }
        for lane in lanes.indices {
            let ids = stride(from: lane, to: scenario.bots, by: lanes.count).map(BotID.init)
            let senders = scenario.senders
            let bound = lanes[lane]
            await bound.loop.run {
                for id in ids {
                    let book = books[id.number % books.count]
                    let viewer = book.ledger.withLock { $0.add(id) }
                    bound.value.add(id, book, viewer, isSender: id.number < senders)
                }
            }
        }
        return lanes
    }

    private func end(_ lanes: [LoopBound<SwarmLane>]) async {
        for lane in lanes { await lane.loop.run { lane.value.leave() } }
        // A moment for the close frames.
        try? await Task.sleep(for: .milliseconds(200))
        for lane in lanes {
            lane.loop.shutdown()
            await lane.loop.joined()
        }
    }

    // MARK: - The run

    private func run(_ books: [RoomBook], _ lanes: [LoopBound<SwarmLane>]) async throws -> RunReport {
        let clock = ContinuousClock()
        try await ramp(lanes, clock)
        var report = RunReport(scenario: scenario, run: names.run, rooms: books.map(\.room.text))

        let sendingBegan = clock.now
        let before = await count(lanes)
        let share = 1 / Double(lanes.count)
        for lane in lanes {
            await lane.loop.run {
                lane.value.startSending()
                lane.value.startFaults(share: share)
            }
        }
        await wait(until: sendingBegan + .seconds(scenario.seconds), .sending, lanes) {
            self.isInterrupted.load(ordering: .relaxed)
        }
        for lane in lanes { await lane.loop.run { lane.value.stopSending() } }
        let after = await count(lanes)
        report.sendingSeconds = Self.seconds(clock.now - sendingBegan)
        report.acked = after.acked - before.acked
        report.delivered = after.delivered - before.delivered

        await wait(until: clock.now + .seconds(scenario.drainSeconds), .draining, lanes) {
            await self.isSettled(books, lanes)
        }
        for lane in lanes { await lane.loop.run { lane.value.noteUnanswered() } }
        await readHistories(books, lanes, clock)

        report.counters = await count(lanes)
        for lane in lanes { report.latencies.add(await lane.loop.run { lane.value.latencies }) }
        for book in books {
            let (findings, totals) = book.ledger.withLock { ledger in
                ledger.close()
                return (ledger.findings, ledger.totals)
            }
            report.findings.add(findings)
            report.totals.add(totals)
        }
        report.lastFailure = await lastFailure(lanes)
        return report
    }

    private func ramp(_ lanes: [LoopBound<SwarmLane>], _ clock: ContinuousClock) async throws(SwarmFailure) {
        let rate = scenario.rampPerSecond / Double(lanes.count)
        for lane in lanes { await lane.loop.run { lane.value.ramp(perSecond: rate) } }
        let rampSeconds = Double(scenario.bots) / scenario.rampPerSecond
        let deadline = clock.now + .seconds(rampSeconds + Self.entrySeconds)
        // Somebody must have got through after this time, else nobody is there.
        let firstContact = clock.now + .seconds(Self.firstContactSeconds)
        await wait(until: deadline, .entering, lanes) {
            if self.isInterrupted.load(ordering: .relaxed) { return true }
            let counters = await self.count(lanes)
            return counters.here + counters.stopped >= self.scenario.bots
                || (counters.connected == 0 && clock.now > firstContact)
        }
        let counters = await count(lanes)
        if counters.connected == 0 {
            let failure = await lastFailure(lanes) ?? "no answer"
            throw SwarmFailure(.unreachable, "no bot could connect: \(failure)")
        }
    }

    private func lastFailure(_ lanes: [LoopBound<SwarmLane>]) async -> String? {
        for lane in lanes {
            if let failure = await lane.loop.run({ lane.value.lastFailure }) { return failure }
        }
        return nil
    }

    /// Whether everybody is back and nothing is on its way.
    private func isSettled(_ books: [RoomBook], _ lanes: [LoopBound<SwarmLane>]) async -> Bool {
        let counters = await count(lanes)
        guard counters.outstanding == 0, counters.here + counters.stopped >= scenario.bots else { return false }
        return books.allSatisfy { book in book.ledger.withLock { $0.isSettled() } }
    }

    private func readHistories(_ books: [RoomBook], _ lanes: [LoopBound<SwarmLane>], _ clock: ContinuousClock) async {
        let messages = books.reduce(0) { sum, book in sum + book.ledger.withLock { $0.lastSeq } }
        let seconds = Self.historySeconds + Double(messages) / Self.historyMessagesPerSecond
        await wait(until: clock.now + .seconds(seconds), .reading, lanes) {
            for lane in lanes { await lane.loop.run { lane.value.audit() } }
            // Nobody is left to read it.
            if await self.count(lanes).stopped >= self.scenario.bots { return true }
            return books.allSatisfy { book in book.audit.withLock { $0.stage == .done } }
        }
        for book in books where book.audit.withLock({ $0.stage != .done }) {
            book.ledger.withLock { $0.noteHistoryUnread() }
        }
    }

    private func count(_ lanes: [LoopBound<SwarmLane>]) async -> LaneCounters {
        var sum = LaneCounters()
        for lane in lanes { sum.add(await lane.loop.run { lane.value.count() }) }
        return sum
    }

    /// Waits for the deadline or until `isDone`, and reports progress meanwhile.
    private func wait(
        until deadline: ContinuousClock.Instant, _ phase: RunProgress.Phase, _ lanes: [LoopBound<SwarmLane>],
        _ isDone: () async -> Bool
    ) async {
        var nextReport = ContinuousClock.now
        while ContinuousClock.now < deadline {
            if ContinuousClock.now >= nextReport {
                nextReport = ContinuousClock.now + .milliseconds(500)
                let left = Self.seconds(deadline - ContinuousClock.now)
                let counters = await count(lanes)
                progress(RunProgress(phase: phase, counters: counters, bots: scenario.bots, secondsLeft: left))
            }
            if await isDone() { return }
            let pause = min(Duration.milliseconds(100), deadline - ContinuousClock.now)
            try? await Task.sleep(for: pause)
        }
    }

    static func seconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    private static let entrySeconds = 60.0
    private static let firstContactSeconds = 12.0
    private static let historySeconds = 30.0
    /// One bot reads 20 pages of 100 a second (contract, "Rates").
    private static let historyMessagesPerSecond = 1_000.0
}
