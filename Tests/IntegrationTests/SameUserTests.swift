import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// One user with several sessions in one room, under each policy.
    @Suite struct SameUserTests {
        private static func policy(_ policy: ConflictPolicy) -> [String: Any] {
            ["rooms": ["conflictPolicy": policy.rawValue]]
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
