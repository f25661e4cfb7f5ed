import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// The queue and its seats (PROTOCOL.md, "Seats").
    @Suite struct RoomsQueueTests {
        /// Session settings with that grace.
        private static func grace(_ seconds: Int) -> [String: Any] {
            ["session": TestNode.highRates.merging(["graceSeconds": seconds]) { $1 }]
        }

        /// The elements that a 320 tells to be gone.
        private func gone(_ told: Message?) throws -> [QueueElement] {
            guard case .queueBatch(.partClear, let elements)? = told?.notification?.data else {
                throw TestFailure("no end of elements: \(String(describing: told))")
            }
            return elements
        }

        @Test func `a drop holds the seat for the grace, in which its owner keeps it`() async throws {
            try await TestNode.run(Self.grace(60)) { node in
                let room = try await node.createRoom("held")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                try await bob.set(room, "seat", transient: true)
                #expect(try await ann.queue(room).map(\.held) == [false])
                let session = await bob.session
                try await bob.drop()
                try await poll("held") { try await ann.queue(room).map(\.held) == [true] }
                let back = try await TestClient.open(port: node.clientPort)
                #expect(try await back.connect(token: node.token("bob"), session: session).resumed)
                try await poll("not held") { try await ann.queue(room).map(\.held) == [false] }
                let carl = try await TestClient.connected(node, "carl")
                let withQueue = try await carl.enter(EnterRequest(room: room, withQueue: true))
                #expect(withQueue.queue?.map(\.key) == ["seat"])
                // Another session of the user takes the seat over as well.
                try await back.drop()
                try await poll("held again") { try await ann.queue(room).map(\.held) == [true] }
                _ = try await TestClient.entered(node, "bob", room)
                try await poll("not held") { try await ann.queue(room).map(\.held) == [false] }
            }
        }

        @Test func `after a restart owners have the grace to come back`() async throws {
            try await TestNode.run(Self.grace(60)) { node in
                let room = try await node.createRoom("again")
                let bob = try await TestClient.entered(node, "bob", room)
                let eve = try await TestClient.entered(node, "eve", room)
                try await bob.set(room, "bob's", transient: true)
                try await eve.set(room, "eve's", transient: true)
                await node.kill()
                try await node.start()
                let back = try await TestClient.entered(node, "bob", room)
                let elements = try await back.queue(room)
                #expect(elements.map(\.key) == ["bob's", "eve's"])
                #expect(elements.map(\.held) == [false, true], "\(elements)")
            }
        }

        @Test func `the seats of owners who do not come back after a restart go with the grace, and no others`()
            async throws
        {
            try await TestNode.run(Self.grace(1)) { node in
                let room = try await node.createRoom("not-again")
                let bob = try await TestClient.entered(node, "bob", room)
                let eve = try await TestClient.entered(node, "eve", room)
                try await bob.set(room, "song")
                try await eve.set(room, "eve's", transient: true)
                await node.kill()
                try await node.start()
                let back = try await TestClient.entered(node, "bob", room)
                try await back.set(room, "bob's", transient: true)
                // The grace may have been over before bob was back: what it ended is in history.
                var told: Message?
                try await poll("the end of eve's seat") {
                    told = try await back.wholeHistory(room).first { $0.notification?.event == .queueBatchChanged }
                    return told != nil
                }
                #expect(try gone(told).map(\.key) == ["eve's"])
                #expect(try await back.queue(room).map(\.key) == ["song", "bob's"])
            }
        }

        /// Has the server give a seat.
        private func give(_ node: TestNode, _ room: RoomID, to name: String) async throws {
            let answer = try await node.api(
                "PUT", "/v1/rooms/\(room)/queue/\(name)", #"{"value":"v","owner":"\#(name)","transient":true}"#)
            #expect(answer.status < 300, "\(answer)")
        }

        @Test func `a seat that the server gives to somebody who is away waits for the grace`() async throws {
            try await TestNode.run(Self.grace(60)) { node in
                let room = try await node.createRoom("given")
                let ann = try await TestClient.entered(node, "ann", room)
                for name in ["bob", "eve"] { try await give(node, room, to: name) }
                #expect(try await ann.queue(room).map(\.held) == [true, true])
                _ = try await TestClient.entered(node, "bob", room)
                #expect(try await ann.queue(room).map(\.held) == [false, true])
            }
        }

        @Test func `a given seat goes with the grace of who stays away, and one of who is here stays`() async throws {
            try await TestNode.run(Self.grace(1)) { node in
                let room = try await node.createRoom("taken")
                let ann = try await TestClient.entered(node, "ann", room)
                _ = try await TestClient.entered(node, "bob", room)
                for name in ["bob", "eve"] { try await give(node, room, to: name) }
                #expect(try await gone(ann.event(.queueBatchChanged)).map(\.key) == ["eve"])
                let left = try await ann.queue(room)
                #expect(left.map(\.key) == ["bob"] && left.map(\.held) == [false])
            }
        }
    }
}
