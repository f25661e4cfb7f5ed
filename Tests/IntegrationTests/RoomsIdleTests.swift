import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Idle close (contract, "Closing").
    @Suite struct RoomsIdleTests {
        private func isClosed(_ node: TestNode, _ room: RoomID) async throws -> Bool {
            try await node.api("GET", "/v1/rooms/\(room)").body.contains(#""closed":true"#)
        }

        /// The server's clock in milliseconds.
        private func time(_ client: TestClient) async throws -> Int64 {
            guard case .ping(let result) = try await client.done(.ping) else { throw TestFailure("no ping") }
            return result.time.milliseconds
        }

        @Test func `a room closes when nobody has been in it for its time, and not while somebody is`() async throws {
            try await TestNode.run { node in
                let empty = try await node.createRoom("empty", fields: #","idleCloseSeconds":2"#)
                let used = try await node.createRoom("used", fields: #","idleCloseSeconds":2"#)
                // Robots are nobody.
                let robots = try await node.api(
                    "POST", "/v1/rooms/\(empty)/robots", #"{"robots":[{"user":"bot"}]}"#)
                #expect(robots.status < 300)
                let ann = try await TestClient.entered(node, "ann", used)
                try await poll("closing") { try await isClosed(node, empty) }
                #expect(try await !isClosed(node, used))
                #expect(try await ann.refusal(of: .enter(EnterRequest(room: empty))).code == .roomClosed)
                try await ann.send(used, "still here")
                try await ann.done(.exit(RoomRequest(room: used)))
                try await poll("closing") { try await isClosed(node, used) }
                #expect(try await node.api("POST", "/v1/rooms/used/reopen", "{}").status < 300)
                try await ann.enter(used)
                let kept = try await ann.wholeHistory(used)
                #expect(kept.compactMap(\.notification?.event) == [.roomClosed])
                #expect(kept.last?.notification?.operator == nil)
            }
        }

        @Test func `it closes after a restart too, whether somebody was there or not`() async throws {
            let settings = ["session": TestNode.highRates.merging(["graceSeconds": 1]) { $1 }]
            try await TestNode.run(settings) { node in
                let empty = try await node.createRoom("empty", fields: #","idleCloseSeconds":4"#)
                let used = try await node.createRoom("used", fields: #","idleCloseSeconds":4"#)
                let back = try await node.createRoom("back", fields: #","idleCloseSeconds":4"#)
                let ann = try await TestClient.entered(node, "ann", used)
                try await ann.enter(back)
                // A second later the log knows.
                let start = try await time(ann)
                try await poll("two seconds") { try await time(ann) >= start + 2000 }
                await node.kill()
                try await node.start()
                let again = try await TestClient.entered(node, "ann", back)
                try await poll("closing") { try await isClosed(node, empty) }
                try await poll("closing") { try await isClosed(node, used) }
                #expect(try await !isClosed(node, back))
                try await again.send(back, "here")
            }
        }
    }
}
