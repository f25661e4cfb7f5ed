import ControlClient
import EventLoop
import FoundationEssentials
import HTTPWebSocket
import TLS
import Transport
import Wire

/// A client that speaks the protocol's bytes and knows nothing of this implementation's types, so that it sees what
/// any client sees.
actor ConformanceClient {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// All replies and pushes in the order in which they came.
    private(set) var items: [JSONTree] = []
    private(set) var closeCode: Int?
    private(set) var isClosed = false
    /// Binary messages in the order in which they came.
    private(set) var binaries: [[UInt8]] = []
    /// The bytes that came where no WebSocket is spoken.
    private(set) var rawBytes: [UInt8] = []
    private(set) var subprotocol: String?
    private var refusedStatus: Int?
    private var isOpen = false
    private var nextID: Int64 = 1
    private var tcp: TCPConnection?
    private var unsent: [SharedBytes] = []
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var alarm: LoopTimer?
    private var handshake: WebSocketClientHandshake?
    private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: 64 << 20)

    /// How long something may take that the protocol does not time.
    static let waitLimit = Duration.seconds(15)
    private static let mask: [UInt8] = [0x1B, 0x37, 0x5C, 0x99]

    private let answersPings: Bool
    private(set) var pings = 0
    /// Bytes of the longest message that has come.
    private(set) var longestFrame = 0

    private let witness: ConformanceWitness
    /// Whether it speaks no WebSocket.
    private let isRaw: Bool

    init(loop: EventLoop, witness: ConformanceWitness, answersPings: Bool = true, isRaw: Bool = false) {
        self.loop = loop
        self.witness = witness
        self.answersPings = answersPings
        self.isRaw = isRaw
    }

    // MARK: - Opening

    /// Opens a TCP connection.
    /// - Parameter tls: seals it; nil: it stays open.
    func open(host: String, port: Int, tls: TLSContext? = nil) async throws {
        let failure: String? = await withCheckedContinuation { continuation in
            TCPConnection.connect(loop: loop, host: host, port: port) { result in
                switch result {
                case .success(let tcp):
                    let opened = LoopBound(onLoop: tcp, loop: tcp.loop)
                    let failure = self.assumeIsolated { $0.adopt(opened.value, tls) }
                    continuation.resume(returning: failure?.message)
                case .failure(let error): continuation.resume(returning: error.message)
                }
            }
        }
        if let failure { throw Deviation("no connection to \(host):\(port): \(failure)") }
    }

    /// Performs the opening handshake on the open connection. The HTTP status with which it was refused, or nil.
    func upgrade(
        host: String, path: String = "/v1/ws", subprotocols: [String], headers: [(String, String)] = []
    ) async throws -> Int? {
        let nonce = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let handshake = WebSocketClientHandshake(nonce: nonce, subprotocols: subprotocols)
        self.handshake = handshake
        let headers = headers.map { HTTPHeader(name: $0.0, value: $0.1) }
        write(handshake.request(host: host, target: path, headers: headers))
        try await wait("the answer to the handshake") { isOpen || refusedStatus != nil ? true : nil }
        return refusedStatus
    }

    private func adopt(_ tcp: TCPConnection, _ tls: TLSContext?) -> TLSError? {
        self.tcp = tcp
        tcp.handler = ConformanceHandler(client: self)
        if let tls {
            do throws(TLSError) {
                try tcp.secure(with: tls, output: TLSOutput())
            } catch {
                tcp.close()
                return error
            }
        }
        tcp.startReading()
        // Wakes who waits, so that a wait can find out that it has lasted too long.
        alarm = loop.schedule(afterMilliseconds: 250, repeatingMilliseconds: 250) {
            self.assumeIsolated { $0.changed() }
        }
        return nil
    }

    // MARK: - Writing

    /// Sends bytes as they are.
    func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, !isClosed else { return }
        unsent.append(SharedBytes(copying: bytes))
        writeOn()
    }

    fileprivate func writeOn() {
        while let tcp, !tcp.isWriting, let next = unsent.first {
            unsent.removeFirst()
            let count = tcp.tryWrite(next, from: 0)
            if count < next.count { tcp.write(next, from: count) }
        }
    }

    /// Sends one whole frame.
    func write(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        write(WebSocketFrameEncoder.frame(opcode, payload, mask: Self.mask))
    }

    func write(text: String) { write(.text, Array(text.utf8)) }

    /// Drops the connection without a word.
    func drop() { tcp?.close() }

    /// Takes nothing more, as a client that is too slow.
    func pauseReading() { tcp?.stopReading() }

    func resumeReading() { tcp?.startReading() }

    // MARK: - Reading

    fileprivate func didRead(_ bytes: [UInt8]) {
        guard refusedStatus == nil else { return }
        guard !isRaw else {
            rawBytes += bytes
            return changed()
        }
        bytes.withUnsafeBytes { bytes in
            guard handshake != nil else { return readFrames(bytes) }
            switch handshake?.parse(bytes) {
            case .open(let chosen, let rest):
                handshake = nil
                isOpen = true
                subprotocol = chosen
                if rest > 0 { readFrames(UnsafeRawBufferPointer(rebasing: bytes.suffix(rest))) }
            case .failure(let status, _): refusedStatus = status
            case .needsMore, nil: break
            }
        }
        changed()
    }

    private func readFrames(_ bytes: UnsafeRawBufferPointer) {
        var pongs: [[UInt8]] = []
        let failure = decoder.decode(bytes) { event in
            switch event {
            case .text(let text):
                longestFrame = max(longestFrame, text.count)
                for line in Array(text).split(separator: UInt8(ascii: "\n")) { take(Data(line)) }
            case .binary(let bytes): binaries.append(Array(bytes))
            case .ping(let payload):
                pings += 1
                if answersPings { pongs.append(Array(payload)) }
            case .close(let code, _): closeCode = code.map(Int.init)
            // Not negotiated.
            case .compressed: break
            case .pong: break
            }
        }
        for payload in pongs { write(.pong, payload) }
        if failure != nil { items.append(["error": ["message": "the server broke RFC 6455"]]) }
    }

    private func take(_ line: Data) {
        let item = (try? JSONTree(parsing: line)) ?? ["error": ["message": "the server sent no JSON"]]
        witness.see(item)
        items.append(item)
    }

    fileprivate func didClose() {
        isClosed = true
        tcp = nil
        alarm?.cancel()
        alarm?.close()
        alarm = nil
        unsent = []
        changed()
    }

    private func changed() {
        let due = waiters
        waiters = []
        for waiter in due { waiter.resume() }
    }

    /// Waits until `find` finds something in this client's state.
    @discardableResult
    private func wait<Value: Sendable>(
        _ what: String, limit: Duration = waitLimit, _ find: () -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + limit
        while true {
            if let value = find() { return value }
            if isClosed {
                throw Deviation("closed (\(closeCode.map(String.init) ?? "no code")) while waiting for \(what)")
            }
            if ContinuousClock.now >= deadline { throw Deviation("\(what) did not come within \(limit)") }
            await withCheckedContinuation { waiters.append($0) }
        }
    }

    // MARK: - Asking

    /// Sends a request and does not wait. Its ID.
    func begin(_ operation: String, _ fields: JSONTree = [:]) -> Int64 {
        defer { nextID += 1 }
        write(text: JSONTree.object(["id": .integer(nextID), operation: fields]).line)
        return nextID
    }

    /// The whole reply to a request.
    func reply(to id: Int64) async throws -> JSONTree {
        try await wait("the reply to request \(id)") { items.first { $0["id"]?.integer == id } }
    }

    /// The result of a request.
    @discardableResult
    func ask(_ operation: String, _ fields: JSONTree = [:]) async throws -> JSONTree {
        let reply = try await reply(to: begin(operation, fields))
        guard let result = reply[operation] else {
            throw Deviation("\(operation) was answered \(reply["error"]?.line ?? reply.line)")
        }
        return result
    }

    /// The error with which a request is refused.
    func refusal(_ operation: String, _ fields: JSONTree = [:]) async throws -> JSONTree {
        let reply = try await reply(to: begin(operation, fields))
        guard let error = reply["error"] else { throw Deviation("\(operation) was not refused") }
        return error
    }

    /// The first push of that kind in which `matches` holds.
    @discardableResult
    func push(_ kind: String, limit: Duration = waitLimit, _ matches: @Sendable (JSONTree) -> Bool = { _ in true })
        async throws -> JSONTree
    {
        try await wait("a push \(kind)", limit: limit) {
            for item in items where item["id"] == nil {
                if let push = item[kind], matches(push) { return push }
            }
            return nil
        }
    }

    /// The first notification with that event in which `matches` holds.
    @discardableResult
    func notification(_ event: Int64, _ matches: @Sendable (JSONTree) -> Bool = { _ in true }) async throws -> JSONTree
    {
        try await push("message") { $0["event"]?.integer == event && matches($0) }
    }

    /// The error without an ID that malformed input is answered with.
    func errorWithoutID() async throws -> JSONTree {
        try await wait("an error without id") { items.first { $0["id"] == nil && $0["error"] != nil }?["error"] }
    }

    /// The first message on the binary subprotocol in which `find` finds something.
    func binary<Value: Sendable>(_ what: String, _ find: @Sendable (ProtobufFields) -> Value?) async throws -> Value {
        try await wait(what) {
            for frame in binaries {
                for message in ProtobufFields.messages(of: frame) ?? [] {
                    if let value = find(message) { return value }
                }
            }
            return nil
        }
    }

    /// The whole HTTP answer on a connection that speaks no WebSocket.
    func answer() async throws -> HTTPText { try await wait("an HTTP answer") { HTTPText(parsing: rawBytes) } }

    /// All pushes of that kind that have come so far.
    func pushes(_ kind: String) -> [JSONTree] { items.compactMap { $0["id"] == nil ? $0[kind] : nil } }

    /// Waits for the server's close and returns its code.
    func closing(limit: Duration = waitLimit) async throws -> Int? {
        let deadline = ContinuousClock.now + limit
        while !isClosed, closeCode == nil {
            if ContinuousClock.now >= deadline { throw Deviation("the connection was not closed within \(limit)") }
            await withCheckedContinuation { waiters.append($0) }
        }
        return closeCode
    }
}

/// Brings what happens on the connection to its actor, which is on the same loop.
private final class ConformanceHandler: ConnectionHandler {
    let client: ConformanceClient

    init(client: ConformanceClient) { self.client = client }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        let copy = Array(bytes)
        client.assumeIsolated { $0.didRead(copy) }
    }

    func connectionDidDrain(_ connection: TCPConnection) { client.assumeIsolated { $0.writeOn() } }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        client.assumeIsolated { $0.didClose() }
    }
}
