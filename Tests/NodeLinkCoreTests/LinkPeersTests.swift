import ChatModel
import Foundation
import Testing

@testable import NodeLinkCore

@Suite struct LinkPeersTests {
    typealias ID = LinkPeers.ConnectionID

    private let a = Names.node("a")
    private let b = Names.node("b")

    private func hello(_ node: String, boot: UInt64 = 1, cluster: String = "c") -> LinkHello {
        LinkHello(cluster: cluster, node: Names.node(node), store: 9, boot: boot, shards: 16)
    }

    @Test func `the node with the smaller ID calls at once, the other a second later`() {
        var small = LinkPeers(me: hello("a"))
        var great = LinkPeers(me: hello("b"))
        small.know(b, host: "h", port: 2, at: 1_000)
        great.know(a, host: "h", port: 1, at: 1_000)
        #expect(small.tick(at: 1_000) == [.call(b, host: "h", port: 2)])
        #expect(small.tick(at: 1_001).isEmpty)
        #expect(great.tick(at: 1_999).isEmpty)
        #expect(great.tick(at: 2_000) == [.call(a, host: "h", port: 1)])
    }

    @Test func `calls that fail are repeated after pauses that grow to a bound`() {
        var peers = LinkPeers(me: hello("a"))
        peers.know(b, host: "h", port: 2, at: 0)
        var now: UInt64 = 0
        var pauses: [UInt64] = []
        for _ in 0..<10 {
            while peers.tick(at: now).isEmpty { now += 1 }
            peers.failed(b, at: now, random: 0.999)
            let begun = now
            while peers.tick(at: now).isEmpty { now += 1 }
            pauses.append(now - begun)
            peers.failed(b, at: now, random: 0.999)
        }
        #expect(pauses.first == 149)
        #expect(pauses == pauses.sorted())
        #expect(pauses.last == 5_045)
        // Never at once, whatever the chance.
        while peers.tick(at: now).isEmpty { now += 1 }
        peers.failed(b, at: now, random: 0)
        #expect(peers.tick(at: now + 49).isEmpty)
        #expect(!peers.tick(at: now + 50).isEmpty)
    }

    @Test func `a node that is there, as others say, is called without the rest of the pause`() {
        var peers = LinkPeers(me: hello("a"))
        peers.know(b, host: "h", port: 2, at: 0)
        for now in stride(from: UInt64(0), to: 60_000, by: 10_000) {
            #expect(peers.tick(at: now).count == 1)
            peers.hurry(b, at: now)
            #expect(peers.tick(at: now).isEmpty, "a call is under way")
            peers.failed(b, at: now, random: 0.999)
        }
        #expect(peers.tick(at: 51_000).isEmpty)
        peers.hurry(b, at: 51_000)
        #expect(peers.tick(at: 51_000) == [.call(b, host: "h", port: 2)])
        peers.hurry(Names.node("x"), at: 51_000)
        #expect(peers.tick(at: 51_000).isEmpty)
    }

    @Test func `a call that succeeds is up, and its end is down and called again at once`() {
        var peers = LinkPeers(me: hello("a"))
        peers.know(b, host: "h", port: 2, at: 0)
        #expect(peers.tick(at: 0).count == 1)
        #expect(
            peers.hello(hello("b"), on: ID(1), expected: b, certified: nil, at: 5) == [
                .up(b, ID(1), version: LinkHello.versions.upperBound, boot: 1, store: 9)
            ])
        #expect(peers.reached == [b])
        #expect(peers.connection(to: b) == ID(1))
        #expect(peers.tick(at: 100_000).isEmpty)
        #expect(peers.closed(ID(1), at: 100_000) == [.down(b)])
        #expect(peers.closed(ID(1), at: 100_000).isEmpty)
        #expect(peers.tick(at: 100_000) == [.call(b, host: "h", port: 2)])
    }

    @Test func `a connection that ends within the time of its trial is followed by longer and longer pauses`() {
        var peers = LinkPeers(me: hello("a"))
        peers.know(b, host: "h", port: 2, at: 0)
        #expect(peers.nextCall == 0)
        var now: UInt64 = 0
        var pauses: [UInt64] = []
        for number in 1...10 as ClosedRange<UInt64> {
            #expect(peers.tick(at: now).count == 1)
            #expect(peers.nextCall == nil)
            _ = peers.hello(hello("b"), on: ID(number), expected: b, certified: nil, at: now)
            #expect(peers.nextCall == nil)
            now += LinkPeers.trialTime - 1
            #expect(peers.closed(ID(number), at: now) == [.down(b)])
            let next = peers.nextCall ?? 0
            pauses.append(next - now)
            now = next
        }
        #expect(pauses.prefix(3) == [100, 200, 400])
        #expect(pauses.last == LinkPeers.longestPause)
        // One that has lasted makes good for all.
        _ = peers.tick(at: now)
        _ = peers.hello(hello("b"), on: ID(11), expected: b, certified: nil, at: now)
        now += LinkPeers.trialTime
        _ = peers.closed(ID(11), at: now)
        #expect(peers.nextCall == now)
    }

    @Test func `calls of the other side that end at once do not put off one's own`() {
        var peers = LinkPeers(me: hello("b"))
        peers.know(a, host: "h", port: 1, at: 0)
        // A node that stood still finds calls that were given up meanwhile, each with a hello and its end.
        for number in 1...20 as ClosedRange<UInt64> {
            _ = peers.hello(hello("a"), on: ID(number), expected: nil, certified: nil, at: 60_000)
            #expect(peers.closed(ID(number), at: 60_000) == [.down(a)])
        }
        #expect(peers.nextCall == 60_000 + LinkPeers.firstPause)
    }

    @Test func `a node without data is answered and makes no link, and is nobody whom one calls`() {
        var peers = LinkPeers(me: hello("a"))
        let newcomer = LinkHello.newcomer(b)
        #expect(peers.hello(newcomer, on: ID(1), expected: nil, certified: b, at: 0) == [.dismiss(ID(1))])
        #expect(peers.reached.isEmpty)
        var old = newcomer
        (old.oldestVersion, old.newestVersion) = (0, 0)
        for (hello, expected, certified, code) in [
            (newcomer, nil, Names.node("c"), LinkError.Code.identity), (old, nil, nil, .version),
            (newcomer, b, nil, .cluster),
        ] as [(LinkHello, NodeID?, NodeID?, LinkError.Code)] {
            let effects = peers.hello(hello, on: ID(2), expected: expected, certified: certified, at: 0)
            guard case .refuse(ID(2), let error)? = effects.first else {
                Issue.record("\(effects)")
                continue
            }
            #expect(error.code == code)
        }
    }

    @Test func `who belongs elsewhere is refused with the reason`() {
        var peers = LinkPeers(me: hello("a"))
        let effects = peers.hello(hello("b", cluster: "d"), on: ID(1), expected: nil, certified: nil, at: 0)
        guard case .refuse(ID(1), let error)? = effects.first, effects.count == 1 else {
            Issue.record("\(effects)")
            return
        }
        #expect(error.code == .cluster)
        #expect(peers.reached.isEmpty)
        #expect(peers.closed(ID(1), at: 0).isEmpty)
    }

    @Test func `of two calls that cross, both sides keep the one of the smaller ID`() {
        for firstOnA in [true, false] {
            for firstOnB in [true, false] {
                var small = LinkPeers(me: hello("a"))
                var great = LinkPeers(me: hello("b"))
                small.know(b, host: "h", port: 2, at: 0)
                great.know(a, host: "h", port: 1, at: 0)
                _ = (small.tick(at: 5_000), great.tick(at: 5_000))
                // 1 was made by a, 2 by b.
                for ours in [firstOnA, !firstOnA] {
                    _ = small.hello(
                        hello("b"), on: ours ? ID(1) : ID(2), expected: ours ? b : nil, certified: nil, at: 5_001)
                }
                for ours in [firstOnB, !firstOnB] {
                    _ = great.hello(
                        hello("a"), on: ours ? ID(2) : ID(1), expected: ours ? a : nil, certified: nil, at: 5_001)
                }
                #expect(small.connection(to: b) == ID(1))
                #expect(great.connection(to: a) == ID(1))
            }
        }
    }

    @Test func `a node that has started anew takes the place of its former self at once`() {
        var peers = LinkPeers(me: hello("a"))
        peers.know(b, host: "h", port: 2, at: 0)
        _ = peers.tick(at: 0)
        _ = peers.hello(hello("b", boot: 1), on: ID(1), expected: b, certified: nil, at: 0)
        #expect(
            peers.hello(hello("b", boot: 2), on: ID(2), expected: nil, certified: nil, at: 1) == [
                .close(ID(1)), .down(b), .up(b, ID(2), version: LinkHello.versions.upperBound, boot: 2, store: 9),
            ])
        // The end of the former connection is no news.
        #expect(peers.closed(ID(1), at: 2).isEmpty)
        #expect(peers.connection(to: b) == ID(2))
    }

    @Test func `a node that is forgotten is closed and not called again`() {
        var peers = LinkPeers(me: hello("a"))
        peers.know(b, host: "h", port: 2, at: 0)
        _ = peers.tick(at: 0)
        _ = peers.hello(hello("b"), on: ID(1), expected: b, certified: nil, at: 0)
        #expect(peers.forget(b) == [.close(ID(1)), .down(b)])
        #expect(peers.closed(ID(1), at: 1).isEmpty)
        #expect(peers.tick(at: 1_000_000).isEmpty)
    }

    /// Five nodes whose calls and connections end in any order.
    @Test func `however calls cross and connections break, each pair ends with one connection that both sides know`() {
        let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? 1
        print("LinkPeersTests SEED=\(seed)")
        for round in 0..<50 as Range<UInt64> {
            var mesh = Mesh(seed: seed &+ round)
            for _ in 0..<400 { mesh.step(mayBreak: true) }
            for _ in 0..<4_000 { mesh.step(mayBreak: false) }
            mesh.settle()
            for a in mesh.nodes {
                for b in mesh.nodes where a < b {
                    let (there, back) = (mesh.peers[a]?.connection(to: b), mesh.peers[b]?.connection(to: a))
                    #expect(there != nil && there == back, "\(a) and \(b): SEED=\(seed &+ round)")
                }
            }
        }
    }
}

/// Nodes and the connections between them; what each side hears of a connection comes in its order, but connections
/// don't wait for each other.
private struct Mesh {
    struct Wire {
        var caller: NodeID
        var callee: NodeID
        /// What each end still has to hear: a hello, or the end.
        var toCaller: [Bool] = [true]
        var toCallee: [Bool] = [true]
        var isOpen = true
        var callerHeard = false
    }

    let nodes = ["a", "b", "c", "d", "e"].map(Names.node)
    var peers: [NodeID: LinkPeers] = [:]
    var wires: [LinkPeers.ConnectionID: Wire] = [:]
    var random: Seeded
    var now: UInt64 = 0
    var number: UInt64 = 0

    init(seed: UInt64) {
        random = Seeded(state: seed)
        for node in nodes {
            var links = LinkPeers(me: Self.hello(node))
            for other in nodes where other != node { links.know(other, host: other.text, port: 1, at: 0) }
            peers[node] = links
        }
    }

    static func hello(_ node: NodeID) -> LinkHello {
        LinkHello(cluster: "c", node: node, store: 1, boot: 1, shards: 1)
    }

    mutating func step(mayBreak: Bool) {
        switch Int.random(in: 0..<(mayBreak ? 10 : 8), using: &random) {
        case 0, 1:
            now += .random(in: 1...500, using: &random)
            for node in nodes { perform(peers[node]?.tick(at: now) ?? [], at: node) }
        case 8:
            if let id = wires.filter(\.value.isOpen).keys.randomElement(using: &random) { end(id) }
        default:
            guard let id = wires.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else {
                return
            }
            hear(id, asCaller: .random(using: &random))
        }
    }

    /// Lets everything that is under way arrive, without new breaks.
    mutating func settle() {
        for _ in 0..<200 {
            now += 500
            for node in nodes { perform(peers[node]?.tick(at: now) ?? [], at: node) }
            for id in wires.keys.sorted(by: { $0.number < $1.number }) {
                for asCaller in [true, false] {
                    while wires[id].map({ asCaller ? !$0.toCaller.isEmpty : !$0.toCallee.isEmpty }) == true {
                        hear(id, asCaller: asCaller)
                    }
                }
            }
        }
    }

    private mutating func hear(_ id: LinkPeers.ConnectionID, asCaller: Bool) {
        guard var wire = wires[id] else { return }
        let node = asCaller ? wire.caller : wire.callee
        let other = asCaller ? wire.callee : wire.caller
        guard asCaller ? !wire.toCaller.isEmpty : !wire.toCallee.isEmpty else { return }
        let isHello = asCaller ? wire.toCaller.removeFirst() : wire.toCallee.removeFirst()
        if asCaller, isHello { wire.callerHeard = true }
        wires[id] = wire
        if isHello {
            perform(
                peers[node]?.hello(
                    Self.hello(other), on: id, expected: asCaller ? other : nil, certified: nil, at: now) ?? [],
                at: node)
        } else {
            perform(peers[node]?.closed(id, at: now) ?? [], at: node)
            if asCaller { peers[node]?.failed(other, at: now, random: .random(in: 0..<1, using: &random)) }
            if wires[id]?.toCaller.isEmpty == true, wires[id]?.toCallee.isEmpty == true { wires[id] = nil }
        }
    }

    private mutating func end(_ id: LinkPeers.ConnectionID) {
        guard wires[id]?.isOpen == true else { return }
        wires[id]?.isOpen = false
        wires[id]?.toCaller.append(false)
        wires[id]?.toCallee.append(false)
    }

    private mutating func perform(_ effects: [LinkPeers.Effect], at node: NodeID) {
        for effect in effects {
            switch effect {
            case .call(let other, _, _):
                number += 1
                wires[LinkPeers.ConnectionID(number)] = Wire(caller: node, callee: other)
            case .refuse(let id, _), .close(let id), .dismiss(let id): end(id)
            case .up, .down: break
            }
        }
    }
}
