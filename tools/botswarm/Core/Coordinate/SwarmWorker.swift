import ChatModel
import Dispatch
import EventLoop
import FoundationEssentials
import Synchronization
import Transport

/// A worker: does its part of a run, in step with the others.
package final class SwarmWorker: Conductor {
    private struct State: Sendable {
        var plan: SwarmPlan?
        var passed: Set<RunPoint> = []
        var hasExchanged = false
        var heard: [(room: Int, statements: [MessageStatement])] = []
        var isDismissed = false
        var failure: String?
    }

    private let loop: EventLoop
    private let state = Mutex(State())
    private let connection = Mutex<LoopBound<LineConnection>?>(nil)
    private let swarm = Mutex<Swarm?>(nil)

    private static let statementsPerLine = 2_000
    private static let pause = Duration.milliseconds(10)

    private init(loop: EventLoop) { self.loop = loop }

    /// Joins a coordinator, does what it says, and reports.
    package static func run(host: String, port: Int, secret: SharedSecret, target: SwarmTarget, openFilesMax: Int)
        async throws
    {
        let loop = try EventLoop(name: "swarm-work")
        loop.start()
        let worker = SwarmWorker(loop: loop)
        do {
            try await worker.join(host, port, secret)
            try await worker.work(target, openFilesMax)
        } catch {
            let text = (error as? SwarmFailure)?.message ?? "\(error)"
            await worker.send(.failed(text))
            try? await Task.sleep(for: .milliseconds(300))
            loop.shutdown()
            await loop.joined()
            throw error
        }
        loop.shutdown()
        await loop.joined()
    }

    // MARK: - The connection

    private func join(_ host: String, _ port: Int, _ secret: SharedSecret) async throws(SwarmFailure) {
        let nonce = SharedSecret.random()
        await loop.run { [self] in
            TCPConnection.connect(loop: loop, host: host, port: port) { [self] result in
                switch result {
                case .failure(let error): fail("the coordinator can't be reached: \(error.message)")
                case .success(let tcp):
                    let line = LineConnection(
                        tcp, receive: { [self] in received($0, secret, nonce) },
                        end: { [self] in ended($0) })
                    connection.withLock { $0 = LoopBound(onLoop: line, loop: loop) }
                }
            }
        }
    }

    private func ended(_ reason: String) {
        fail(
            isWelcome.load(ordering: .relaxed)
                ? "the coordinator is gone: \(reason)"
                : "the coordinator has not taken this worker: another secret, another version, or no place (\(reason))")
    }

    private func received(_ message: SwarmMessage, _ secret: SharedSecret, _ own: String) {
        switch message {
        case .hello(let version, let nonce):
            guard version == SwarmMessage.version else { return fail("the coordinator speaks version \(version)") }
            challenge.withLock { $0 = nonce }
            let name = "\(ProcessInfo.processInfo.hostName)/\(ProcessInfo.processInfo.processIdentifier)"
            reply(
                .join(
                    version: SwarmMessage.version, nonce: own,
                    proof: secret.proof(role: "worker", nonce: nonce, own: own), name: name))
        case .welcome(let proof):
            let nonce = challenge.withLock { $0 }
            guard secret.isProof(proof, role: "coordinator", nonce: own, own: nonce) else {
                return fail("the coordinator does not have the secret")
            }
            isWelcome.store(true, ordering: .relaxed)
        case .clock(let question):
            reply(.time(question: question, nanoseconds: DispatchTime.now().uptimeNanoseconds))
        // Nobody gives orders before having proved who it is.
        case _ where !isWelcome.load(ordering: .relaxed): fail("the coordinator gives orders before it is known")
        case .plan(let plan): state.withLock { $0.plan = plan }
        case .go(let point): state.withLock { _ = $0.passed.insert(point) }
        case .statements(let room, let statements): state.withLock { $0.heard.append((room, statements)) }
        case .exchanged: state.withLock { $0.hasExchanged = true }
        case .stop: swarm.withLock { $0?.interrupt() }
        case .bye: state.withLock { $0.isDismissed = true }
        case .join, .time, .reached, .progress, .report, .failed, .stated: break
        }
    }

    private let challenge = Mutex("")
    private let isWelcome = Atomic(false)

    /// On the loop.
    private func reply(_ message: SwarmMessage) { connection.withLock { $0 }?.value.send(message) }

    private func send(_ message: SwarmMessage) async {
        guard let connection = connection.withLock({ $0 }) else { return }
        await loop.run { connection.value.send(message) }
    }

    private func fail(_ text: String) {
        state.withLock { if $0.failure == nil, !$0.isDismissed { $0.failure = text } }
        swarm.withLock { $0?.interrupt() }
    }

    /// Waits until something is so; it is looked at often enough for stages that last seconds.
    private func wait<Value: Sendable>(_ look: (inout State) -> Value?) async throws(SwarmFailure) -> Value {
        while true {
            let (value, failure) = state.withLock { (look(&$0), $0.failure) }
            if let value { return value }
            if let failure { throw SwarmFailure(.unreachable, failure) }
            try? await Task.sleep(for: Self.pause)
        }
    }

    // MARK: - The work

    private func work(_ target: SwarmTarget, _ openFilesMax: Int) async throws {
        let plan = try await wait { $0.plan }
        guard let names = BotNames(run: plan.run) else { throw SwarmFailure(.usage, "the plan has no good run tag") }
        try plan.scenario.check(openFilesMax: openFilesMax, share: plan.part.count)
        let rooms = plan.rooms.compactMap(RoomID.init)
        guard rooms.count == plan.scenario.rooms else {
            throw SwarmFailure(.usage, "the plan's rooms are not its rooms")
        }
        let swarm = Swarm(
            scenario: plan.scenario, target: target, names: names, part: plan.part, conductor: self
        ) { [self] progress in
            let sample = progress.sample.map(WorkerSample.init)
            let note = WorkerProgress(
                phase: progress.phase, counters: progress.counters, bots: progress.bots,
                secondsLeft: progress.secondsLeft, sample: sample)
            guard let connection = connection.withLock({ $0 }) else { return }
            loop.execute { connection.value.send(.progress(note)) }
        }
        self.swarm.withLock { $0 = swarm }
        let report = try await swarm.run(rooms: rooms, areNew: plan.areNew)
        await send(.report(WorkerReport(report)))
        _ = try await wait { $0.isDismissed ? true : nil }
    }

    package func reach(_ point: RunPoint) async throws(SwarmFailure) {
        await send(.reached(point))
        _ = try await wait { $0.passed.contains(point) ? true : nil }
    }

    package func exchange(
        _ statements: [Int: [MessageStatement]], hear: @Sendable (Int, [MessageStatement]) -> Void
    ) async throws(SwarmFailure) {
        for (room, all) in statements.sorted(by: { $0.key < $1.key }) {
            for from in stride(from: 0, to: all.count, by: Self.statementsPerLine) {
                await send(.statements(room: room, Array(all[from..<min(from + Self.statementsPerLine, all.count)])))
            }
        }
        await send(.stated)
        var isOver = false
        while !isOver {
            let heard = try await wait { state -> [(room: Int, statements: [MessageStatement])]? in
                isOver = state.hasExchanged
                guard isOver || !state.heard.isEmpty else { return nil }
                defer { state.heard = [] }
                return state.heard
            }
            for (room, statements) in heard { hear(room, statements) }
        }
    }
}
