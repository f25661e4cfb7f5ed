import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Idle close (PROTOCOL.md, "Closing").
    @Suite struct RoomsIdleTests {
        private func isClosed(_ node: TestNode, _ room: RoomID) async throws -> Bool {
            try await node.api("GET", "/v1/rooms/\(room)").body.contains(#""closed":true"#)
        }

        /// The server's clock in milliseconds.
        private func time(_ client: TestClient) async throws -> Int64 {
            guard case .ping(let result) = try await client.done(.ping) else { throw TestFailure("no ping") }
            return result.time.milliseconds
        }

        /// Sets the time after which the room closes. Only now, so that whoever is to be there is.
        private func setIdleClose(_ node: TestNode, _ room: RoomID, seconds: Int) async throws {
            let fields = #"{"idleCloseSeconds":\#(seconds),"notify":false}"#
            let answer = try await node.api("PATCH", "/v1/rooms/\(room)", fields)
            #expect(answer.status == 200, "\(answer)")
        }

        @Test func `a room closes when nobody has been in it for its time, and not while somebody is`() async throws {
            try await TestNode.run { node in
                let empty = try await node.createRoom("empty")
                let used = try await node.createRoom("used")
                // Robots are nobody.
                let robots = try await node.api(
                    "POST", "/v1/rooms/\(empty)/robots", #"{"robots":[{"user":"bot"}]}"#)
                #expect(robots.status < 300)
                let ann = try await TestClient.entered(node, "ann", used)
                for room in [used, empty] { try await setIdleClose(node, room, seconds: 2) }
                try await poll("closing") { try await isClosed(node, empty) }
                #expect(try await !isClosed(node, used))
                #expect(try await ann.refusal(of: .enter(EnterRequest(room: empty))).code == .roomClosed)
                try await ann.send(used, "still here")
                try await ann.done(.exit(RoomNameRequest(room: used)))
                try await poll("closing") { try await isClosed(node, used) }
                let history = try await node.api("GET", "/v1/rooms/used/messages?types=NOTIFICATION").fields()
                let kept = try #require(history["messages"] as? [[String: Any]])
                #expect(kept.map { $0["event"] as? Int } == [Int(EventCode.roomClosed.rawValue)], "\(history)")
                #expect(kept.first?["operator"] == nil)
                let reopened = try await node.api("POST", "/v1/rooms/used/reopen", "{}")
                #expect(reopened.status == 200 && !reopened.body.contains(#""closed":true"#), "\(reopened)")
            }
        }

        @Test func `it closes after a restart too, whether somebody was there or not`() async throws {
            let settings = ["session": TestNode.highRates.merging(["graceSeconds": 1]) { $1 }]
            try await TestNode.run(settings) { node in
                let empty = try await node.createRoom("empty")
                let used = try await node.createRoom("used")
                let ann = try await TestClient.entered(node, "ann", used)
                for room in [used, empty] { try await setIdleClose(node, room, seconds: 4) }
                // Mostly the log knows by then that somebody is there; it closes in either case.
                let start = try await time(ann)
                try await poll("two seconds") { try await time(ann) >= start + 2000 }
                await node.kill()
                try await node.start()
                try await poll("closing") { try await isClosed(node, empty) }
                try await poll("closing") { try await isClosed(node, used) }
            }
        }

        @Test func `whoever was there when the node died has the grace to come back before it closes`() async throws {
            let settings = ["session": TestNode.highRates.merging(["graceSeconds": 60]) { $1 }]
            try await TestNode.run(settings) { node in
                let room = try await node.createRoom("back")
                let before = try await TestClient.entered(node, "ann", room)
                _ = before
                // That ann is there is logged within a second; until then the log says that nobody has been since now.
                try await setIdleClose(node, room, seconds: 1)
                await node.kill()
                try await node.start()
                // Rooms that this leader itself knows to be empty close on time: meanwhile it has looked at all
                // deadlines.
                let known = try await node.createRoom("known", fields: #","idleCloseSeconds":2"#)
                try await poll("closing") { try await isClosed(node, known) }
                #expect(try await !isClosed(node, room))
                let ann = try await TestClient.entered(node, "ann", room)
                try await ann.send(room, "here")
                try await ann.done(.exit(RoomNameRequest(room: room)))
                try await poll("closing") { try await isClosed(node, room) }
            }
        }
    }
}
