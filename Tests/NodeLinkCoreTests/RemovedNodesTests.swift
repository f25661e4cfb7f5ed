import ChatModel
import Testing

@testable import NodeLinkCore

/// What becomes of nodes that were taken out of the cluster.
@Suite struct RemovedNodesTests {
    typealias ID = LinkPeers.ConnectionID

    private let b = Names.node("b")

    private func hello(_ node: String, store: UInt64, boot: UInt64 = 1) -> LinkHello {
        LinkHello(cluster: "c", node: Names.node(node), store: store, boot: boot, shards: 16)
    }

    private func refusal(_ effects: [LinkPeers.Effect], on connection: UInt64) -> LinkError.Code? {
        guard case .refuse(ID(connection), let error)? = effects.first, effects.count == 1 else { return nil }
        return error.code
    }

    private func stores(_ stores: [NodeID: Set<UInt64>]) -> RefusedNodes {
        var refused = RefusedNodes()
        refused.stores = stores
        return refused
    }

    @Test func `a node that an operator has taken out is refused whatever store it says it has`() {
        var peers = LinkPeers(me: hello("a", store: 1))
        _ = peers.hello(hello("b", store: 2), on: ID(1), expected: nil, certified: b, at: 0)
        var refused = stores([b: [2]])
        refused.nodes = [b]
        #expect(refusal(peers.refuse(refused), on: 1) == .removed)
        _ = peers.closed(ID(1), at: 1)
        for store in [2, 3, .max] as [UInt64] {
            let effects = peers.hello(hello("b", store: store), on: ID(2), expected: nil, certified: b, at: 1)
            #expect(refusal(effects, on: 2) == .removed)
        }
        // Readmitted it may come, but not with what it had.
        #expect(peers.refuse(stores([b: [2]])) == [])
        let old = peers.hello(hello("b", store: 2), on: ID(3), expected: nil, certified: b, at: 1)
        #expect(refusal(old, on: 3) == .removed)
        _ = peers.hello(hello("b", store: 3), on: ID(4), expected: nil, certified: b, at: 1)
        #expect(peers.reached == [b])
    }

    @Test func `a certificate of a removed node is refused under any name`() {
        var peers = LinkPeers(me: hello("a", store: 1))
        let (stolen, other) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let d = Names.node("d")
        _ = peers.hello(hello("d", store: 4), on: ID(1), expected: nil, certified: d, certificate: stolen, at: 0)
        #expect(peers.reached == [d])
        var refused = RefusedNodes()
        refused.certificates = [stolen]
        #expect(refusal(peers.refuse(refused), on: 1) == .removed)
        _ = peers.closed(ID(1), at: 1)
        let again = peers.hello(
            hello("d", store: 5), on: ID(2), expected: nil, certified: d, certificate: stolen, at: 1)
        #expect(refusal(again, on: 2) == .removed)
        _ = peers.hello(hello("d", store: 4), on: ID(3), expected: nil, certified: d, certificate: other, at: 1)
        #expect(peers.reached == [d])
    }

    @Test func `with the store that it had a removed node is refused, with a new one it is heard`() {
        var peers = LinkPeers(me: hello("a", store: 1))
        #expect(peers.refuse(stores([b: [2, 3]])) == [])
        for store in [2, 3] as [UInt64] {
            let effects = peers.hello(hello("b", store: store), on: ID(1), expected: nil, certified: b, at: 0)
            #expect(refusal(effects, on: 1) == .removed)
        }
        peers.know(b, host: "h", port: 2, at: 0)
        #expect(
            refusal(peers.hello(hello("b", store: 2), on: ID(2), expected: b, certified: b, at: 0), on: 2) == .removed)
        #expect(peers.reached == [])
        // A node without data is not refused: it has none yet.
        let question = peers.hello(.newcomer(b), on: ID(5), expected: nil, certified: b, at: 0)
        #expect(question == [.dismiss(ID(5))])
        _ = peers.hello(hello("b", store: 4), on: ID(3), expected: nil, certified: b, at: 0)
        #expect(peers.reached == [b])
        // The former store does not displace the new one, with whatever boot.
        let late = peers.hello(hello("b", store: 2, boot: 9), on: ID(4), expected: nil, certified: b, at: 0)
        #expect(refusal(late, on: 4) == .removed)
        #expect(peers.connection(to: b) == ID(3))
        // A process without data would take the place of the node that is connected.
        let twin = peers.hello(.newcomer(b), on: ID(6), expected: nil, certified: b, at: 0)
        #expect(refusal(twin, on: 6) == .taken)
    }

    @Test func `the connection of a node that is removed ends, and that of others stays`() {
        var peers = LinkPeers(me: hello("a", store: 1))
        _ = peers.hello(hello("b", store: 2), on: ID(1), expected: nil, certified: nil, at: 0)
        _ = peers.hello(hello("d", store: 2), on: ID(2), expected: nil, certified: nil, at: 0)
        #expect(peers.refuse(stores([b: [1]])) == [])
        #expect(refusal(peers.refuse(stores([b: [1, 2]])), on: 1) == .removed)
        #expect(peers.closed(ID(1), at: 1) == [.down(b)])
        #expect(peers.reached == [Names.node("d")])
    }
}
