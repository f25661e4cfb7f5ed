import ChatModel
import EventLoop
import Swim
import SwimDriver
import Testing
import Transport

/// What comes from outside of the cluster.
@Suite(.timeLimit(.minutes(3))) struct StrangerTests {
    /// Who has a key and is no member.
    private final class Outsider {
        private var sealer: PacketSealer

        init(key: UInt8) throws {
            let ring = try #require(KeyRing([Participant.key(key)]))
            sealer = try #require(PacketSealer(ring, session: (0..<16).map { _ in .random(in: 0 ... .max) }))
        }

        func seal(_ bytes: [UInt8], age: Int64 = 0) throws -> [UInt8] {
            let sealed = sealer.seal(bytes, milliseconds: Participant.wallClock - age)
            return try #require(sealed)
        }

        func open(_ packet: [UInt8]) throws -> [UInt8] {
            let contents = sealer.open(packet, milliseconds: Participant.wallClock)
            return try #require(contents)
        }
    }

    private struct Sender: Sendable {
        let socket: LoopBound<UDPSocket>
        let received: AsyncStream<[UInt8]>

        init(_ loop: EventLoop) async throws {
            let (stream, continuation) = AsyncStream.makeStream(
                of: [UInt8].self, bufferingPolicy: .bufferingOldest(64))
            received = stream
            socket = try await loop.run { () throws(TransportError) in
                LoopBound(
                    onLoop: try UDPSocket(loop: loop, host: "127.0.0.1", port: 0) { bytes, _, _ in
                        continuation.yield(Array(bytes))
                    }, loop: loop)
            }
        }

        func send(_ packets: [[UInt8]], to address: GossipAddress) async throws {
            let (host, port) = try #require(address.hostAndPort)
            await socket.loop.run {
                for packet in packets {
                    packet.withUnsafeBytes { bytes in
                        _ = try? socket.value.send(bytes, toHost: host, port: port)
                    }
                }
            }
        }
    }

    @Test func `a packet with a wrong key, a repeated one and garbage are not answered`() async throws {
        try await withLoop { loop in
            let member = try await Participant.start("n1", on: loop)
            let stranger = try await Sender(loop)
            let wrong = try Outsider(key: 2)
            let right = try Outsider(key: 1)
            func ping(_ sequence: UInt32) -> [UInt8] {
                GossipCodec.encode([.ping(sequence: sequence, target: member.id)])
            }
            let first = try right.seal(ping(1))
            var damaged = try right.seal(ping(2))
            damaged[damaged.count - 20] ^= 1
            let stale = try right.seal(ping(3), age: 61_000)
            let foreign = try wrong.seal(ping(4))
            let tooLong = try right.seal([UInt8](repeating: 0, count: 1_341))
            let last = try right.seal(ping(5))
            let packets = [first, foreign, [], [1], ping(6), damaged, stale, first, tooLong, last]
            try await stranger.send(packets, to: member.address)
            // The answers come in the order of the packets, so what comes first shows what was passed over.
            var answers = stranger.received.makeAsyncIterator()
            for sequence in [1, 5] as [UInt32] {
                let packet = await answers.next()
                let answer = try #require(packet)
                let contents = try right.open(answer)
                #expect(GossipCodec.messages(contents)?.first == .ack(sequence: sequence))
            }
            let refused = await member.run { $0.driver?.refusedCount }
            #expect(refused == packets.count - 2)
        }
    }

    @Test func `an exchange with a wrong key or of a wrong form ends without an answer`() async throws {
        try await withLoop { loop in
            var configuration = Participant.quick
            configuration.gossip.membersMax = 4
            let member = try await Participant.start("n1", on: loop, configuration: configuration)
            let id = try #require(NodeID("n9"))
            let address = try #require(GossipAddress("127.0.0.1:9"))
            let records = GossipCodec.encode([
                GossipRecord(member: GossipMember(node: id, gossipAddress: address), incarnation: 1, status: .alive)
            ])
            let wrong = try Outsider(key: 2)
            let right = try Outsider(key: 1)
            func frame(_ sealed: [UInt8], length: Int? = nil) -> [UInt8] {
                let length = length ?? sealed.count
                return Array("gsp1".utf8) + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) } + sealed
            }
            let limit = 1 + GossipCodec.stateBytesMax(members: 4) + PacketSealer.overheadBytes
            for bytes in [
                frame(try wrong.seal([2] + records)),
                // An answer that nobody asked for, and a packet in place of a state.
                frame(try right.seal([3] + records)),
                frame(
                    try right.seal(GossipCodec.encode([.ping(sequence: 1, target: id)]))),
                frame([], length: 0), frame([], length: limit + 1), Array("GET / HTTP/1.1\r\n\r\n".utf8),
                frame(try right.seal([2] + records)) + [0],
            ] {
                let answer = try await Caller.exchange(bytes, with: member.address, on: loop)
                #expect(answer == [])
            }
            let alive = await member.run { $0.alive }
            #expect(alive == [member.id])
            let answer = try await Caller.exchange(
                frame(try right.seal([2] + records)), with: member.address, on: loop)
            let contents = try right.open(Array(answer.dropFirst(8)))
            #expect(contents.first == 3)
            let known = GossipCodec.records(contents.dropFirst(), membersMax: 4)
            #expect(known.map { Set($0.map(\.member.node)) } == [member.id, id])
        }
    }

    @Test func `beyond the bound who has waited longest without a word makes place`() async throws {
        try await withLoop { loop in
            var configuration = Participant.quick
            configuration.strangers.perAddress = 2
            configuration.strangers.firstByte = .seconds(600)
            configuration.strangers.introduction = .seconds(600)
            let member = try await Participant.start("n1", on: loop, configuration: configuration)
            let first = try await Caller.connect(to: member.address, on: loop)
            let second = try await Caller.connect(to: member.address, on: loop)
            let third = try await Caller.connect(to: member.address, on: loop)
            await first.closed()
            for other in [second, third] {
                let isClosed = await other.isClosed
                #expect(!isClosed)
            }
            let other = try await Participant.start("n2", on: loop, seeds: [member.address])
            await other.wait { $0.alive == [member.id, other.id] }
        }
    }

    @Test func `who says nothing at first is closed soon, and who does not end later`() async throws {
        #expect(StrangerLimits().firstByte <= .seconds(1))
        try await withLoop { loop in
            var configuration = Participant.quick
            configuration.strangers.firstByte = .milliseconds(50)
            configuration.strangers.introduction = .seconds(600)
            configuration.exchangeTimeout = .seconds(600)
            let member = try await Participant.start("n1", on: loop, configuration: configuration)
            await (try Caller.connect(to: member.address, on: loop)).closed()
            configuration.strangers.introduction = .milliseconds(50)
            let strict = try await Participant.start("n2", on: loop, configuration: configuration)
            let answer = try await Caller.exchange(Array("gsp".utf8), with: strict.address, on: loop)
            #expect(answer == [])
        }
    }
}
