import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Seats as hosts run them, over a socket (PROTOCOL.md, "Queue" and "Seats").
    @Suite struct HostedSeatTests {
        private static func grace(_ seconds: Int) -> [String: Any] {
            ["session": TestNode.highRates.merging(["graceSeconds": seconds]) { $1 }]
        }

        private func seat(
            _ room: RoomID, _ key: String, owner: String? = nil, keepOwner: Bool = false, locked: Bool? = nil,
            clientID: String? = nil
        ) throws -> QueueSetRequest {
            var request = QueueSetRequest(room: room, key: key, value: "v", transient: true, clientID: clientID)
            request.owner = try owner.map(user)
            (request.keepOwner, request.locked) = (keepOwner, locked)
            return request
        }

        @discardableResult
        private func set(_ client: TestClient, _ request: QueueSetRequest) async throws -> QueueElement {
            guard case .queueSet(let result) = try await client.done(.queueSet(request)) else {
                throw TestFailure("queueSet has another result")
            }
            return result.element
        }

        private func gone(_ told: Message) throws -> [QueueElement] {
            guard case .queueBatch(.partClear, let elements)? = told.notification?.data else {
                throw TestFailure("\(told)")
            }
            return elements
        }

        @Test(arguments: ClientEncoding.allCases)
        func `who is seated is told as the owner, with the lock, and loses the seat with the exit`(
            _ encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("hosted")
                let host = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let seated = try await set(host, seat(room, "s", owner: "bob", locked: true))
                #expect(seated.owner.text == "bob" && seated.locked && !seated.held)
                let told = try await ann.event(.queueChanged)
                #expect(told.notification?.data == .queue(change: .offer, element: seated))
                #expect(told.notification?.operator?.user.text == "owner")
                #expect(try await ann.queue(room) == [seated])
                // Also by the one who sits there.
                for client in [ann, bob] {
                    for refused in [
                        ClientOperation.queueSet(try seat(room, "s")), .queueTake(QueueTakeRequest(room: room)),
                        .queueTake(QueueTakeRequest(room: room, key: "s")),
                        .queueSetMany(QueueSetManyRequest(room: room, values: [QueuePair(key: "s", value: "x")])),
                        .queueClear(RoomChangeRequest(room: room)),
                    ] {
                        #expect(try await client.refusal(of: refused).code == .forbidden)
                    }
                }
                #expect(try await ann.queue(room) == [seated])
                let mark = await ann.items.count
                try await bob.done(.exit(RoomNameRequest(room: room)))
                let elements = try await gone(ann.event(.queueBatchChanged, from: mark))
                #expect(elements == [seated])
            }
        }

        @Test func `a seat that a host gave is held for the grace of its occupant, and not of the host`() async throws {
            try await TestNode.run(Self.grace(60)) { node in
                let room = try await node.createRoom("hosted-held")
                let host = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                try await set(host, seat(room, "s", owner: "bob"))
                try await host.done(.exit(RoomNameRequest(room: room)))
                #expect(try await ann.queue(room).map(\.held) == [false])
                try await bob.drop()
                try await poll("held") { try await ann.queue(room).map(\.held) == [true] }
                // In the grace it is edited, and stays its occupant's.
                let again = try await TestClient.entered(node, "owner", room)
                let edited = try await set(again, seat(room, "s", keepOwner: true))
                #expect(edited.owner.text == "bob" && edited.version == 2)
                // A user in the grace is here, and can be given another one.
                try await set(again, seat(room, "t", owner: "bob"))
                #expect(try await ann.queue(room).map(\.held) == [true, true])
                _ = try await TestClient.entered(node, "bob", room)
                try await poll("not held") { try await ann.queue(room).map(\.held) == [false, false] }
            }
        }

        @Test func `nobody is seated who is not here, and nobody by who may not`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("hosted-refused")
                let host = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let absent = try await host.refusal(of: .queueSet(seat(room, "s", owner: "absent")))
                #expect(absent.code == .notFound && absent.field == "owner")
                let unknown = try await TestClient.open(port: node.clientPort)
                var connect = ConnectRequest(token: "")
                connect.anonymous = true
                let anonymous = try await unknown.connect(connect).user
                _ = try await unknown.enter(EnterRequest(room: room, nick: "n", avatar: "a"))
                let listener = try await host.refusal(of: .queueSet(seat(room, "s", owner: anonymous.text)))
                #expect(listener.code == .forbidden && listener.field == "owner")
                // The right comes first: whether somebody is here is not told.
                for name in ["absent", "owner", "ann"] {
                    let refused = try await ann.refusal(of: .queueSet(seat(room, "s", owner: name)))
                    #expect(refused.code == .forbidden && refused.field == "owner")
                }
                for (request, field) in [
                    (try seat(room, "s", keepOwner: true), "keepOwner"), (try seat(room, "s", locked: true), "locked"),
                    (try seat(room, "s", locked: false), "locked"),
                ] {
                    let refused = try await ann.refusal(of: .queueSet(request))
                    #expect(refused.code == .forbidden && refused.field == field)
                }
                let both = try await host.refusal(of: .queueSet(seat(room, "s", owner: "ann", keepOwner: true)))
                #expect(both.code == .badParameter && both.field == "keepOwner")
                // A kicked user is not here any more.
                try await host.done(.kick(KickRequest(room: room, user: try user("ann"))))
                let kicked = try await host.refusal(of: .queueSet(seat(room, "s", owner: "ann")))
                #expect(kicked.code == .notFound)
                #expect(try await host.queue(room).isEmpty)
            }
        }

        @Test func `a room gives a user so many seats, over a restart too`() async throws {
            try await TestNode.run(Self.grace(60)) { node in
                let room = try await node.createRoom(
                    "one-seat", fields: #","seatsPerUser":1,"highPerSecond":3,"queueLevel":"OWNER""#)
                var host = try await TestClient.entered(node, "owner", room)
                var ann = try await TestClient.entered(node, "ann", room)
                try await set(ann, seat(room, "a"))
                try await ann.set(room, "song")
                func refused() async throws {
                    for (client, request) in [
                        (ann, try seat(room, "b")), (host, try seat(room, "b", owner: "ann")),
                        (host, try seat(room, "song", keepOwner: true)),
                    ] {
                        let refused = try await client.refusal(of: .queueSet(request))
                        #expect(refused.code == .conflict && refused.field == "transient")
                    }
                    let body = #"{"value":"v","owner":"ann","transient":true}"#
                    #expect(try await node.api("PUT", "/v1/rooms/\(room)/queue/b", body).status == 409)
                }
                try await refused()
                #expect(try await set(host, seat(room, "a", keepOwner: true, locked: true)).owner.text == "ann")
                await node.kill()
                try await node.start()
                host = try await TestClient.entered(node, "owner", room)
                ann = try await TestClient.entered(node, "ann", room)
                try await refused()
                let left = try await ann.queue(room)
                #expect(left.map(\.key) == ["a", "song"] && left.map(\.locked) == [true, false])
                guard case .room(let view) = try await ann.done(.room(RoomNameRequest(room: room))) else {
                    throw TestFailure("room has another result")
                }
                #expect(view.room.info.seatsPerUser == 1 && view.room.info.highPerSecond == 3)
                let change = #"{"seatsPerUser":0,"highPerSecond":50}"#
                #expect(try await node.api("PATCH", "/v1/rooms/\(room)", change).status == 200)
                try await set(ann, seat(room, "b"))
            }
        }

        @Test func `a repeat after a lost answer seats nobody twice, over a restart too`() async throws {
            try await TestNode.run(Self.grace(60)) { node in
                let room = try await node.createRoom("hosted-once", fields: #","seatsPerUser":1"#)
                var host = try await TestClient.entered(node, "owner", room)
                _ = try await TestClient.entered(node, "bob", room)
                let request = try seat(room, "s", owner: "bob", locked: true, clientID: "seat-bob")
                let first = try await set(host, request)
                #expect(try await set(host, request) == first)
                await node.kill()
                try await node.start()
                host = try await TestClient.entered(node, "owner", room)
                // Its owner has not come back: the first answer counts all the same.
                #expect(try await set(host, request) == first)
                let elements = try await host.queue(room)
                #expect(elements.map(\.version) == [1] && elements.map(\.owner.text) == ["bob"])
            }
        }
    }
}
