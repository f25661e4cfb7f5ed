import ChatModel
import Deflate
import EventLoop
import HTTPWebSocket
import RoomProtocol
import SessionCore
import Synchronization
import Testing
import Wire

@testable import Gateway

/// Viewers of one room over sockets, of which some read its compressed stream.
@Suite(.timeLimit(.minutes(3))) struct SharedCompressionTests {
    private let here: NodeID
    private let room: RoomID
    private let other: RoomID

    init() throws {
        here = try #require(NodeID("n1"))
        room = try #require(RoomID("live"))
        other = try #require(RoomID("other"))
    }

    /// A client that has connected.
    private struct Client: Sendable {
        let socket: RawClient
        let connection: LoopBound<ClientConnection>
        /// The connection keeps the window from message to message.
        let keepsContext: Bool
    }

    /// A line that a client has read.
    private struct Line {
        var isCompressed: Bool
        var text: String
        var item: ServerItem
    }

    private func connect(
        _ lane: LoopBound<GatewayLane>, _ port: Int, _ loop: EventLoop, offer: String? = "permessage-deflate",
        prime: Bool = true
    ) async throws -> Client {
        let socket = try await RawClient(port: port, loop: loop)
        let handshake = WebSocketClientHandshake(
            nonce: [UInt8](repeating: 7, count: 16), subprotocols: ["chatroom.v1.json"])
        let headers = offer.map { [HTTPHeader(name: "Sec-WebSocket-Extensions", value: $0)] } ?? []
        socket.send(handshake.request(host: "127.0.0.1:\(port)", target: "/v1/ws", headers: headers))
        try await socket.waitFor("the handshake") { $0.text.contains("\r\n\r\n") }
        let connect = #"{"id":1,"connect":{"anonymous":true,"prime":\#(prime)}}"#
        socket.send(WebSocketFrameEncoder.frame(.text, Array(connect.utf8), mask: [1, 2, 3, 4]))
        try await socket.waitFor("the session") { $0.text.contains(#""session""#) }
        let (room, here) = (room, here)
        let connection = await loop.run { () -> LoopBound<ClientConnection>? in
            // The newest. Its session is in the room, so that it is told of losses there.
            let newest = lane.value.connections.values.max { $0.number < $1.number }
            guard let newest, let session = newest.session else { return nil }
            let stay = SessionStay(profile: Profile(), enteredAt: Timestamp(900))
            let handed = HandedSession(
                user: session.state.caller.user, anonymous: true, device: .web, startedAt: Timestamp(800),
                stays: [HandedSession.RoomStay(room: room, stay: stay)])
            session.state = Session(handed, id: session.id, from: here, on: lane.value)
            return LoopBound(onLoop: newest, loop: loop)
        }
        return Client(
            socket: socket, connection: try #require(connection),
            keepsContext: !socket.text.contains("server_no_context_takeover"))
    }

    /// The lines of a client's messages, but for the reply to `connect`.
    private final class Reading {
        private(set) var lines: [Line] = []
        /// Something can't be read.
        var isBroken = false

        func take(_ text: [UInt8], isCompressed: Bool) {
            for part in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                let line = Array(part)
                let items = items(of: line)
                if items.isEmpty { isBroken = true }
                for item in items {
                    if case .reply(1, _) = item { continue }
                    let text = String(decoding: line, as: UTF8.self)
                    lines.append(Line(isCompressed: isCompressed, text: text, item: item))
                }
            }
        }

        private func items(of line: [UInt8]) -> [ServerItem] {
            var items: [ServerItem] = []
            do {
                try line.withUnsafeBytes { bytes in
                    try ServerFrame.items(inJSON: bytes) { items.append($0) }
                }
            } catch {
                return []
            }
            return items
        }
    }

    /// All lines that have come; nil when something can't be read.
    private func lines(of client: Client) throws -> [Line]? {
        let bytes = client.socket.bytes
        let end = Array("\r\n\r\n".utf8)
        guard let head = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
        let inflater = try #require(Inflater(keepsContext: client.keepsContext))
        let reading = Reading()
        var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: 1 << 20)
        decoder.mayBeCompressed = true
        let frames = Array(bytes[(head + 4)...])
        let failure = frames.withUnsafeBytes { bytes in
            decoder.decode(bytes) { event in
                switch event {
                case .text(let text): reading.take(Array(text), isCompressed: false)
                case .compressed(true, let payload):
                    if let text = try? inflater.inflate(payload, bytesMax: 1 << 20) {
                        reading.take(text, isCompressed: true)
                    } else {
                        reading.isBroken = true
                    }
                default: break
                }
            }
        }
        return failure == nil && !reading.isBroken ? reading.lines : nil
    }

    private func seqs(_ lines: [Line]?) -> [UInt64]? {
        lines?.compactMap { if case .push(.message(let message)) = $0.item { message.seq } else { nil } }
    }

    /// Has come as a line of its own, compressed or not.
    private func has(_ seq: UInt64, of room: RoomID, _ client: Client) -> Bool {
        let lines = try? lines(of: client)
        return lines?.contains {
            if case .push(.message(let message)) = $0.item { message.room == room && message.seq == seq } else { false }
        } ?? false
    }

    private static func frame(_ seqs: ClosedRange<UInt64>, of room: RoomID, unkept: Bool = false) -> SharedFrame {
        var writer = SharedFrameWriter([.json])
        for seq in seqs {
            if unkept { writer.append(.message(SampleMessage.unkept(after: seq - 1, in: room, "unkept"))) }
            writer.append(.message(SampleMessage.chat(seq, in: room)))
        }
        return writer.frame(.messages, keptSeqs: seqs, unkept: unkept ? seqs.count : 0)
    }

    private static func hub(_ room: RoomID, _ lane: GatewayLane) -> Hub {
        let hub = lane.hubs[room] ?? Hub(room: room, lane: lane)
        lane.hubs[room] = hub
        return hub
    }

    @Test func `whoever comes late is primed, and from then on reads what everybody reads`() async throws {
        let room = room
        try await TestGateway.run(at: here, isCompressing: true) { gateway, port, loop in
            let lane = try #require(gateway.lane(0))
            let first = try await connect(lane, port, loop)
            await loop.run {
                let hub = Self.hub(room, lane.value)
                hub.add(first.connection.value)
                for seq in 1...20 as ClosedRange<UInt64> { hub.broadcast(Self.frame(seq...seq, of: room)) }
            }
            try await first.socket.waitFor("the 20th") { _ in has(20, of: room, first) }
            let late = try await connect(lane, port, loop)
            await loop.run {
                let hub = Self.hub(room, lane.value)
                hub.add(late.connection.value)
                // Something between the two that is in no stream.
                hub.notify(StatePush(room: room, state: .entered))
                hub.broadcast(Self.frame(21...21, of: room))
                hub.broadcast(Self.frame(22...23, of: room, unkept: true))
            }
            for client in [first, late] {
                try await client.socket.waitFor("the 23rd") { _ in has(23, of: room, client) }
            }
            let whole = try #require(try lines(of: first))
            #expect(seqs(whole) == Array(1...23))
            let read = try #require(try lines(of: late))
            let told = try #require(seqs(read))
            let primed = told.count - 3
            #expect(primed > 5)
            let expected = Array((21 - UInt64(primed))...23)
            #expect(told == expected)
            #expect(read.first?.isCompressed == false, "the state")
            for line in read.dropFirst().prefix(primed + 1) { #expect(line.isCompressed) }
            // Alike from the 21st on.
            for (one, other) in zip(whole.suffix(5), read.suffix(5)) {
                #expect(one.text == other.text && one.isCompressed == other.isCompressed)
            }
            let plain = Self.frame(1...20, of: room).json?.count ?? 0
            #expect(first.socket.bytes.count * 2 < plain, "with handshake and the beginning")
        }
    }

    @Test func `the first room of a connection is compressed, others are not until it has left it`() async throws {
        let (room, other) = (room, other)
        try await TestGateway.run(at: here, isCompressing: true) { gateway, port, loop in
            let lane = try #require(gateway.lane(0))
            let client = try await connect(lane, port, loop)
            let whole = try await connect(lane, port, loop)
            await loop.run {
                let (one, two) = (Self.hub(room, lane.value), Self.hub(other, lane.value))
                one.add(client.connection.value)
                two.add(client.connection.value)
                two.add(whole.connection.value)
                for seq in 1...5 as ClosedRange<UInt64> {
                    one.broadcast(Self.frame(seq...seq, of: room))
                    two.broadcast(Self.frame(seq...seq, of: other))
                }
                one.remove(client.connection.value)
                two.broadcast(Self.frame(6...6, of: other))
                two.remove(client.connection.value)
                two.add(client.connection.value)
                two.broadcast(Self.frame(7...7, of: other))
            }
            for client in [client, whole] {
                try await client.socket.waitFor("the last") { _ in has(7, of: other, client) }
            }
            let read = try #require(try lines(of: client))
            for line in read {
                guard case .push(.message(let message)) = line.item else { continue }
                let isOfStream = message.room == room || message.seq == 7
                // The first six of the other room were shown, and then primed.
                let isPrimed = read.filter { $0.text == line.text }.count > 1
                #expect(line.isCompressed == isOfStream || isPrimed)
            }
            #expect(seqs(read)?.count == 18, "5 of the one, 7 of the other, of which 6 once more")
            let all = try seqs(lines(of: whole))
            #expect(all == Array(1...7))
        }
    }

    @Test func `clients that did not ask, or keep no window, are shown nothing twice`() async throws {
        let room = room
        try await TestGateway.run(at: here, isCompressing: true) { gateway, port, loop in
            let lane = try #require(gateway.lane(0))
            let clients = [
                try await connect(lane, port, loop, prime: false),
                try await connect(lane, port, loop, offer: "permessage-deflate; server_no_context_takeover"),
                try await connect(lane, port, loop, offer: "permessage-deflate; server_max_window_bits=11"),
                try await connect(lane, port, loop, offer: nil),
            ]
            let primed = try await connect(lane, port, loop)
            await loop.run {
                let hub = Self.hub(room, lane.value)
                hub.add(primed.connection.value)
                for seq in 1...9 as ClosedRange<UInt64> { hub.broadcast(Self.frame(seq...seq, of: room)) }
                for client in clients { hub.add(client.connection.value) }
                for seq in 10...19 as ClosedRange<UInt64> { hub.broadcast(Self.frame(seq...seq, of: room)) }
                hub.broadcast(Self.frame(20...40, of: room))
            }
            for client in clients + [primed] {
                try await client.socket.waitFor("the 40th") { _ in has(40, of: room, client) }
            }
            for (number, client) in clients.enumerated() {
                let read = try #require(try lines(of: client))
                #expect(seqs(read) == Array(10...40))
                let isCompressed = read.contains { $0.isCompressed }
                #expect(isCompressed == (number < 2))
            }
        }
    }

    @Test(arguments: 1...3)
    func `whatever is lost, and whoever comes and goes, every line is one that was shown`(seed: UInt64) async throws {
        let room = room
        try await TestGateway.run(at: here, isCompressing: true) { gateway, port, loop in
            let lane = try #require(gateway.lane(0))
            var clients: [Client] = []
            for _ in 0..<5 { clients.append(try await connect(lane, port, loop)) }
            clients.append(try await connect(lane, port, loop, prime: false))
            clients.append(try await connect(lane, port, loop, offer: nil))
            let script = Script(room: room, seed: seed, viewers: clients.count)
            let all = clients
            for _ in 0..<100 {
                await loop.run { script.step(Self.hub(room, lane.value), all.map(\.connection.value)) }
            }
            await loop.run { script.end(Self.hub(room, lane.value), all.map(\.connection.value)) }
            let (shown, recalledBefore) = await loop.run { (script.shown, script.recalledAt) }
            for (number, client) in clients.enumerated() {
                try await client.socket.waitFor("the end") { $0.text.contains(#""LOST""#) }
                let read = try #require(try lines(of: client), "viewer \(number) can't read")
                let expected = await loop.run { script.expected[number] }
                var (highest, known, repeated) = (UInt64(0), Set<UInt64>(), 0)
                for line in read {
                    switch line.item {
                    case .push(.message(let message)):
                        guard let seq = message.seq else { continue }
                        #expect(shown[seq] == line.text)
                        if seq <= highest {
                            repeated += 1
                            let recall = recalledBefore.last { $0 <= highest } ?? 0
                            #expect(seq >= recall, "what was taken back is not shown again")
                        } else {
                            #expect(known.insert(seq).inserted)
                            highest = seq
                        }
                    case .push(.gap(let gap)):
                        for range in gap.ranges {
                            known.formUnion(range.from...range.to)
                            highest = max(highest, range.to)
                        }
                    default: break
                    }
                }
                #expect(expected.subtracting(known).isEmpty, "viewer \(number) lacks something")
                if number >= 5 { #expect(repeated == 0) }
                let compressed = read.filter { $0.isCompressed }.count
                if number < 5 { #expect(compressed * 2 >= expected.count, "\(compressed) of \(expected.count)") }
            }
        }
    }

    /// A random life of a room; belongs to the loop.
    private final class Script: @unchecked Sendable {
        private let room: RoomID
        private var state: UInt64
        private var seq: UInt64 = 0
        /// The lines of all kept messages.
        private(set) var shown: [UInt64: String] = [:]
        /// The seqs of recalls.
        private(set) var recalledAt: [UInt64] = []
        /// For each viewer, what was shown while it was there.
        private(set) var expected: [Set<UInt64>]
        private var isHere: [Bool]

        init(room: RoomID, seed: UInt64, viewers: Int) {
            self.room = room
            state = seed
            expected = Array(repeating: [], count: viewers)
            isHere = Array(repeating: false, count: viewers)
        }

        private func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }

        func step(_ hub: Hub, _ connections: [ClientConnection]) {
            for _ in 0..<(1 + random(5)) {
                let viewer = random(connections.count)
                switch random(12) {
                case 0:
                    if isHere[viewer] { hub.remove(connections[viewer]) } else { hub.add(connections[viewer]) }
                    isHere[viewer].toggle()
                case 1 where isHere[viewer]:
                    // Two, so that they wait in the queue, from which they are dropped.
                    show(hub)
                    show(hub)
                    hub.settle(connections[viewer])
                    connections[viewer].shedAll()
                case 2: hub.notify(StatePush(room: room, state: .entered))
                case 3: hub.broadcast(unkept())
                case 4 where random(5) == 0: show(hub, isRecall: true)
                case 5:
                    // A long one.
                    show(hub, count: 1 + random(40))
                default: show(hub, count: 1 + random(3), unkept: random(4) == 0)
                }
            }
        }

        /// Everybody is here, and shown a last message, and told that it is the last.
        func end(_ hub: Hub, _ connections: [ClientConnection]) {
            for (index, connection) in connections.enumerated() where !isHere[index] {
                hub.add(connection)
                isHere[index] = true
            }
            show(hub)
            hub.notify(StatePush(room: room, state: .lost))
        }

        private func unkept() -> SharedFrame {
            var writer = SharedFrameWriter([.json])
            writer.append(.message(SampleMessage.unkept(after: seq, in: room, "unkept")))
            return writer.frame(.messages, unkept: 1)
        }

        private func show(_ hub: Hub, count: Int = 1, unkept: Bool = false, isRecall: Bool = false) {
            var writer = SharedFrameWriter([.json])
            let first = seq + 1
            for _ in 0..<count {
                if unkept { writer.append(.message(SampleMessage.unkept(after: seq, in: room, "unkept"))) }
                seq += 1
                var message = SampleMessage.chat(seq, in: room)
                if isRecall {
                    message.from = nil
                    message.body = .notification(SampleMessage.recall)
                    recalledAt.append(seq)
                }
                var line: [UInt8] = []
                Push.message(message).appendJSON(to: &line)
                shown[seq] = String(decoding: line, as: UTF8.self)
                writer.append(.message(message))
                for index in isHere.indices where isHere[index] { expected[index].insert(seq) }
            }
            hub.broadcast(writer.frame(.messages, keptSeqs: first...seq, unkept: unkept ? count : 0))
        }
    }
}
