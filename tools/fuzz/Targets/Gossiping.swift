import ChatModel

@testable import Swim
@testable import SwimDriver

/// Bytes that nodes hear by UDP, from anyone: packets before and behind the seal.
extension FuzzTarget {
    /// Behind the seal: packets and push-pull states, and what membership makes of them. The first byte tells which.
    static let gossip = FuzzTarget(name: "gossip", bytesMax: 64 << 10) { bytes in
        var input = FuzzInput(bytes)
        let flags = input.byte()
        let content = input.all
        if flags & 1 == 0 {
            // The bound is the packet's; a part of the runs goes beyond it.
            guard let messages = GossipCodec.messages(content, bytesMax: flags & 2 == 0 ? 1_400 : 64 << 10) else {
                return
            }
            require(GossipCodec.encode(messages) == content, "a packet has another encoding than its own")
            hear { $0.receive(messages, from: address, now: .seconds(1)) }
        } else {
            guard let records = GossipCodec.records(content, membersMax: 64) else { return }
            require(records.count <= 64, "\(records.count) records")
            require(GossipCodec.encode(records) == content, "a state has another encoding than its own")
            hear { $0.merge(records, now: .seconds(1)) }
        }
    } seeds: { samples in
        let members = members(&samples)
        var seeds: [[UInt8]] = []
        for member in members {
            let messages: [GossipMessage] = [
                .ping(sequence: 7, target: member.node), .pingRequest(sequence: .max, target: member.node),
                .ack(sequence: 0), .nack(sequence: 300), .alive(incarnation: 3, member),
                .suspect(incarnation: 1 << 40, member.node, by: members[0].node),
                .dead(incarnation: 2, member.node, by: member.node),
            ]
            seeds += messages.map { [0] + GossipCodec.encode([$0]) }
            seeds.append([0] + GossipCodec.encode(messages))
        }
        let records = zip(members, GossipRecord.Status.allCases).map {
            GossipRecord(member: $0, incarnation: 9, status: $1)
        }
        seeds.append([1] + GossipCodec.encode(records))
        seeds += records.map { [1] + GossipCodec.encode([$0]) }
        return seeds
    }

    private static func members(_ samples: inout Samples) -> [GossipMember] {
        var members: [GossipMember] = []
        for number in 0..<4 {
            var member = GossipMember(
                node: samples.node(), store: number == 0 ? nil : samples.uint64(),
                role: number == 0 ? .gatewayOnly : .data, gossipAddress: address)
            if number > 1 { (member.linkAddress, member.clientAddress) = (address, address) }
            member.version = "1.0"
            member.load = UInt16(number * 300)
            member.leads = (0..<number).map { ShardLead(shard: ShardID(UInt16($0 * 9)), term: samples.uint64()) }
            members.append(member)
        }
        return members
    }

    private static let address: GossipAddress = {
        guard let address = GossipAddress("127.0.0.1:7946") else { fail("no address") }
        return address
    }()

    /// A node in a cluster hears it, lives on for a while and says what it says.
    private static func hear(_ body: (inout GossipMembership) -> Void) {
        guard let node = NodeID("n1") else { fail("no node") }
        var membership = GossipMembership(
            GossipMember(node: node, store: 1, gossipAddress: address), incarnation: 1, now: .zero, randomSeed: 1)
        body(&membership)
        for second in 2..<6 { membership.tick(now: .seconds(second)) }
        for effect in membership.takeEffects() {
            guard case .send(let messages, _) = effect else { continue }
            let packet = GossipCodec.encode(messages)
            require(packet.count <= 1_400, "a packet of \(packet.count) bytes is sent")
            require(GossipCodec.messages(packet) == messages, "a packet that is sent can't be read")
        }
    }

    /// Before it: bytes of strangers, and packets that were changed on the way. The first byte tells which.
    static let sealed = FuzzTarget(name: "sealed", bytesMax: 64 << 10) { bytes in
        var input = FuzzInput(bytes)
        let flags = input.byte()
        // With a receiver that knows the sender's run, or with one that hears it for the first time.
        var (sender, receiver) = flags & 2 == 0 ? acquainted : (sealer(1), sealer(2))
        if flags & 1 == 0 {
            require(receiver.open(input.rest, milliseconds: now) == nil, "a stranger's packet was opened")
            return
        }
        let (place, change, late) = (Int(input.byte()) << 8 | Int(input.byte()), input.byte(), Int64(input.byte()))
        let content = input.all
        guard var packet = sender.seal(content, milliseconds: now - late * 1_000) else { fail("nothing was sealed") }
        require(packet.count == content.count + PacketSealer.overheadBytes, "sealing adds something else")
        let isFresh = late * 1_000 <= PacketSealer.freshness.components.seconds * 1_000
        packet[place % packet.count] ^= change
        let opened = receiver.open(packet, milliseconds: now)
        require(
            opened == (change == 0 && isFresh ? content : nil),
            "byte \(place % packet.count) changed by \(change), \(late) s old: \(opened == nil ? "refused" : "opened")")
        require(receiver.open(packet, milliseconds: now) == nil, "a packet was opened twice")
        require(sender.open(packet, milliseconds: now) == nil, "a node opens its own packet")
        packet.removeLast()
        require(receiver.open(packet, milliseconds: now) == nil, "a packet without its end was opened")
    } seeds: { samples in
        var sender = sealer(1)
        let packets = members(&samples).map { GossipCodec.encode([.alive(incarnation: 3, $0)]) }
        // The first ones are of another key: the right one would make them right.
        guard let ring = KeyRing([[UInt8](repeating: 8, count: 32)]) else { fail("no key") }
        sender.use(ring)
        return packets.compactMap { sender.seal($0, milliseconds: now) }.map { [0] + $0 }
            + packets.map { [1, 0, 0, 0, 0] + $0 } + packets.map { [3, 0, 40, 1, 59] + $0 }
            + packets.map { [1, 0, 0, 0, 61] + $0 }
    }

    private static let now: Int64 = 1_700_000_000_000

    private static let acquainted: (PacketSealer, PacketSealer) = {
        var (sender, receiver) = (sealer(1), sealer(2))
        guard let packet = sender.seal([1], milliseconds: now), receiver.open(packet, milliseconds: now) == [1] else {
            fail("a packet that is right is refused")
        }
        return (sender, receiver)
    }()

    private static func sealer(_ session: UInt8) -> PacketSealer {
        guard let ring = KeyRing([[UInt8](repeating: 7, count: 32)]),
            let sealer = PacketSealer(ring, session: [UInt8](repeating: session, count: 16))
        else { fail("no key") }
        return sealer
    }
}
