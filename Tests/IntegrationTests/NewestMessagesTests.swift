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

        @Test(arguments: ClientEncoding.allCases)
        func `a recalled message is there without its body, and what cannot be recovered is the newest`(
            _ encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("recalled")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                let sent = try await ann.send(room, "secret")
                _ = try await ann.done(.recall(RecallRequest(room: room, messageID: sent.messageID, clientID: "r")))
                try await ann.send(room, "last")
                let entered = try await ann.enter(
                    EnterRequest(room: room, since: 0, epoch: "another", history: 3))
                #expect(entered.recovered == false && entered.missedMore == nil)
                let missed = entered.missed ?? []
                #expect(missed.compactMap(\.seq) == Array(entered.seq - 2...entered.seq))
                #expect(missed.first?.body == .recalled(.text) && missed.last?.text == "last")
                let error = try await ann.refusal(of: .enter(EnterRequest(room: room, history: 101)))
                #expect(error.code == .badParameter && error.field == "history")
            }
        }
    }
}
