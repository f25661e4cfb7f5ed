import ChatModel
import EventLoop
import HTTPWebSocket
import Transport

/// One who taps, and takes account of what it is told.
final class TapMember: ConnectionHandler {
    private let user: UserID
    private unowned let lane: TapLane
    private(set) var account = TapAccount()
    private(set) var isHere = false
    private var tcp: TCPConnection?
    private var handshake: WebSocketClientHandshake?
    private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: Bot.messageBytesMax)
    private var tries: Int
    private var requestID: UInt32 = 2
    /// Requests without an answer on this connection.
    private var open: Set<UInt32> = []
    private var lastTotal: Int64 = 0
    private var out: [UInt8] = []
    private var isStopped = false

    private static let waits: ClosedRange<UInt64> = 200...1_500
    private static let askAgainMilliseconds: UInt64 = 500
    private static let outBytesMax = 64 * 1024

    init(number: Int, user: UserID, lane: TapLane) {
        (self.user, self.lane, tries) = (user, lane, number)
    }

    var openCount: Int { open.count }

    func connect() {
        guard !isStopped else { return }
        let address = lane.gateways[tries % lane.gateways.count]
        tries += 1
        TCPConnection.connect(loop: lane.loop, host: address.host, port: address.port) { [weak self] result in
            guard let self else { return }
            guard case .success(let connection) = result, !isStopped else { return connectLater() }
            opened(connection, address)
        }
    }

    private func connectLater() {
        isHere = false
        guard !isStopped else { return }
        let wait = UInt64.random(in: Self.waits, using: &lane.random)
        lane.loop.schedule(afterMilliseconds: wait) { [weak self] in self?.connect() }
    }

    private func opened(_ connection: TCPConnection, _ address: WebSocketAddress) {
        tcp = connection
        connection.handler = self
        decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: Bot.messageBytesMax)
        let handshake = WebSocketClientHandshake(nonce: lane.randomBytes(16), subprotocols: [Bot.subprotocol])
        self.handshake = handshake
        write(handshake.request(host: address.authority, target: address.target))
        connection.startReading()
    }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        guard connection === tcp else { return }
        guard var handshake else { return read(bytes) }
        switch handshake.parse(bytes) {
        case .needsMore: self.handshake = handshake
        case .failure: connection.close()
        case .open(_, let rest):
            self.handshake = nil
            lastTotal = 0
            send(#"{"id":1,"connect":{"token":"\#(lane.token(of: user))","device":"mobile"}}"#)
            enter()
            if rest > 0 { read(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...])) }
        }
    }

    private func enter() { send(#"{"id":2,"enter":{"room":"\#(lane.plan.room.text)"}}"#) }

    /// Taps once: with an answer or without.
    func tap(wantsAnswer: Bool) {
        guard isHere, out.isEmpty else { return }
        let plan = lane.plan
        let body = #""tally":{"room":"\#(plan.room.text)","key":"like","delta":\#(plan.delta)}}"#
        account.sent += plan.delta
        guard wantsAnswer else { return send("{" + body) }
        requestID = requestID == .max ? 3 : requestID + 1
        open.insert(requestID)
        send(#"{"id":\#(requestID),"# + body)
    }

    private func read(_ bytes: UnsafeRawBufferPointer) {
        let failure = decoder.decode(bytes) { event in
            switch event {
            case .ping(let payload):
                var pong: [UInt8] = []
                WebSocketFrameEncoder.append(.pong, payload, mask: lane.randomBytes(4), to: &pong)
                write(pong)
            case .close: tcp?.close()
            case .text(let text):
                for line in text.split(separator: UInt8(ascii: "\n")) { hear(String(decoding: line, as: UTF8.self)) }
            case .binary, .compressed, .pong: break
            }
        }
        if failure != nil { tcp?.close() }
    }

    /// Answers are few words of a known form.
    private func hear(_ line: String) {
        if line.hasPrefix(#"{"tallies":"#) { return take(total: number(in: line, after: #""like":"#)) }
        guard line.hasPrefix(#"{"id":"#), let id = number(in: line, after: #"{"id":"#).flatMap({ UInt32(exactly: $0) })
        else { return }
        if id == 2 {
            if line.contains(#""enter":"#) {
                isHere = true
            } else if let connection = tcp {
                lane.loop.schedule(afterMilliseconds: Self.askAgainMilliseconds) { [weak self] in
                    guard let self, connection === tcp, !isHere else { return }
                    enter()
                }
            }
        }
        guard open.remove(id) != nil else { return }
        let delta = lane.plan.delta
        if line.contains(#""tally":"#) {
            account.answered += delta
            take(total: number(in: line, after: #""total":"#))
        } else if line.contains(#""code":503"#) {
            account.unknown += delta
        } else if line.contains(#""code":13007"#) {
            // Its node does not know it any more: it comes back.
            account.refused += delta
            isHere = false
            enter()
        } else {
            account.refused += delta
        }
    }

    private func take(total: Int64?) {
        guard let total else { return }
        account.toldTotal = max(account.toldTotal, total)
        if total < lastTotal { account.fallen += 1 }
        lastTotal = total
    }

    private func number(in line: String, after key: String) -> Int64? {
        guard let range = line.firstRange(of: key) else { return nil }
        return Int64(line[range.upperBound...].prefix { $0.isNumber })
    }

    private func send(_ text: String) {
        var frame: [UInt8] = []
        Array(text.utf8).withUnsafeBytes {
            WebSocketFrameEncoder.append(.text, $0, mask: lane.randomBytes(4), to: &frame)
        }
        write(frame)
    }

    private func write(_ bytes: [UInt8]) {
        out += bytes
        flush()
    }

    private func flush() {
        guard let tcp, !tcp.isWriting, !out.isEmpty else { return }
        let written = out.withUnsafeBytes { tcp.tryWrite($0) }
        if written < out.count { tcp.write(SharedBytes(copying: out[written...])) }
        out.removeAll(keepingCapacity: true)
    }

    func connectionDidDrain(_ connection: TCPConnection) { flush() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        guard connection === tcp else { return }
        (tcp, handshake, out) = (nil, nil, [])
        account.unanswered += Int64(open.count) * lane.plan.delta
        open = []
        if !isStopped { account.reconnects += 1 }
        connectLater()
    }

    func stop() {
        isStopped = true
        tcp?.shutdownThenClose(withinMilliseconds: 500)
    }
}
