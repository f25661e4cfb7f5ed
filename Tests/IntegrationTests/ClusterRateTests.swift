import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// What all sessions of a user may ask together, at different nodes.
    @Suite struct ClusterRateTests {
        @Test func `what a user has used up at one node is missing at the other`() async throws {
            // So little flows in that what is used up stays so while the test runs.
            let rates = ["changesPerSecond": 1, "changesBurst": 200]
            try await TestCluster.run(2, shards: 1, rates: rates) { cluster in
                try await cluster.start(2)
                // In rooms of their own, where they do not put each other out.
                let rooms = try await (0...3).asyncMap { try await cluster.room("rates\($0)") }
                let (first, second) = (cluster.nodes[0], cluster.nodes[1])
                let there = try await TestClient.connected(second, "ann", encoding: .json)
                try await there.enter(rooms[0])
                // Three sessions have all that there is for a user.
                for room in rooms[1...] {
                    let here = try await TestClient.connected(first, "ann", encoding: .json)
                    try await here.enter(room)
                    let answers = try await here.askAtOnce((1..<200).map { .text(room, "\($0)") })
                    for answer in answers { _ = try answer.get() }
                }
                // This session alone could go on for long.
                var asked = 0
                try await poll("the second node hears of it") {
                    asked += 1
                    guard case .failure(let error) = try await there.ask(.text(rooms[0], "there")) else { return false }
                    #expect(error.code == .tooOften)
                    return true
                }
                #expect(asked < 190)
                // Another user is not concerned.
                let bob = try await TestClient.connected(second, "bob", encoding: .json)
                try await bob.enter(rooms[0])
                _ = try await bob.ask(.text(rooms[0], "bob")).get()
            }
        }
    }
}
