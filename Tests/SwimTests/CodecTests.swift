import ChatModel
import Testing

@testable import Swim

@Suite struct CodecTests {
    private static func randomMember(_ random: inout SplitMix64) -> GossipMember {
        var member = GossipMember(
            node: GossipSimulation.id(Int.random(in: 0...9_999, using: &random)),
            store: Bool.random(using: &random) ? random.next() : nil,
            role: Bool.random(using: &random) ? .data : .gatewayOnly,
            gossipAddress: GossipSimulation.address(GossipSimulation.id(1)),
            linkAddress: Bool.random(using: &random) ? GossipAddress("10.0.0.1:7001") : nil,
            clientAddress: Bool.random(using: &random) ? GossipAddress("[::1]:8000") : nil,
            version: String(repeating: "v", count: Int.random(in: 0...40, using: &random)),
            load: UInt16(truncatingIfNeeded: random.next()))
        // Few of them are long: every byte of every one is cut.
        let leadsMax: UInt16 = Int.random(in: 0..<8, using: &random) == 0 ? 200 : 8
        for shard in 0..<UInt16.random(in: 0...leadsMax, using: &random) {
            member.leads.append(
                ShardLead(shard: ShardID(shard), term: random.next() >> UInt64.random(in: 0...63, using: &random)))
        }
        return member.fitted()
    }

    private static func randomMessage(_ random: inout SplitMix64) -> GossipMessage {
        let sequence = UInt32(truncatingIfNeeded: random.next())
        let incarnation = random.next() >> UInt64.random(in: 2...63, using: &random)
        let node = GossipSimulation.id(Int.random(in: 0...9, using: &random))
        let by = GossipSimulation.id(Int.random(in: 0...9, using: &random))
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return .ping(sequence: sequence, target: node)
        case 1: return .pingRequest(sequence: sequence, target: node)
        case 2: return .ack(sequence: sequence)
        case 3: return .nack(sequence: sequence)
        case 4: return .alive(incarnation: incarnation, randomMember(&random))
        case 5: return .suspect(incarnation: incarnation, node, by: by)
        default: return .dead(incarnation: incarnation, node, by: by)
        }
    }

    @Test(arguments: Seeds.make(2))
    func `what is written is read, and every cut and every longer packet is refused or read as another`(seed: UInt64)
        throws
    {
        var random = SplitMix64(seed: seed)
        for _ in 0..<100 {
            let messages = [Self.randomMessage(&random)]
            let bytes = GossipCodec.encode(messages)
            #expect(GossipCodec.messages(bytes) == messages, "seed \(seed)")
            for length in 0..<bytes.count {
                guard let read = GossipCodec.messages(bytes[..<length]), length != 1 || read != [] else { continue }
                Issue.record("seed \(seed): \(length) bytes of \(messages) are read")
            }
            #expect(GossipCodec.messages(bytes + [0]) == nil)
        }
    }

    @Test(arguments: Seeds.make(2))
    func `any bytes are refused or mean what is written as the same bytes`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            var bytes = GossipCodec.encode([Self.randomMessage(&random), Self.randomMessage(&random)])
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            guard let read = GossipCodec.messages(bytes, bytesMax: 4_000), GossipCodec.encode(read) != bytes else {
                continue
            }
            Issue.record("seed \(seed): \(bytes) are read as \(read)")
        }
    }

    @Test func `a member fits a packet beside a probe, with as many leads as there is room for`() throws {
        let long = String(repeating: "x", count: 64)
        var member = GossipMember(
            node: try #require(NodeID(long)), store: .max, gossipAddress: try #require(GossipAddress(long)),
            linkAddress: GossipAddress(long), clientAddress: GossipAddress(long),
            version: String(repeating: "é", count: 40), load: .max)
        member.leads = (0..<1_000 as Range<UInt16>).map { ShardLead(shard: ShardID(65_535 - $0), term: .max) }
        #expect(member.version.utf8.count == 32)
        let fitted = member.fitted()
        #expect(GossipCodec.encodedBytes(fitted) <= 1_200)
        #expect(fitted.leads.count > 50)
        #expect(fitted.leads.first?.shard == ShardID(65_535 - 999))
        let packet = GossipCodec.encode([
            .ping(sequence: .max, target: member.node), .alive(incarnation: 1 << 62, fitted),
        ])
        #expect(packet.count <= GossipConfiguration().packetBytesMax)
        #expect(GossipCodec.messages(packet)?.count == 2)
        // 16 leads, the most of a default cluster, always fit.
        member.leads = (0..<16 as Range<UInt16>).map { ShardLead(shard: ShardID($0), term: 1 << 40) }
        #expect(member.fitted() == member)
    }

    @Test func `numbers beyond their bounds are refused`() {
        let suspect: [UInt8] = [2, 110, 49, 2, 110, 50]
        func read(_ incarnation: [UInt8]) -> [GossipMessage]? { GossipCodec.messages([1, 6] + incarnation + suspect) }
        #expect(read([5]) == [.suspect(incarnation: 5, GossipSimulation.id(1), by: GossipSimulation.id(2))])
        // 2^62 and one more; a second encoding of 5; more than 64 bits.
        #expect(read([UInt8](repeating: 0x80, count: 8) + [0x40]) != nil)
        #expect(read([0x81] + [UInt8](repeating: 0x80, count: 7) + [0x40]) == nil)
        #expect(read([0x85, 0]) == nil)
        #expect(read([UInt8](repeating: 0xFF, count: 9) + [0x02]) == nil)
        #expect(read([UInt8](repeating: 0xFF, count: 10)) == nil)
        #expect(GossipCodec.messages([2]) == nil)
        #expect(GossipCodec.messages([]) == nil)
        #expect(GossipCodec.messages([1] + [UInt8](repeating: 3, count: 1_400)) == nil)
        #expect(GossipAddress(String(repeating: "x", count: 65)) == nil)
        #expect(GossipAddress("") == nil)
        #expect(GossipAddress("a b") == nil)
    }

    @Test func `a state is read up to its bound`() {
        var random = SplitMix64(seed: 3)
        let records = (0..<5).map { number in
            GossipRecord(
                member: Self.randomMember(&random), incarnation: UInt64(number),
                status: GossipRecord.Status.allCases[number % 4])
        }
        let bytes = GossipCodec.encode(records)
        #expect(GossipCodec.records(bytes, membersMax: 5) == records)
        #expect(GossipCodec.records(bytes, membersMax: 4) == nil)
        #expect(bytes.count <= GossipCodec.stateBytesMax(members: 5))
        for length in 1..<bytes.count where GossipCodec.records(bytes[..<length], membersMax: 5)?.count == 5 {
            Issue.record("read whole at \(length)")
        }
    }

    @Test func `the logarithm is one`() {
        for (number, expected) in [(1.0, 0.0), (2, 1), (3, 1.584_963), (10, 3.321_928), (1_024, 10)] {
            #expect(abs(Logarithm.base2(number) - expected) < 0.000_01)
        }
        #expect(abs(Logarithm.base10(1_000) - 3) < 0.000_01)
        #expect(Logarithm.base2(0) == 0)
        #expect(Logarithm.base2(.infinity) == 0)
    }
}
