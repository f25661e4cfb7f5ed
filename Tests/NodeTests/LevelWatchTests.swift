import ChatModel
import Testing

@testable import Node

/// When the feature level is raised by itself, as a dialogue.
struct LevelWatchTests {
    private let one = FeatureLevel(1)
    private let two = FeatureLevel(2)
    private let three = FeatureLevel(3)
    private var watch = LevelWatch(patienceSeconds: 600)

    private static func node(_ name: String, store: UInt64 = 1) -> LevelWatch.Listed {
        guard let node = NodeID(name) else { preconditionFailure("\(name) is no node") }
        return LevelWatch.Listed(node: node, store: store)
    }

    private let nodes = [Self.node("a"), Self.node("b")]

    private mutating func look(
        _ answers: [Int?], at seconds: Double, listed: [LevelWatch.Listed]? = nil, level: FeatureLevel? = nil
    ) -> FeatureLevel? {
        var said: [NodeID: FeatureLevel] = [:]
        for (node, answer) in zip(listed ?? nodes, answers) { said[node.node] = answer.map { FeatureLevel($0) } }
        return watch.look(at: listed ?? nodes, answers: said, level: level ?? one, seconds: seconds)?.level
    }

    @Test mutating func `ten minutes after all can do the next level it is due`() {
        #expect(look([2, 1], at: 0) == nil)
        #expect(look([2, 2], at: 100) == nil)
        #expect(look([2, 2], at: 699) == nil)
        #expect(look([2, 2], at: 700) == two)
        #expect(look([2, 2], at: 701, level: two) == nil)
    }

    @Test mutating func `a node that goes back to the program before makes it begin anew`() {
        _ = look([2, 2], at: 0)
        #expect(look([2, 1], at: 500) == nil)
        #expect(look([2, 2], at: 600) == nil)
        #expect(look([2, 2], at: 1_199) == nil)
        #expect(look([2, 2], at: 1_200) == two)
    }

    @Test mutating func `a restart does not make it begin anew, but all must be there when it is raised`() {
        _ = look([2, 2], at: 0)
        #expect(look([2, nil], at: 300) == nil)
        #expect(look([2, nil], at: 600) == nil)
        #expect(look([2, 2], at: 630) == two)
    }

    @Test mutating func `a node that has never answered keeps it down, also one that came with another store`() {
        #expect(look([2, nil], at: 0) == nil)
        #expect(look([2, nil], at: 10_000) == nil)
        _ = look([2, 2], at: 10_001)
        let other = [Self.node("a"), Self.node("b", store: 2)]
        #expect(look([2, nil], at: 20_000, listed: other) == nil)
        #expect(look([2, 2], at: 20_001, listed: other) == nil)
        #expect(look([2, 2], at: 20_601, listed: other) == two)
    }

    @Test mutating func `it is raised to what all can do, not to the next one only`() {
        _ = look([3, 4], at: 0)
        #expect(look([3, 4], at: 600) == three)
    }

    @Test mutating func `without a time an operator raises it`() {
        watch = LevelWatch(patienceSeconds: nil)
        #expect(look([2, 2], at: 0) == nil)
        #expect(look([2, 2], at: 1_000_000) == nil)
    }
}
