import Foundation
import Testing

@testable import ControlClient
@testable import chatroomctl

@Suite struct HealthTests {
    private func verdict(_ nodes: [(alive: Bool, ready: Bool)]) -> CommandFailure? {
        HealthCommand.verdict(
            nodes.enumerated().map { place, node in
                (
                    ClusterFile.Node(id: "n\(place + 1)", api: "127.0.0.1:740\(place + 1)"),
                    HealthCommand.Report(alive: node.alive, ready: node.ready, reason: "reason \(place + 1)")
                )
            })
    }

    @Test func `all serve`() {
        #expect(verdict([(true, true), (true, true)]) == nil)
    }

    @Test func `with one of three dead nobody is told to start a cluster`() throws {
        let failure = try #require(verdict([(true, true), (false, false), (true, true)]))
        #expect(failure.code == .unreachable)
        #expect(failure.message.hasPrefix("1 of 3 nodes can't be reached: n2 (127.0.0.1:7402)"))
        #expect(!failure.message.contains("cluster/up"))
    }

    @Test func `without any node there may be no cluster`() throws {
        let failure = try #require(verdict([(false, false), (false, false)]))
        #expect(failure.code == .unreachable)
        #expect(failure.message == "reason 1. Start a cluster with cluster/up")
    }

    @Test func `who lives and does not serve is named with the reason`() throws {
        let failure = try #require(verdict([(true, true), (true, false)]))
        #expect(failure.code == .refused)
        #expect(failure.message == "n2 (127.0.0.1:7402) does not serve yet: reason 2")
    }

    @Test func `a node that stays so does not serve, and nobody is told to wait`() throws {
        let report = HealthCommand.Report(alive: true, ready: false, reason: "drained", mayPass: false)
        let failure = try #require(HealthCommand.verdict([(ClusterFile.Node(id: "n2", api: "h:1"), report)]))
        #expect(failure.message == "n2 (h:1) does not serve: drained")
    }

    @Test func `a cluster of fewer than three nodes says that it has one copy of each shard`() throws {
        func copies(alive: Int, dead: Int) throws -> Bool {
            let text =
                #"{"shards":128,"withoutLeader":0,"underReplicated":0,"nodes":{"alive":\#(alive),"dead":\#(dead)}}"#
            let lines = ClusterCommand.Health.lines(try JSONTree(parsing: Data(text.utf8)))
            return lines.contains { $0.hasPrefix("copies") && $0.contains("one of each shard") }
        }
        #expect(try copies(alive: 1, dead: 0) && copies(alive: 2, dead: 0))
        #expect(try !copies(alive: 3, dead: 0) && !copies(alive: 2, dead: 1))
    }
}
