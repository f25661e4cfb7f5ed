import ChatModel
import EventLoop
import HTTPWebSocket
import Transport

/// One of a crowd: is there, and says what it is told to say. Once it is in the room it looks at nothing that it receives
/// but pings, so that a crowd costs the machine little beside the nodes that it shows.
final class CrowdMember: ConnectionHandler {
    private let room: RoomID
    private let user: UserID
    private let nick: String
    private unowned let lane: CrowdLane
    private var tcp: TCPConnection?
    private var handshake: WebSocketClientHandshake?
    private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: Bot.messageBytesMax)
    private var tries: Int
    private var requestID: UInt32 = 2
    private var out: [UInt8] = []
    private(set) var isHere = false
    private var isStopped = false

    /// Between two tries, in milliseconds.
    private static let waits: ClosedRange<UInt64> = 500...4_000

    private static let askAgainMilliseconds: UInt64 = 1_000
    private static let outBytesMax = 64 * 1024

    init(number: Int, room: RoomID, user: UserID, lane: CrowdLane) {
        self.room = room
        self.user = user
        self.lane = lane
        nick = CrowdScript.nick(of: number)
        tries = number
    }

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
            begin()
            if rest > 0 { read(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...])) }
        }
    }

    private func begin() {
        send(#"{"id":1,"connect":{"token":"\#(lane.token(of: user))","device":"mobile"}}"#)
        enter()
    }

    private func enter() { send(#"{"id":2,"enter":{"room":"\#(room.text)","nick":"\#(nick)"}}"#) }

    /// Until it is in the room, a member looks for the answer to its `enter`. A room that is not there yet is asked for again.
    private func look(for answer: UnsafeRawBufferPointer) {
        guard !isHere else { return }
        if Self.begins(answer, with: #"{"id":2,"enter""#) { isHere = true }
        guard Self.begins(answer, with: #"{"id":2,"error""#), let connection = tcp else { return }
        lane.loop.schedule(afterMilliseconds: Self.askAgainMilliseconds) { [weak self] in
            guard let self, connection === tcp, !isHere else { return }
            enter()
        }
    }

    private static func begins(_ frame: UnsafeRawBufferPointer, with text: StaticString) -> Bool {
        let text = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        // Answers to both requests may share a frame, a line each.
        return frame.split(separator: UInt8(ascii: "\n")).contains { $0.starts(with: text) }
    }

    private func read(_ bytes: UnsafeRawBufferPointer) {
        let failure = decoder.decode(bytes) { event in
            switch event {
            case .ping(let payload):
                var pong: [UInt8] = []
                WebSocketFrameEncoder.append(.pong, payload, mask: lane.randomBytes(4), to: &pong)
                write(pong)
            case .close: tcp?.close()
            case .text(let text): look(for: text)
            case .binary, .compressed, .pong: break
            }
        }
        if failure != nil { tcp?.close() }
    }

    func perform(_ act: CrowdScript.Act) {
        guard isHere else { return }
        requestID = requestID == .max ? 3 : requestID + 1
        let head = #"{"id":\#(requestID),"#
        let place = #""room":"\#(room.text)""#
        switch act {
        case .message(let text):
            send(head + #""send":{\#(place),"clientId":"\#(requestID)-\#(lane.tag)","type":"TEXT","text":"\#(text)"}}"#)
        case .barrage(let text): send(#"{"barrage":{\#(place),"text":"\#(text)"}}"#)
        case .sit(let seat):
            let value = #"{\"user\":\"\#(user.text)\",\"nick\":\"\#(nick)\",\"mic\":true}"#
            send(
                head
                    + #""queueSet":{\#(place),"key":"seat:\#(seat)","value":"\#(value)","transient":true,"ifVersion":0}}"#
            )
        case .standUp(let seat): send(head + #""queueTake":{\#(place),"key":"seat:\#(seat)"}}"#)
        }
    }

    private func send(_ text: String) {
        var frame: [UInt8] = []
        Array(text.utf8).withUnsafeBytes {
            WebSocketFrameEncoder.append(.text, $0, mask: lane.randomBytes(4), to: &frame)
        }
        write(frame)
    }

    private func write(_ bytes: [UInt8]) {
        // Nothing that a node does not take is news a second later.
        guard out.count < Self.outBytesMax else { return }
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
        connectLater()
    }

    func stop() {
        isStopped = true
        tcp?.shutdownThenClose(withinMilliseconds: 500)
    }
}
