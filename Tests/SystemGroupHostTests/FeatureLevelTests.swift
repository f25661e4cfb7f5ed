import ChatModel
import GroupDriver
import Testing
import Wire

@testable import SystemGroupHost

/// The cluster's feature level in the system group's state.
struct FeatureLevelTests {
    private var state = SystemState()
    private let two = FeatureLevel(2)

    init() throws { try create(at: .first) }

    private mutating func create(at level: FeatureLevel) throws {
        state = SystemState()
        _ = apply(
            .createCluster(id: "c", shardCount: 16, node: try Self.node("n1"), store: 11, level: level))
    }

    private static func node(_ name: String) throws -> NodeID { try #require(NodeID(name)) }

    private mutating func apply(_ command: SystemCommand) -> (result: SystemResult, change: SystemChange?) {
        state.apply(SystemEntry(time: Timestamp(1), key: nil, command: command), index: 1)
    }

    @Test mutating func `a cluster begins with the level of the program that creates it`() throws {
        #expect(state.level == .first)
        try create(at: two)
        #expect(state.level == two)
    }

    @Test mutating func `the level is raised when every listed node has said that it can do it`() throws {
        _ = apply(.addNode(NodeRecord(node: try Self.node("n2"), store: 22)))
        let (refused, nothing) = apply(.raiseLevel(two, stores: [11]))
        #expect(refused.isRefusal)
        #expect(nothing == nil && state.level == .first)
        let (done, change) = apply(.raiseLevel(two, stores: [22, 11, 33]))
        #expect(done == .done)
        #expect(change == .level(two) && state.level == two)
    }

    @Test mutating func `a node that comes with another store has said nothing`() throws {
        _ = apply(.addNode(NodeRecord(node: try Self.node("n1"), store: 12)))
        #expect(apply(.raiseLevel(two, stores: [11])).result.isRefusal)
    }

    @Test mutating func `nothing lowers it, and a repeat changes nothing`() {
        _ = apply(.raiseLevel(FeatureLevel(3), stores: [11]))
        for level in [1, 2, 3] {
            let (result, change) = apply(.raiseLevel(FeatureLevel(level), stores: [11]))
            #expect(result == .done)
            #expect(change == nil && state.level == FeatureLevel(3))
        }
    }

    @Test mutating func `the state on disk has it, and one from before levels is of the first`() throws {
        let before = state.snapshot(appliedIndex: 1)
        #expect(try SystemCodec.decodeSnapshot(SystemCodec.encode(before), own: .newest).level == .first)
        _ = apply(.raiseLevel(two, stores: [11]))
        let after = try SystemCodec.decodeSnapshot(SystemCodec.encode(state.snapshot(appliedIndex: 2)), own: .newest)
        #expect(after.level == two)
        #expect(SystemState(restoring: after).level == two)
        #expect(SystemState(restoring: after).changes(since: SystemState(restoring: before)) == [.level(two)])
    }
    @Test func `a state with what is not known is not used, and one of a higher level is told by its level`() throws {
        var state = SystemState().snapshot(appliedIndex: 1)
        state.level = two
        let field: [UInt8] = [0xC0, 0xA9, 0x07, 0x01]
        #expect(try SystemGroup.snapshot(of: SystemCodec.encode(state), own: two) == state)
        let unknown = #expect(throws: UnknownContent.self) {
            try SystemGroup.snapshot(of: SystemCodec.encode(state) + field, own: two)
        }
        #expect(unknown?.message.contains("the field 15000 is not known") == true)
        let higher = #expect(throws: UnknownContent.self) {
            try SystemGroup.snapshot(of: SystemCodec.encode(state) + field, own: .first)
        }
        #expect(higher == UnknownContent(level: two, own: .first))
        #expect(throws: WireError.self) { try SystemGroup.snapshot(of: [0xFF], own: two) }
    }
}
