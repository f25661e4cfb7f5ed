import SwimTestKit
import Testing

/// Gossip among more nodes than the cluster's simulation has; `swift run simulate gossip --nodes 1000` measures.
struct GossipScaleTests {
    @Test func `sixty nodes find each other, and a death and a departure are known everywhere`() throws {
        var scale = GossipScale(nodes: 60, seed: 1)
        for _ in 0..<60 { scale.start() }
        _ = try #require(scale.run(atMost: .seconds(60)) { $0.isConverged })
        scale.run(.seconds(10))
        scale.crash(7)
        _ = try #require(scale.run(atMost: .seconds(60)) { $0.believers(in: 7) == 0 })
        scale.leave(8)
        let departure = try #require(scale.run(atMost: .seconds(60)) { $0.believers(in: 8) == 0 })
        #expect(departure < .seconds(5))
        _ = scale.takeTraffic()
        scale.run(.seconds(20))
        let bytes = scale.takeTraffic().bytesPerNodeAndSecond(nodes: scale.runningCount, .seconds(20))
        #expect(bytes > 0 && bytes < 5_000, "\(bytes) bytes a node and second")
        #expect(scale.falseDeaths == 0 && scale.tooLong == 0)
    }
}
