import ChatModel
import Testing

@testable import Node

/// Each node's record is on two nodes (PROTOCOL.md, "Audit").
@Suite struct AuditRingTests {
    private static func record(_ name: String, _ store: UInt64) -> NodeRecord {
        guard let node = NodeID(name) else { preconditionFailure("\(name) is a node ID") }
        return NodeRecord(node: node, store: store)
    }

    private let n1 = record("n1", 1)
    private let n2 = record("n2", 2)
    private let n3 = record("n3", 3)
    private let n4 = record("n4", 4)

    private func duties(
        _ own: NodeRecord, of recorded: [NodeRecord], listed: [NodeRecord], reached: [NodeRecord]
    ) -> [AuditRing.Duty] {
        AuditRing(listed).duties(of: own.node, recorded: recorded.map(\.node), reached: Set(reached.map(\.node)))
    }

    @Test func `the next node of the ring has the copy, for the last one the first`() {
        let all = [n3, n1, n2]
        #expect(
            duties(n1, of: [n1, n3], listed: all, reached: [n2]) == [AuditRing.Duty(record: n1.node, holder: n2)])
        #expect(duties(n3, of: [n3], listed: all, reached: [n1, n2]) == [AuditRing.Duty(record: n3.node, holder: n1)])
    }

    @Test func `while the next one is away another one stands in for it, which gets what that one has not`() {
        #expect(
            duties(n1, of: [n1], listed: [n1, n2, n3], reached: [n3])
                == [AuditRing.Duty(record: n1.node, holder: n3, standsInFor: 2)])
        #expect(duties(n1, of: [n1], listed: [n1, n2, n3], reached: []) == [])
        #expect(duties(n1, of: [n1], listed: [n1], reached: []) == [])
    }

    @Test func `the record of a node that was removed is copied on by the node behind its place, and by no other`() {
        let listed = [n1, n3, n4]
        #expect(
            duties(n3, of: [n2, n3], listed: listed, reached: [n1, n4]) == [
                AuditRing.Duty(record: n2.node, holder: n4), AuditRing.Duty(record: n3.node, holder: n4),
            ])
        #expect(duties(n4, of: [n2, n4], listed: listed, reached: [n1, n3]).map(\.record) == [n4.node])
        #expect(duties(n1, of: [n4], listed: [n1, n2], reached: [n2]) == [AuditRing.Duty(record: n4.node, holder: n2)])
    }

    @Test func `the keeper gives a node its record back, if it has not got it`() {
        #expect(
            duties(n2, of: [n1, n2, n3], listed: [n1, n2, n3], reached: [n1, n3]) == [
                AuditRing.Duty(record: n1.node, holder: n1), AuditRing.Duty(record: n2.node, holder: n3),
            ])
    }
}
