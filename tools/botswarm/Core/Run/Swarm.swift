import ChatModel
import EventLoop
import FoundationEssentials
import Synchronization

/// A whole run, or a worker's part of it: rooms, bots, the stages, waiting until everything has arrived, reading the
/// history, judging.
package final class Swarm: Sendable {
    let scenario: Scenario
    let target: SwarmTarget
    let names: BotNames
    let part: WorkerPart
    let conductor: any Conductor
    let recorder: RunRecorder
    private let isInterrupted = Atomic(false)

    /// - Parameters:
    ///   - part: which bots are this process's.
    ///   - progress: is given the state of the run about twice a second.
    package init(
        scenario: Scenario, target: SwarmTarget, names: BotNames, part: WorkerPart = WorkerPart(),
        conductor: any Conductor = Alone(), progress: @escaping @Sendable (RunProgress) -> Void
    ) {
        self.scenario = scenario
        self.target = target
        self.names = names
        self.part = part
        self.conductor = conductor
        recorder = RunRecorder(progress: progress)
    }

    /// Ends the sending early; what was sent is still judged. From any thread.
    package func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

    var wasInterrupted: Bool { isInterrupted.load(ordering: .relaxed) }

    /// - Parameter existing: existing rooms; empty creates as many as the scenario wants.
    package func run(rooms existing: [RoomID]) async throws -> RunReport {
        guard existing.isEmpty || !scenario.needsNewRooms else {
            throw SwarmFailure(
                .usage, "\(scenario.name) makes its own rooms: it follows all that happens in them from the beginning")
        }
        let rooms = existing.isEmpty ? try await RoomMaker(scenario, target, names).make() : existing
        return try await run(rooms: rooms, areNew: existing.isEmpty)
    }

    /// - Parameter areNew: whether the rooms were made for this run.
    package func run(rooms: [RoomID], areNew: Bool) async throws -> RunReport {
        let books = rooms.enumerated().map { RoomBook(room: $1, number: $0, ledger: ledger(of: $1, $0, areNew)) }
        let lanes = try await makeLanes(books)
        do {
            let report = try await SwarmPhases(swarm: self, books: books, lanes: lanes, areNew: areNew).run()
            await end(lanes)
            return report
        } catch {
            await end(lanes)
            throw error
        }
    }

    // MARK: - Setting up

    private func ledger(of room: RoomID, _ number: Int, _ isNew: Bool) -> RoomLedger {
        let others =
            part.count == 1
            ? nil
            : OtherBots(
                bots: scenario.bots, rooms: scenario.rooms, room: number, bytes: scenario.bytes,
                clockErrorNanoseconds: part.clockErrorNanoseconds)
        let people = (scenario.bots - number + scenario.rooms - 1) / scenario.rooms
        var ledger = RoomLedger(
            room: room, names: names, others: others, replays: isNew && scenario.needsNewRooms,
            budget: isNew ? BudgetRule(unlimitedUpTo: scenario.budgetUnlimitedUpTo, people: people) : nil)
        ledger.managers = Set(
            (0..<scenario.managers).map { BotID(scenario.bots - 1 - $0) }.filter { scenario.room(of: $0) == number }
                .map(names.user))
        return ledger
    }

    private func makeLanes(_ books: [RoomBook]) async throws -> [LoopBound<SwarmLane>] {
        guard target.signer != nil || (scenario.anonymousViewers && scenario.senders + scenario.managers == 0) else {
            throw SwarmFailure(
                .usage,
                "no key to sign tokens with: set \(SwarmTarget.tokenKidVariable) and \(SwarmTarget.tokenSecretVariable)"
            )
        }
        var lanes: [LoopBound<SwarmLane>] = []
        let clock = SwarmClock(offsetNanoseconds: part.clockOffsetNanoseconds)
        for number in 0..<scenario.loops {
            let loop = try EventLoop(name: "swarm-\(number)")
            loop.start()
            let (scenario, names, target, isShared) = (scenario, names, target, part.count > 1)
            lanes.append(
                await loop.run {
                    LoopBound(
                        onLoop: SwarmLane(
                            loop: loop, scenario: scenario, names: names, target: target, clock: clock,
                            isShared: isShared),
                        loop: loop)
                })
        }
        let own = (0..<scenario.bots).map(BotID.init).filter { part.has($0, rooms: scenario.rooms) }
        for lane in lanes.indices {
            let ids = stride(from: lane, to: own.count, by: lanes.count).map { own[$0] }
            let bound = lanes[lane]
            let scenario = scenario
            await bound.loop.run {
                for id in ids {
                    let book = books[scenario.room(of: id)]
                    let viewer = book.ledger.withLock { $0.add(id) }
                    bound.value.add(id, book, viewer)
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
}
