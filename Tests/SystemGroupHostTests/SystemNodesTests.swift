import ChatModel
import Testing
import Wire

@testable import SystemGroupHost

/// The list of nodes in the system group's state.
struct SystemNodesTests {
    private var state = SystemState()
    private let first = Self.node("n1")
    private let second = Self.node("n2")

    private static func node(_ name: String) -> NodeID {
        guard let node = NodeID(name) else { preconditionFailure("\(name) is no node") }
        return node
    }

    init() {
        _ = state.apply(
            SystemEntry(
                time: Timestamp(1), key: nil,
                command: .createCluster(id: "c", shardCount: 16, node: first, store: 11, level: .first)), index: 1)
    }

    private mutating func apply(_ command: SystemCommand, at milliseconds: Int64 = 10) -> (
        result: SystemResult, change: SystemChange?
    ) {
        state.apply(SystemEntry(time: Timestamp(milliseconds), key: nil, command: command), index: 2)
    }

    private func record(_ node: NodeID, store: UInt64, _ link: String = "") -> NodeRecord {
        NodeRecord(node: node, store: store, linkAddress: link, clientURLs: ["ws://\(node)"])
    }

    @Test mutating func `the node that creates the cluster is its first, and says later how it is reached`() {
        #expect(state.nodes == [NodeRecord(node: first, store: 11, takenInAt: Timestamp(1))])
        var told = record(first, store: 11, "127.0.0.1:7402")
        let (result, change) = apply(.addNode(told))
        told.takenInAt = Timestamp(1)
        #expect(result == .done)
        #expect(change == .nodes([told]))
        #expect(state.nodes == [told])
    }

    @Test mutating func `the same record again changes nothing, and nobody is told`() {
        _ = apply(.addNode(record(second, store: 22)))
        let before = state.nodes
        #expect(before.map(\.takenInAt) == [Timestamp(1), Timestamp(10)])
        let (result, change) = apply(.addNode(record(second, store: 22)), at: 99)
        #expect(result == .done)
        #expect(change == nil)
        #expect(state.nodes == before)
    }

    @Test mutating func `another store of a known node replaces the store, and what else it says is as newly said`() {
        _ = apply(.addNode(record(second, store: 22, "old:1")))
        _ = apply(.setDraining(second, true))
        _ = apply(.addNode(record(second, store: 33, "new:1")), at: 50)
        #expect(state.nodes.count == 2)
        #expect(state.nodes.last?.store == 33)
        #expect(state.nodes.last?.linkAddress == "new:1")
        #expect(state.nodes.last?.takenInAt == Timestamp(50))
        // An operator's decision is not the node's.
        #expect(state.nodes.last?.isDraining == true)
    }

    @Test mutating func `a node is taken out, but not the last that holds rooms`() {
        guard case .refused(let last) = apply(.removeNode(first, certificate: nil)).result else {
            Issue.record("the last node was removed")
            return
        }
        #expect(last.code == .conflict)
        var gateway = record(second, store: 22)
        gateway.role = .gateway
        _ = apply(.addNode(gateway))
        #expect(apply(.removeNode(first, certificate: nil)).result == .refused(last))
        _ = apply(.addNode(record(second, store: 22)))
        let (result, change) = apply(.removeNode(first, certificate: nil))
        #expect(result == .done)
        #expect(change == .nodes(state.nodes))
        #expect(state.nodes.map(\.node) == [second])
        // Nor does it become a node that holds none.
        #expect(apply(.addNode(gateway)).result == .refused(last))
        guard case .refused(let unknown) = apply(.removeNode(first, certificate: nil)).result else {
            Issue.record("a node that there is not was removed")
            return
        }
        #expect(unknown.code == .notFound)
    }

    private mutating func refusal(_ command: SystemCommand) -> ChatError? {
        if case .refused(let error) = apply(command).result { error } else { nil }
    }

    @Test mutating func `who was taken out does not come again with whatever store, before it is readmitted`() throws {
        _ = apply(.addNode(record(second, store: 22)))
        _ = apply(.removeNode(second, certificate: [7]))
        #expect(state.refusedNodes.nodes == [second])
        #expect(state.refusedNodes.certificates == [[7]])
        // The store is a number of its own choice.
        for store in [22, 33, .max] as [UInt64] {
            #expect(refusal(.addNode(record(second, store: store)))?.code == .conflict)
        }
        #expect(refusal(.readmitNode(Self.node("x")))?.code == .notFound)
        let (result, change) = apply(.readmitNode(second))
        #expect(result == .done && change == .nodes(state.nodes))
        #expect(apply(.readmitNode(second)).change == nil)
        #expect(state.refusedNodes.nodes == [] && state.refusedNodes.certificates == [])
        #expect(refusal(.addNode(record(second, store: 22)))?.code == .conflict, "its old data is void")
        #expect(apply(.addNode(record(second, store: 33))).result == .done)
        // Taken out again it is out again.
        _ = apply(.removeNode(second, certificate: nil))
        #expect(refusal(.addNode(record(second, store: 44)))?.code == .conflict)
        let bytes = SystemCodec.encode(state.snapshot(appliedIndex: 3))
        let restored = SystemState(restoring: try SystemCodec.decodeSnapshot(bytes, own: .newest))
        #expect(restored.removed == state.removed && restored.refusedNodes == state.refusedNodes)
        var before = restored
        before.removed = []
        #expect(restored.changes(since: before) == [.nodes(state.nodes)])
    }

    @Test mutating func `a node that lost its disk comes again without an operator, and its former store is out`() {
        _ = apply(.addNode(record(second, store: 22)))
        #expect(apply(.addNode(record(second, store: 33))).result == .done)
        #expect(apply(.addNode(record(second, store: .max))).result == .done)
        #expect(state.refusedNodes.nodes == [])
        #expect(state.refusedNodes.stores == [second: [22, 33]])
        #expect(refusal(.addNode(record(second, store: 22)))?.code == .conflict)
    }

    @Test mutating func `none that an operator has taken out is forgotten`() {
        for number in 0...UInt64(SystemState.removedMax) {
            _ = apply(.addNode(record(second, store: number)))
        }
        // Former stores of a node that is here: the oldest go.
        #expect(state.removed.count == SystemState.removedMax)
        #expect(state.removed.first?.store == 0)
        for number in 0..<SystemState.removedMax {
            let node = Self.node("m\(number)")
            _ = apply(.addNode(record(node, store: 5)))
            #expect(apply(.removeNode(node, certificate: nil)).result == .done)
        }
        #expect(
            state.removed.count == SystemState.removedMax && state.refusedNodes.nodes.count == SystemState.removedMax)
        _ = apply(.addNode(record(Self.node("last"), store: 5)))
        let refused = refusal(.removeNode(Self.node("last"), certificate: nil))
        #expect(refused?.code == .conflict && refused?.message.contains("readmit") == true)
        #expect(state.nodes.contains { $0.node == Self.node("last") })
        // A node may lose its disk all the same.
        #expect(apply(.addNode(record(second, store: 1_000))).result == .done)
        #expect(state.refusedNodes.nodes.count == SystemState.removedMax)
        #expect(apply(.readmitNode(Self.node("m0"))).result == .done)
        #expect(apply(.removeNode(Self.node("last"), certificate: nil)).result == .done)
    }

    @Test mutating func `draining begins and ends, once each`() {
        let (result, change) = apply(.setDraining(first, true))
        #expect(result == .done)
        #expect(change == .nodes(state.nodes))
        #expect(state.nodes.first?.isDraining == true)
        #expect(apply(.setDraining(first, true)).change == nil)
        #expect(apply(.setDraining(first, false)).change == .nodes(state.nodes))
        #expect(state.nodes.first?.isDraining == false)
        guard case .refused(let unknown) = apply(.setDraining(second, true)).result else {
            Issue.record("a node that there is not drains")
            return
        }
        #expect(unknown.code == .notFound)
    }

    @Test mutating func `there are exactly so many nodes, URLs and bytes as the bounds say`() {
        for number in 1..<SystemState.nodesMax {
            #expect(apply(.addNode(record(Self.node("m\(number)"), store: 1))).result == .done)
        }
        #expect(state.nodes.count == SystemState.nodesMax)
        guard case .refused = apply(.addNode(record(Self.node("more"), store: 1))).result else {
            Issue.record("a node beyond the bound was taken")
            return
        }
        var full = NodeRecord(node: first, store: 11)
        full.clientURLs = Array(repeating: "", count: NodeRecord.clientURLsMax)
        full.linkAddress = String(repeating: "a", count: SystemState.nodeBytesMax)
        #expect(apply(.addNode(full)).result == .done)
        var tooMany = full
        tooMany.clientURLs.append("")
        var tooLong = full
        tooLong.linkAddress.append("a")
        for record in [tooMany, tooLong] {
            guard case .refused(let error) = apply(.addNode(record)).result else {
                Issue.record("a record beyond the bound was taken")
                return
            }
            #expect(error.code == .tooLarge)
        }
    }

    @Test mutating func `a snapshot has all of it, and one of before is read`() throws {
        var gateway = record(second, store: .max, "[::1]:7402")
        gateway.role = .gateway
        _ = apply(.addNode(gateway))
        _ = apply(.setDraining(second, true))
        let bytes = SystemCodec.encode(state.snapshot(appliedIndex: 9))
        #expect(SystemState(restoring: try SystemCodec.decodeSnapshot(bytes, own: .newest)).nodes == state.nodes)
        // applied 7, cluster "c", 16 shards, one node: "n1" with store 2^64 - 1.
        let old: [UInt8] =
            [0x08, 7, 0x12, 1, 0x63, 0x18, 16, 0x22, 15, 0x0A, 2, 0x6E, 0x31, 0x10]
            + [UInt8](repeating: 0xFF, count: 9) + [1]
        let restored = SystemState(restoring: try SystemCodec.decodeSnapshot(old, own: .newest))
        #expect(restored.nodes == [NodeRecord(node: first, store: .max)])
    }
}
