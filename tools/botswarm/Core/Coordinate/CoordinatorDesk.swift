import Dispatch
import EventLoop
import Transport

/// The coordinator's knowledge of its workers. Lives on its loop.
final class CoordinatorDesk {
    /// One of them.
    final class Worker {
        let nonce = SharedSecret.random()
        fileprivate(set) var line: LineConnection?
        fileprivate(set) var name = ""
        fileprivate(set) var hasJoined = false
        fileprivate(set) var clock = ClockComparison()
        fileprivate(set) var reached: Set<RunPoint> = []
        fileprivate(set) var hasStated = false
        fileprivate(set) var progress: WorkerProgress?
        /// The sample of the last second, until it is taken.
        fileprivate var newSample: WorkerSample?
        fileprivate(set) var report: WorkerReport?
        fileprivate var askedAt: UInt64 = 0
    }

    /// Those who have proved that they have the secret, in the order in which they came.
    private(set) var workers: [Worker] = []
    private(set) var failure: String?
    let port: Int
    private let wanted: Int
    private let secret: SharedSecret
    private var strangers: [ObjectIdentifier: Worker] = [:]
    private var listener: TCPListener?
    private var passed: Set<RunPoint> = []
    private var hasExchanged = false
    private var isClosed = false

    /// Connections that have not proved anything yet.
    private static let strangersMax = 64

    init(loop: EventLoop, host: String, port: Int, wanted: Int, secret: SharedSecret) throws(TransportError) {
        self.wanted = wanted
        self.secret = secret
        var accept: (TCPConnection) -> Void = { $0.close() }
        let listener = try TCPListener(loop: loop, host: host, port: port, reusePort: false) { accept($0) }
        self.listener = listener
        self.port = listener.port
        accept = { [unowned self] in welcome($0) }
    }

    var isComplete: Bool {
        workers.count == wanted && workers.allSatisfy { $0.clock.answers >= ClockComparison.questions }
    }

    private func welcome(_ tcp: TCPConnection) {
        guard !isClosed, workers.count < wanted, strangers.count < Self.strangersMax else { return tcp.close() }
        let worker = Worker()
        strangers[ObjectIdentifier(worker)] = worker
        worker.line = LineConnection(
            tcp, receive: { [unowned self, unowned worker] in received($0, from: worker) },
            end: { [unowned self, unowned worker] in lost(worker, $0) })
        worker.line?.send(.hello(version: SwarmMessage.version, nonce: worker.nonce))
    }

    private func lost(_ worker: Worker, _ reason: String) {
        strangers[ObjectIdentifier(worker)] = nil
        guard worker.hasJoined, worker.report == nil, !isClosed else { return }
        fail("worker \(worker.name) is lost: \(reason)")
    }

    private func fail(_ text: String) {
        if failure == nil { failure = text }
        notify(.stop)
    }

    private func received(_ message: SwarmMessage, from worker: Worker) {
        if case .join(let version, let own, let proof, let name) = message, !worker.hasJoined {
            return join(worker, version, own: own, proof: proof, name: name)
        }
        guard worker.hasJoined else {
            worker.line?.close("it has not joined")
            return
        }
        switch message {
        case .time(_, let nanoseconds):
            worker.clock.note(
                askedAt: worker.askedAt, answer: nanoseconds, answeredAt: DispatchTime.now().uptimeNanoseconds)
            askClock(worker)
        case .reached(let point):
            worker.reached.insert(point)
            if workers.count == wanted, workers.allSatisfy({ $0.reached.contains(point) }),
                passed.insert(point).inserted
            {
                notify(.go(point))
            }
        case .statements: for other in workers where other !== worker { other.line?.send(message) }
        case .stated:
            worker.hasStated = true
            if workers.allSatisfy(\.hasStated), !hasExchanged {
                hasExchanged = true
                notify(.exchanged)
            }
        case .progress(let progress):
            if let sample = progress.sample { worker.newSample = sample }
            worker.progress = progress
        case .report(let report): worker.report = report
        case .failed(let text): fail("worker \(worker.name): \(text)")
        case .hello, .welcome, .clock, .plan, .go, .exchanged, .stop, .bye, .join: break
        }
    }

    private func join(_ worker: Worker, _ version: Int, own: String, proof: String, name: String) {
        strangers[ObjectIdentifier(worker)] = nil
        guard version == SwarmMessage.version, workers.count < wanted,
            secret.isProof(proof, role: "worker", nonce: worker.nonce, own: own)
        else {
            worker.line?.close("it does not have the secret, or speaks another version, or is one too many")
            return
        }
        worker.hasJoined = true
        worker.name = String(name.prefix(100))
        workers.append(worker)
        worker.line?.send(.welcome(proof: secret.proof(role: "coordinator", nonce: own, own: worker.nonce)))
        askClock(worker)
    }

    private func askClock(_ worker: Worker) {
        guard worker.clock.answers < ClockComparison.questions else { return }
        worker.askedAt = DispatchTime.now().uptimeNanoseconds
        worker.line?.send(.clock(question: worker.clock.answers))
    }

    func notify(_ message: SwarmMessage) {
        for worker in workers { worker.line?.send(message) }
    }

    /// Hands each worker its plan.
    func hand(_ plan: SwarmPlan) {
        for (index, worker) in workers.enumerated() {
            var plan = plan
            plan.part.index = index
            plan.part.count = workers.count
            (plan.part.clockOffsetNanoseconds, plan.part.clockErrorNanoseconds) = worker.clock.result
            worker.line?.send(.plan(plan))
        }
    }

    /// The progress of all workers together, for the screen.
    func progress(_ scenario: Scenario) -> RunProgress? {
        let notes = workers.compactMap(\.progress)
        guard !notes.isEmpty else { return nil }
        var counters = LaneCounters()
        for note in notes { counters.add(note.counters) }
        // The slowest one says where the run is.
        let phase = notes[0].phase
        var sample: TimelineSample?
        if workers.allSatisfy({ $0.newSample != nil }) {
            for worker in workers {
                guard let new = worker.newSample?.sample else { continue }
                worker.newSample = nil
                if sample == nil { sample = new } else { sample?.add(new) }
            }
        }
        return RunProgress(
            scenario: "\(scenario.name), \(workers.count) workers", phase: phase, counters: counters,
            bots: notes.reduce(0) { $0 + $1.bots }, secondsLeft: notes.map(\.secondsLeft).max() ?? 0, sample: sample)
    }

    func close() {
        isClosed = true
        listener?.close()
        listener = nil
        for worker in strangers.values { worker.line?.close("the run is over") }
        for worker in workers {
            worker.line?.send(.bye)
            worker.line?.closeGently()
        }
    }
}
