import ChatModel
import EventLoop
import TLS
import Transport

/// A listening port of the server API and its connections. It belongs to one loop.
final class APIPort {
    let loop: EventLoop
    let configuration: APIServerConfiguration
    private let handler: APIHandler
    private let certificate: APICertificate?
    private let places: APIPlaces
    private let tlsOutput = TLSOutput()
    private var httpDate = HTTPDate()
    private var listener: TCPListener?
    private var connections: [UInt64: APIConnection] = [:]
    private var lastNumber: UInt64 = 0
    /// Tasks that answer: each comes back to this loop once, which must not have ended.
    private var tasks: [UInt64: Task<Void, Never>] = [:]
    private var lastTask: UInt64 = 0
    private(set) var isDraining = false
    private var whenEmpty: CheckedContinuation<Void, Never>?

    init(
        loop: EventLoop, _ configuration: APIServerConfiguration, _ handler: APIHandler, _ certificate: APICertificate?
    ) {
        self.loop = loop
        self.configuration = configuration
        self.handler = handler
        self.certificate = certificate
        places = APIPlaces(max: configuration.connectionsMax, perAddressMax: configuration.connectionsPerAddressMax)
    }

    func milliseconds(_ seconds: KeyPath<APIServerConfiguration, Int64>) -> UInt64 {
        UInt64(max(0, configuration[keyPath: seconds])) * 1000
    }

    func date() -> String { httpDate.now() }

    // MARK: Connections

    /// - Returns: the port.
    func listen() throws(TransportError) -> Int {
        let listener = try TCPListener(
            loop: loop, host: configuration.host, port: configuration.port, reusePort: false
        ) { [unowned self] in accept($0) }
        self.listener = listener
        return listener.port
    }

    private func accept(_ tcp: TCPConnection) {
        lastNumber += 1
        switch places.take(lastNumber, of: APIPlaces.holder(tcp.remoteAddress)) {
        case .refused: return tcp.close()
        case .taken: break
        case .takenFor(let other): connections[other]?.cut()
        }
        if let certificate {
            do throws(TLSError) {
                try tcp.secure(with: certificate.context, output: tlsOutput)
            } catch {
                places.give(lastNumber)
                return tcp.close()
            }
        }
        connections[lastNumber] = APIConnection(tcp, number: lastNumber, port: self)
    }

    func set(_ connection: APIConnection, waits: Bool) { places.set(connection.number, waits: waits) }

    func remove(_ connection: APIConnection) {
        places.give(connection.number)
        connections.removeValue(forKey: connection.number)
        noticeIfEmpty()
    }

    // MARK: Tasks

    /// Answers off the loop, and says what on it.
    func answer(
        _ head: APIHandler.Head, _ body: APIRequestBody, _ done: @escaping (APIResponse) -> Void
    ) {
        let (handler, bytesMax) = (handler, configuration.bodyBytesMax)
        run(done) {
            await handler.answer(head) { () async throws(ChatError) in try await body.whole(bytesMax: bytesMax) }
        }
    }

    /// Counts a request that could not be read.
    func countRefusal(status: Int) { handler.figures?.count(nil, status: status) }

    /// The next piece of a stream; an empty one is its end, `nil` its failure.
    func next(of stream: APIResponseStream, _ done: @escaping ([UInt8]?) -> Void) {
        run(done) {
            do {
                return try await stream.next() ?? []
            } catch {
                return nil
            }
        }
    }

    private func run<Value: Sendable>(_ done: @escaping (Value) -> Void, _ work: @escaping @Sendable () async -> Value)
    {
        lastTask += 1
        let number = lastTask
        let back = LoopBound(onLoop: (self, done), loop: loop)
        tasks[number] = Task { @concurrent in
            let value = await work()
            back.loop.execute {
                let (port, done) = back.value
                port.tasks.removeValue(forKey: number)
                done(value)
                port.noticeIfEmpty()
            }
        }
    }

    // MARK: The end

    /// Takes no more connections; those that wait end, the others behind their answers.
    func drain() {
        isDraining = true
        listener?.close()
        listener = nil
        for connection in Array(connections.values) { connection.drain() }
        noticeIfEmpty()
    }

    /// Ends all connections and asks what is under way to end.
    func cut() {
        drain()
        for connection in connections.values { connection.cut() }
        for task in tasks.values { task.cancel() }
    }

    /// Calls back when nothing is left, after ``drain()`` or ``cut()``.
    func whenEmpty(_ continuation: CheckedContinuation<Void, Never>) {
        whenEmpty = continuation
        noticeIfEmpty()
    }

    private func noticeIfEmpty() {
        guard isDraining, connections.isEmpty, tasks.isEmpty else { return }
        exchange(&whenEmpty, with: nil)?.resume()
    }
}
