import ChatModel
import Deflate
import EventLoop
import Foundation
import HTTPWebSocket
import Synchronization
import WaitTestKit
import Wire

/// A chat client: everything that the server says, in the order in which it came, and requests with typed results.
actor TestClient {
    /// The subprotocol of the clients that a test makes, unless it says otherwise. `TEST_ENCODING=protobuf` in the
    /// environment runs all tests with the binary one.
    @TaskLocal static var standardEncoding =
        ProcessInfo.processInfo.environment["TEST_ENCODING"] == "protobuf" ? ClientEncoding.protobuf : .json

    /// Whether a request that is refused with 503 is asked again, as a client should: a leader that a slow machine
    /// keeps from working for a second steps down, and for a moment there is none. A send keeps its `clientId`.
    @TaskLocal static var asksAgain = false

    nonisolated let loop = TestLoop.shared
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    nonisolated let socket = TestSocket()
    nonisolated let encoding: ClientEncoding

    /// All replies and pushes.
    private(set) var items: [ServerItem] = []
    /// The code of the close frame that came.
    private(set) var closeCode: UInt16?
    /// Set by `connect`.
    private(set) var session: SessionID?
    private var connectedUser: UserID?
    private var replies: [UInt32: Result<OperationResult, ChatError>] = [:]
    private var nextID: UInt32 = 1
    private var handshake: WebSocketClientHandshake?
    private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: 64 << 20)
    private var refusedStatus: Int?
    private var answersPings = true
    /// The bytes of the longest frame that has come, without its head.
    private(set) var longestFrame = 0
    /// WebSocket pings and pongs that have come.
    private(set) var pingCount = 0
    private(set) var pongCount = 0
    private var isOpen = false
    private var inflater = Inflater()
    /// Compressed messages that have come.
    private(set) var compressedCount = 0
    /// The frames that have come, as they were sent, where a test has asked for them.
    private(set) var frames: [[UInt8]] = []
    private var keepsFrames = false

    init(encoding: ClientEncoding = TestClient.standardEncoding) { self.encoding = encoding }

    // MARK: - Opening

    /// Opens a WebSocket. Throws `TestFailure` when the server refuses.
    static func open(
        port: Int, headers: [HTTPHeader] = [], encoding: ClientEncoding = TestClient.standardEncoding
    ) async throws -> TestClient {
        let client = TestClient(encoding: encoding)
        if headers.contains(where: { $0.name == "Sec-WebSocket-Extensions" }) { await client.allowCompression() }
        if let status = try await client.handshake(port: port, headers: headers) {
            throw TestFailure("the handshake was answered with \(status)")
        }
        return client
    }

    func keepFrames() { keepsFrames = true }

    private func allowCompression() { decoder.mayBeCompressed = true }

    /// Performs the opening handshake. The status with which it was refused, or nil if the connection is open.
    /// - Parameter subprotocols: what is offered instead of that of its encoding.
    func handshake(port: Int, headers: [HTTPHeader], subprotocols: [String]? = nil) async throws -> Int? {
        try await socket.open(port: port) { bytes in self.assumeIsolated { $0.didRead(bytes) } }
        let nonce = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let handshake = WebSocketClientHandshake(nonce: nonce, subprotocols: subprotocols ?? [encoding.subprotocol])
        self.handshake = handshake
        await socket.write(handshake.request(host: "127.0.0.1:\(port)", target: "/v1/ws", headers: headers))
        try await wait(for: "the handshake") { isOpen || refusedStatus != nil ? () : nil }
        return refusedStatus
    }

    /// The handshake of the SDK takes no extensions, so this client takes their line out of the response itself.
    private func withoutExtensions(_ bytes: [UInt8]) -> [UInt8] {
        guard decoder.mayBeCompressed, handshake != nil else { return bytes }
        let name = Array("\r\nSec-WebSocket-Extensions:".utf8)
        guard let begin = bytes.indices.first(where: { bytes[$0...].starts(with: name) }),
            let end = bytes[(begin + 2)...].firstIndex(of: 13)
        else { return bytes }
        let answer = String(decoding: bytes[begin..<end], as: UTF8.self)
        if !answer.contains("server_no_context_takeover") { inflater = Inflater(keepsContext: true) }
        return Array(bytes[..<begin] + bytes[end...])
    }

    private func didRead(_ all: [UInt8]) {
        guard refusedStatus == nil else { return }
        let bytes = withoutExtensions(all)
        bytes.withUnsafeBytes { bytes in
            guard handshake != nil else { return readFrames(bytes) }
            switch handshake?.parse(bytes) {
            case .open(let subprotocol, let rest):
                handshake = nil
                guard subprotocol ?? ClientEncoding.json.subprotocol == encoding.subprotocol else {
                    return refusedStatus = 101
                }
                isOpen = true
                if rest > 0 { readFrames(UnsafeRawBufferPointer(rebasing: bytes.suffix(rest))) }
            case .failure(let status, _): refusedStatus = status
            case .needsMore, nil: break
            }
        }
    }

    private func readFrames(_ bytes: UnsafeRawBufferPointer) {
        var pongs: [[UInt8]] = []
        let failure = decoder.decode(bytes) { event in
            switch event {
            case .text(let text): take(text, in: .json)
            case .binary(let message): take(message, in: .protobuf)
            case .ping(let payload):
                pingCount += 1
                if answersPings { pongs.append(Array(payload)) }
            case .close(let code, _): closeCode = code
            case .compressed(let isText, let payload): takeCompressed(payload, isText: isText)
            case .pong: pongCount += 1
            }
        }
        for payload in pongs {
            let frame = WebSocketFrameEncoder.frame(.pong, payload, mask: Self.mask)
            socket.assumeIsolated { $0.write(frame) }
        }
        if let failure {
            take(.reply(id: nil, .failure(ChatError(.internal, "the server broke RFC 6455: \(failure.message)"))))
        }
    }

    private func takeCompressed(_ payload: UnsafeRawBufferPointer, isText: Bool) {
        compressedCount += 1
        do throws(Inflater.Failure) {
            let message = try inflater?.inflate(payload, bytesMax: 64 << 20) ?? []
            message.withUnsafeBytes { take($0, in: isText ? .json : .protobuf) }
        } catch {
            take(.reply(id: nil, .failure(ChatError(.internal, "the server compressed nonsense: \(error)"))))
        }
    }

    /// A frame of the other subprotocol, or one that can't be read, becomes an error that no test expects.
    private func take(_ frame: UnsafeRawBufferPointer, in encoding: ClientEncoding) {
        longestFrame = max(longestFrame, frame.count)
        if keepsFrames { frames.append(Array(frame)) }
        guard encoding == self.encoding else {
            return take(.reply(id: nil, .failure(ChatError(.internal, "the server sent a frame of \(encoding)"))))
        }
        do throws(ChatError) {
            switch encoding {
            case .json: try ServerFrame.items(inJSON: frame) { take($0) }
            case .protobuf: try ServerFrame.items(inProtobuf: frame) { take($0) }
            }
        } catch {
            take(.reply(id: nil, .failure(ChatError(.internal, "the server sent nonsense: \(error.message)"))))
        }
    }

    private func take(_ item: ServerItem) {
        items.append(item)
        if case .reply(let id?, let result) = item { replies[id] = result }
    }

    // MARK: - Asking

    private static let mask: [UInt8] = [0x1B, 0x37, 0x5C, 0x99]

    /// Sends a request and does not wait. Its ID.
    func begin(_ operation: ClientOperation) async -> UInt32 {
        let id = takeID()
        await write(ClientRequest(id: id, operation: operation))
        return id
    }

    func takeID() -> UInt32 {
        defer { nextID += 1 }
        return nextID
    }

    /// Sends a request in a frame of its own.
    func write(_ request: ClientRequest) async {
        var bytes: [UInt8] = []
        switch encoding {
        case .json: request.appendJSON(to: &bytes)
        case .protobuf: request.appendProtobuf(to: &bytes)
        }
        await write(encoding.opcode, bytes)
    }

    /// Sends one whole frame.
    func write(_ opcode: WebSocketOpcode, _ payload: [UInt8]) async {
        await socket.write(WebSocketFrameEncoder.frame(opcode, payload, mask: Self.mask))
    }

    /// Sends several requests in one frame.
    func write(_ requests: [ClientRequest]) async {
        var bytes: [UInt8] = []
        for request in requests {
            switch encoding {
            case .json:
                request.appendJSON(to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            case .protobuf: request.appendProtobuf(to: &bytes)
            }
        }
        await write(encoding.opcode, bytes)
    }

    /// Sends text that need not be a request.
    func write(text: String) async { await write(.text, Array(text.utf8)) }

    /// The reply to a request, if it has come.
    func replyIfAny(to id: UInt32) -> Result<OperationResult, ChatError>? { replies[id] }

    func reply(to id: UInt32) async throws -> Result<OperationResult, ChatError> {
        try await wait(for: "the reply to request \(id)") { replies[id] }
    }

    /// The answer to a request; where `asksAgain`, one that is not 503.
    func ask(_ operation: ClientOperation) async throws -> Result<OperationResult, ChatError> {
        let deadline = ContinuousClock.now + waitLimit
        while true {
            let answer = try await askOnce(operation)
            guard Self.asksAgain, case .failure(let error) = answer, error.code == .unavailable,
                ContinuousClock.now < deadline
            else { return answer }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func askOnce(_ operation: ClientOperation) async throws -> Result<OperationResult, ChatError> {
        try await reply(to: await begin(operation))
    }

    /// The error with which a request must be refused, the first time.
    func refusal(of operation: ClientOperation) async throws -> ChatError {
        switch try await askOnce(operation) {
        case .success(let result): throw TestFailure("not refused, but answered: \(result)")
        case .failure(let error): return error
        }
    }

    // MARK: - Waiting

    /// Waits for the first item from index `start` on in which `match` finds something.
    func item<Value: Sendable>(
        _ what: String, from start: Int = 0, _ match: @Sendable (ServerItem) -> Value?
    ) async throws -> Value {
        var index = start
        return try await wait(for: what) {
            while index < items.count {
                if let value = match(items[index]) { return value }
                index += 1
            }
            return nil
        }
    }

    func stopAnsweringPings() { answersPings = false }

    /// Waits until so many pings have come.
    func pings(_ count: Int) async throws {
        try await wait(for: "\(count) pings") { pingCount < count ? nil : () }
    }

    /// Waits until so many pongs have come.
    func pongs(_ count: Int) async throws {
        try await wait(for: "\(count) pongs") { pongCount < count ? nil : () }
    }

    /// Waits for the end of the connection. The code of the close frame, if one came.
    @discardableResult
    func closing(limit: Duration = waitLimit) async throws -> UInt16? {
        try await socket.changes.wait(for: "the close frame", limit: limit) {
            if closeCode != nil { return () }
            return await socket.isClosed ? () : nil
        }
        return closeCode
    }

    /// Waits until `check` finds something: asks now, and after each event of the connection. Throws when there will be
    /// none any more.
    @discardableResult
    nonisolated func wait<Value: Sendable>(
        for what: @autoclosure () -> String, _ check: () async throws -> Value?
    ) async throws -> Value {
        try await socket.changes.wait(for: what()) {
            // Asked first: what came before the end, between the two questions, is found.
            let wasClosed = await socket.isClosed
            if let value = try await check() { return value }
            if wasClosed {
                let code = await closeCode
                throw TestFailure("closed (\(code.map(String.init) ?? "no code")) before \(what())")
            }
            return nil
        }
    }

    func remember(_ result: ConnectResult) {
        session = result.session
        connectedUser = result.user
    }

    /// Who is connected.
    var user: UserID {
        get throws {
            guard let connectedUser else { throw TestFailure("not connected") }
            return connectedUser
        }
    }

    /// Drops the connection without a close frame, and waits until it is down.
    func drop() async throws {
        await socket.close()
        _ = try await socket.receivedUntilClosed()
    }
}

extension ClientEncoding {
    /// The name in the handshake.
    var subprotocol: String { "chatroom.v1.\(self)" }

    /// The frames that it uses.
    var opcode: WebSocketOpcode {
        switch self {
        case .json: .text
        case .protobuf: .binary
        }
    }
}
