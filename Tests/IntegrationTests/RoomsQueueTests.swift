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

        @Test func `elements keep their place, count versions and are compared with ifVersion`() async throws {
            try await TestNode.run(["rooms": ["queueElements": 3]]) { node in
                let room = try await node.createRoom("songs")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                #expect(try await ann.set(room, "a", ifVersion: 0).version == 1)
                try await ann.set(room, "b")
                let changed = try await bob.set(room, "a", "new", ifVersion: 1)
                #expect(changed.version == 2 && changed.owner.text == "bob" && changed.value == "new")
                for version in [Int64(0), 1, 3] {
                    var request = QueueSetRequest(room: room, key: "a", value: "x")
                    request.ifVersion = version
                    #expect(try await ann.refusal(of: .queueSet(request)).code == .conflict)
                }
                var absent = QueueSetRequest(room: room, key: "z", value: "x")
                absent.ifVersion = 1
                #expect(try await ann.refusal(of: .queueSet(absent)).code == .conflict)
                try await ann.set(room, "c")
                let full = try await ann.refusal(of: .queueSet(QueueSetRequest(room: room, key: "d", value: "")))
                #expect(full.code == .badParameter)
                #expect(try await ann.queue(room).map(\.key) == ["a", "b", "c"])

                let many = QueueSetManyRequest(
                    room: room, values: [QueuePair(key: "b", value: "B"), QueuePair(key: "nowhere", value: "N")])
                guard case .queueSetMany(let result) = try await bob.done(.queueSetMany(many)) else {
                    throw TestFailure("no result")
                }
                #expect(result.missing == ["nowhere"])
                let batch = try await ann.event(.queueBatchChanged)
                guard case .queueBatch(.batchUpdate, let elements)? = batch.notification?.data else {
                    throw TestFailure("\(batch)")
                }
                #expect(elements.map(\.key) == ["b"] && elements[0].owner.text == "bob" && elements[0].version == 2)

                guard case .queueTake(let head) = try await bob.done(.queueTake(QueueTakeRequest(room: room))) else {
                    throw TestFailure("no element")
                }
                #expect(head.element.key == "a")
                try await bob.done(.queueTake(QueueTakeRequest(room: room, key: "c")))
                #expect(try await bob.refusal(of: .queueTake(QueueTakeRequest(room: room, key: "c"))).code == .notFound)
                try await ann.done(.queueClear(RoomChangeRequest(room: room)))
                #expect(try await ann.queue(room).isEmpty)
                #expect(try await bob.refusal(of: .queueTake(QueueTakeRequest(room: room))).code == .notFound)
                var changes: [QueueChange] = []
                for notification in await ann.notifications(of: room) {
                    if case .queue(let change, let element) = notification.data {
                        changes.append(change)
                        #expect((element == nil) == (change == .drop))
                    }
                }
                #expect(changes == [.offer, .offer, .update, .offer, .poll, .poll, .drop])
            }
        }

        @Test func `who may change it is a matter of its level`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("levels", creator: "owner", fields: #","queueLevel":"OWNER""#)
                let owner = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                try await ann.set(room, "ann's")
                let set = ClientOperation.queueSet(QueueSetRequest(room: room, key: "ann's", value: "x"))
                let take = ClientOperation.queueTake(QueueTakeRequest(room: room, key: "ann's"))
                let clear = ClientOperation.queueClear(RoomChangeRequest(room: room))
                for refused in [set, take, clear] { #expect(try await bob.refusal(of: refused).code == .forbidden) }
                try await ann.done(set)
                try await owner.done(set)
                #expect(try await ann.refusal(of: take).code == .forbidden, "an overwritten element has a new owner")
                var changes = RoomChanges()
                changes.queueLevel = .manager
                try await owner.done(.updateRoom(UpdateRoomRequest(room: room, set: changes)))
                #expect(
                    try await ann.refusal(of: .queueSet(QueueSetRequest(room: room, key: "new", value: ""))).code
                        == .forbidden)
                try await owner.done(take)
                changes.queueLevel = .any
                try await owner.done(.updateRoom(UpdateRoomRequest(room: room, set: changes)))
                try await ann.set(room, "seat")
                try await owner.done(.setMute(UserFlagRequest(room: room, user: user("bob"), enable: true)))
                #expect(try await bob.refusal(of: clear).code == .muted)
                try await ann.done(clear)
            }
        }

        @Test func `seats go at once with an exit and with a kick, in one 320`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("seats", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                for leaving in [false, true] {
                    let bob = try await TestClient.entered(node, "bob", room)
                    try await bob.set(room, "seat 1", transient: true)
                    try await bob.set(room, "kept")
                    try await bob.set(room, "seat 2", transient: true)
                    let mark = await owner.items.count
                    if leaving {
                        try await bob.done(.exit(RoomNameRequest(room: room)))
                    } else {
                        try await owner.done(.kick(KickRequest(room: room, user: user("bob"))))
                        #expect(try await bob.kicked(from: room).reason == .byManager)
                    }
                    let told = try await owner.event(.queueBatchChanged, from: mark)
                    guard case .queueBatch(.partClear, let elements)? = told.notification?.data else {
                        throw TestFailure("\(told)")
                    }
                    #expect(elements.map(\.key) == ["seat 1", "seat 2"] && told.notification?.operator == nil)
                    #expect(try await owner.queue(room).map(\.key) == ["kept"])
                }
            }
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

        @Test func `a seat goes when the grace after a drop is over`() async throws {
            try await TestNode.run(Self.grace(1)) { node in
                let room = try await node.createRoom("let-go")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                try await bob.set(room, "seat", transient: true)
                try await bob.drop()
                #expect(try await gone(ann.event(.queueBatchChanged)).map(\.key) == ["seat"])
                #expect(try await ann.queue(room).isEmpty)
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
