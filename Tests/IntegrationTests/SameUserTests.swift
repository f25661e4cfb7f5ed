import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// One user with several sessions in one room, under each policy.
    @Suite struct SameUserTests {
        private static func policy(_ policy: ConflictPolicy) -> [String: Any] {
            ["rooms": ["conflictPolicy": policy.rawValue]]
        }

        @Test func `kickOlder: the older session is told why, nobody else notices, and the seat stays`() async throws {
            try await TestNode.run(Self.policy(.kickOlder)) { node in
                let (room, watcher) = try await watched(node)
                let older = try await connected(node, "ann", .mobile, to: room)
                try await watcher.notification(.enter, of: "ann")
                let seat = QueueSetRequest(room: room, key: "seat", value: "ann", transient: true)
                _ = try await older.ask(.queueSet(seat)).get()
                let newer = try await connected(node, "ann", .desktop, to: room)
                #expect(try await kick(of: older) == .conflictingLogin)
                #expect(try await older.refusal(of: .text(room, "still here")).code == .notInRoom)
                try await newer.send(room, "hello")
                try await watcher.message("hello")
                #expect(await older.texts(of: room).isEmpty, "it sees nothing more of the room")
                #expect(await watcher.events(of: room, about: "ann") == [.enter], "neither exit nor enter")
                #expect(try await seats(watcher, room) == ["seat"])
                #expect(try await online(watcher, room) == 2)
                // The last session's exit frees the seat at once.
                _ = try await newer.ask(.exit(RoomNameRequest(room: room))).get()
                try await watcher.notification(.exit, of: "ann")
                _ = try await watcher.item("the end of the seat") { item -> Bool? in
                    guard case .push(.message(let message)) = item, let told = message.notification,
                        told.event == .queueBatchChanged
                    else { return nil }
                    return true
                }
                #expect(try await seats(watcher, room).isEmpty)
            }
        }

        @Test func `perDevice: mobile against mobile, desktop and web against each other`() async throws {
            try await TestNode.run(Self.policy(.perDevice)) { node in
                let (room, watcher) = try await watched(node)
                let phone = try await connected(node, "ann", .mobile, to: room)
                let desktop = try await connected(node, "ann", .desktop, to: room)
                let server = try await connected(node, "ann", .server, to: room)
                try await watcher.send(room, "all three")
                for client in [phone, desktop, server] { try await client.message("all three") }
                let web = try await connected(node, "ann", .web, to: room)
                #expect(try await kick(of: desktop) == .conflictingLogin)
                let tablet = try await connected(node, "ann", .mobile, to: room)
                #expect(try await kick(of: phone) == .conflictingLogin)
                try await watcher.send(room, "the newer two")
                for client in [web, tablet] { try await client.message("the newer two") }
                #expect(try await online(watcher, room) == 2)
                #expect(await watcher.events(of: room, about: "ann") == [.enter])
            }
        }

        @Test func `rejectNewer: the newer session is refused, until the older one has left`() async throws {
            try await TestNode.run(Self.policy(.rejectNewer)) { node in
                let (room, watcher) = try await watched(node)
                let older = try await connected(node, "ann", .mobile, to: room)
                let newer = try await TestClient.connected(node, "ann")
                #expect(try await newer.refusal(of: .enter(EnterRequest(room: room))).code == .conflict)
                #expect(try await newer.refusal(of: .text(room, "x")).code == .notInRoom)
                try await older.enter(room)
                _ = try await older.ask(.exit(RoomNameRequest(room: room))).get()
                try await newer.enter(room)
                try await newer.send(room, "now I am here")
                try await watcher.message("now I am here")
                #expect(await watcher.events(of: room, about: "ann") == [.enter, .exit, .enter])
            }
        }

        @Test func `allow: all sessions see everything, and the user counts once`() async throws {
            try await TestNode.run(Self.policy(.allow)) { node in
                let (room, watcher) = try await watched(node)
                let first = try await connected(node, "ann", .web, to: room)
                let second = try await connected(node, "ann", .web, to: room)
                #expect(try await online(watcher, room) == 2)
                try await first.send(room, "to both")
                for client in [first, second] { try await client.message("to both") }
                let seat = QueueSetRequest(room: room, key: "seat", value: "ann", transient: true)
                _ = try await first.ask(.queueSet(seat)).get()
                _ = try await first.ask(.exit(RoomNameRequest(room: room))).get()
                #expect(try await seats(watcher, room) == ["seat"], "the user is still here")
                #expect(await watcher.events(of: room, about: "ann") == [.enter])
                _ = try await second.ask(.exit(RoomNameRequest(room: room))).get()
                try await watcher.notification(.exit, of: "ann")
                #expect(try await online(watcher, room) == 1)
            }
        }

        @Test func `an anonymous session is taken over by its secret alone`() async throws {
            try await TestNode.run { node in
                let (room, watcher) = try await watched(node)
                let older = try await TestClient.open(port: node.clientPort)
                let first = try await older.connect(ConnectRequest(anonymous: true))
                try await older.enter(EnterRequest(room: room, nick: "Guest", avatar: "a"))
                let newer = try await TestClient.open(port: node.clientPort)
                let second = try await newer.connect(ConnectRequest(anonymous: true, session: first.session))
                #expect(second.resumed && second.session == first.session && second.user == first.user)
                #expect(try await older.closing() == 4410)
                try await newer.enter(EnterRequest(room: room, nick: "Guest", avatar: "a"))
                try await watcher.send(room, "hello")
                try await newer.message("hello")
                #expect(await watcher.events(of: room, about: first.user.text) == [.enter])
                #expect(await !newer.items.contains { if case .push(.kicked) = $0 { true } else { false } })
                // A token does not open an anonymous session, nor the other way round.
                let thief = try await TestClient.open(port: node.clientPort)
                #expect(try await !thief.connect(token: node.token("eve"), session: first.session).resumed)
                let other = try await TestClient.open(port: node.clientPort)
                #expect(
                    try await !other.connect(ConnectRequest(anonymous: true, session: watcher.session)).resumed)
            }
        }

        private func watched(_ node: TestNode) async throws -> (RoomID, TestClient) {
            let room = try await node.createRoom("home")
            let watcher = try await TestClient.connected(node, "watcher")
            try await watcher.enter(room)
            return (room, watcher)
        }

        private func connected(
            _ node: TestNode, _ user: String, _ device: Device, to room: RoomID
        ) async throws -> TestClient {
            let client = try await TestClient.open(port: node.clientPort)
            _ = try await client.connect(ConnectRequest(token: node.token(user), device: device))
            try await client.enter(room)
            return client
        }

        private func kick(of client: TestClient) async throws -> KickReason {
            try await client.item("kicked") { item in
                if case .push(.kicked(let push)) = item { push.reason } else { nil }
            }
        }

        private func seats(_ client: TestClient, _ room: RoomID) async throws -> [String] {
            guard case .queue(let result) = try await client.ask(.queue(QueueRequest(room: room))).get() else {
                throw TestFailure("queue has another result")
            }
            return result.elements.map(\.key)
        }

        private func online(_ client: TestClient, _ room: RoomID) async throws -> Int64 {
            guard case .room(let result) = try await client.ask(.room(RoomNameRequest(room: room))).get() else {
                throw TestFailure("room has another result")
            }
            return result.room.online
        }
    }
}
