import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// How often one may, with the rates that hold without any setting.
    @Suite struct RateTests {
        private static var defaults: [String: Any] { ["session": ["graceSeconds": 10]] }

        @Test func `twenty changes and twenty reads pass at once, and the next one of each waits`() async throws {
            try await TestNode.run(Self.defaults) { node in
                let room = try await node.createRoom("rates")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                let enter = ClientOperation.enter(EnterRequest(room: room))
                let answers = try await ann.askAtOnce(
                    [enter] + (1...20).map { .text(room, "\($0)", clientID: "c\($0)") })
                for answer in answers.prefix(20) { _ = try answer.get() }
                guard case .failure(let error)? = answers.last else { throw TestFailure("the 21st passed") }
                #expect(error.code == .tooOften && error.retryAfterMs == 100)
                #expect(try await ann.wholeHistory(room).count == 19)

                // The refused try has not used its clientId up.
                var again = try await ann.ask(.text(room, "20", clientID: "c20"))
                try await poll("a place in the rate") {
                    guard case .failure(let error) = again else { return true }
                    #expect(error.code == .tooOften)
                    again = try await ann.ask(.text(room, "20", clientID: "c20"))
                    return false
                }
                #expect(try await ann.wholeHistory(room).compactMap(\.text).last == "20")
                #expect(try await ann.wholeHistory(room).count == 20)

                let bob = try await TestClient.connected(node, "bob", encoding: .json)
                let reads = [ClientOperation](repeating: .room(RoomNameRequest(room: room)), count: 21)
                let views = try await bob.askAtOnce([enter] + reads)
                for answer in views.prefix(21) { _ = try answer.get() }
                guard case .failure(let wait)? = views.last else { throw TestFailure("the 21st read passed") }
                #expect(wait.code == .tooOften && wait.retryAfterMs == 50)
                // Reads and changes are counted apart.
                try await bob.send(room, "a change")
            }
        }
    }
}
