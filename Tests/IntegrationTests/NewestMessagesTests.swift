import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Entering with the newest messages (PROTOCOL.md, "Newest messages").
    @Suite struct NewestMessagesTests {
        @Test(arguments: ClientEncoding.allCases)
        func `the newest messages and the live ones are one sequence, however much is said meanwhile`(
            _ encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(["loops": 2], encoding: encoding) { node in
                let room = try await node.createRoom("busy")
                let writer = try await TestClient.connected(node, "writer")
                try await writer.enter(room)
                for number in 0..<30 { try await writer.send(room, "before \(number)") }
                let speaking = Task {
                    var number = 0
                    while !Task.isCancelled {
                        try await writer.send(room, "meanwhile \(number)")
                        number += 1
                    }
                }
                for number in 0..<10 {
                    let viewer = try await TestClient.connected(node, "viewer\(number)")
                    let entered = try await viewer.enter(EnterRequest(room: room, history: 20))
                    let missed = (entered.missed ?? []).compactMap(\.seq)
                    #expect(missed == Array(entered.seq - 19...entered.seq))
                    #expect(entered.recovered == nil && entered.missedMore == nil)
                    try await viewer.wait(for: "live messages") {
                        await viewer.messages(of: room).count >= 3 ? () : nil
                    }
                    let live = await viewer.messages(of: room).compactMap(\.seq)
                    #expect(live == Array(entered.seq + 1...entered.seq + UInt64(live.count)))
                }
                speaking.cancel()
                _ = await speaking.result
            }
        }
    }
}
