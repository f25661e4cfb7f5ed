import ChatModel
import EventLoop
import FoundationEssentials
import Synchronization

/// The coordinator of a run of several processes: makes the rooms, lets the workers begin together, passes on what they
/// state, and puts their reports together.
package final class SwarmCoordinator: Sendable {
    private let loop: EventLoop
    private let desk: LoopBound<CoordinatorDesk>
    private let isInterrupted = Atomic(false)
    /// Where workers join.
    package let port: Int

    private static let joinSeconds = 120.0
    /// After the last thing that a worker has to wait for.
    private static let pause = Duration.milliseconds(100)

    private init(loop: EventLoop, desk: LoopBound<CoordinatorDesk>, port: Int) {
        self.loop = loop
        self.desk = desk
        self.port = port
    }

    /// Listens for `workers`.
    package static func listen(
        host: String, port: Int, workers: Int, secret: SharedSecret
    ) async throws -> SwarmCoordinator {
        let loop = try EventLoop(name: "swarm-lead")
        loop.start()
        let made = await loop.run { () -> Result<(LoopBound<CoordinatorDesk>, Int), SwarmFailure> in
            do {
                let desk = try CoordinatorDesk(loop: loop, host: host, port: port, wanted: workers, secret: secret)
                return .success((LoopBound(onLoop: desk, loop: loop), desk.port))
            } catch {
                return .failure(SwarmFailure(.usage, "\(host):\(port) can't be listened on: \(error)"))
            }
        }
        let (desk, actualPort) = try made.get()
        return SwarmCoordinator(loop: loop, desk: desk, port: actualPort)
    }

    /// Ends the sending early. From any thread.
    package func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

    /// - Parameter rooms: existing ones; empty makes those of the scenario.
    package func run(
        _ scenario: Scenario, target: SwarmTarget, names: BotNames, rooms existing: [RoomID],
        progress: @escaping @Sendable (RunProgress) -> Void
    ) async throws -> RunReport {
        do {
            let report = try await lead(scenario, target, names: names, existing: existing, progress: progress)
            await end()
            return report
        } catch {
            await end()
            throw error
        }
    }

    private func lead(
        _ scenario: Scenario, _ target: SwarmTarget, names: BotNames, existing: [RoomID],
        progress: @Sendable (RunProgress) -> Void
    ) async throws -> RunReport {
        guard existing.isEmpty || !scenario.needsNewRooms else {
            throw SwarmFailure(.usage, "\(scenario.name) makes its own rooms")
        }
        let deadline = ContinuousClock.now + .seconds(Self.joinSeconds)
        while await !loop.run({ self.desk.value.isComplete }) {
            try await check()
            guard ContinuousClock.now < deadline, !isInterrupted.load(ordering: .relaxed) else {
                let count = await loop.run { self.desk.value.workers.count }
                throw SwarmFailure(.unreachable, "only \(count) workers have joined")
            }
            try? await Task.sleep(for: Self.pause)
        }
        let rooms = existing.isEmpty ? try await RoomMaker(scenario, target, names).make() : existing
        let plan = SwarmPlan(
            scenario: scenario, run: names.run, rooms: rooms.map(\.text), areNew: existing.isEmpty, part: WorkerPart())
        await loop.run { self.desk.value.hand(plan) }
        try await watch(scenario, progress)
        var report = RunReport(scenario: scenario, run: names.run, rooms: plan.rooms)
        let parts = await loop.run { self.desk.value.workers.compactMap(\.report) }
        report.workers = parts.count
        for part in parts { report.merge(part) }
        return report
    }

    /// Shows what the workers do until all have reported.
    private func watch(_ scenario: Scenario, _ progress: @Sendable (RunProgress) -> Void) async throws {
        var hasStopped = false
        while await !loop.run({ self.desk.value.workers.allSatisfy { $0.report != nil } }) {
            try await check()
            if isInterrupted.load(ordering: .relaxed), !hasStopped {
                hasStopped = true
                await loop.run { self.desk.value.notify(.stop) }
            }
            if let state = await loop.run({ self.desk.value.progress(scenario) }) { progress(state) }
            try? await Task.sleep(for: Self.pause * 3)
        }
    }

    private func check() async throws {
        if let failure = await loop.run({ self.desk.value.failure }) { throw SwarmFailure(.unreachable, failure) }
    }

    private func end() async {
        await loop.run { self.desk.value.close() }
        // A moment for the last lines.
        try? await Task.sleep(for: .milliseconds(200))
        loop.shutdown()
        await loop.joined()
    }
}
