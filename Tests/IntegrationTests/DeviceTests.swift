import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// A user's sessions (PROTOCOL.md, "Devices").
    @Suite struct DeviceTests {
        private static func connected(_ node: TestNode, _ user: String, _ device: Device) async throws -> (
            TestClient, ConnectResult
        ) {
            let client = try await TestClient.open(port: node.clientPort)
            let request = ConnectRequest(token: try node.token(user), device: device)
            return (client, try await client.connect(request))
        }

        private static func devices(_ client: TestClient, _ wanted: [Device]) async throws -> [ConnectedDevice] {
            try await client.item("devices \(wanted)") {
                guard case .push(.devices(let push)) = $0, push.devices.map(\.device) == wanted else { return nil }
                return push.devices
            }
        }

        @Test func `connect lists them, the others are told, and the server API tells the same`() async throws {
            try await TestNode.run { node in
                let (web, first) = try await Self.connected(node, "ann", .web)
                #expect(first.devices.map(\.device) == [.web] && first.devices.map(\.isSelf) == [true])
                let (mobile, second) = try await Self.connected(node, "ann", .mobile)
                #expect(second.devices.map(\.device) == [.web, .mobile])
                #expect(second.devices.map(\.isSelf) == [false, true])
                let told = try await Self.devices(web, [.web, .mobile])
                #expect(told.map(\.isSelf) == [true, false])
                #expect(told.map(\.connectedAt) == second.devices.map(\.connectedAt))
                let (_, other) = try await Self.connected(node, "bob", .desktop)
                #expect(other.devices.map(\.device) == [.desktop])
                let answer = try await node.api("GET", "/v1/users/ann/sessions")
                for device in told {
                    #expect(answer.body.contains(#""startedAt":\#(device.connectedAt.milliseconds)"#))
                }
                #expect(try await node.api("POST", "/v1/users/bob/offline").status == 200)
                try await mobile.drop()
                // Its session goes when its grace has passed.
                let left = try await Self.devices(web, [.web])
                #expect(left.map(\.isSelf) == [true])
            }
        }
    }
}

extension IntegrationTests.ClusterTests {
    /// The same at several nodes.
    @Suite(AskingAgain()) struct Devices {
        private func told(_ client: TestClient, _ wanted: [Device]) async throws {
            _ = try await client.item("devices \(wanted)") { item -> Bool? in
                guard case .push(.devices(let push)) = item, push.devices.map(\.device) == wanted else { return nil }
                return true
            }
        }

        @Test func `sessions at other nodes are in the reply to connect, and their end is told`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("devices")
            let (one, two, three) = try await cluster.roles(in: room)
            func connected(_ node: TestNode, _ device: Device) async throws -> (TestClient, ConnectResult) {
                let client = try await TestClient.open(port: node.clientPort)
                return (client, try await client.connect(ConnectRequest(token: node.token("dora"), device: device)))
            }
            let (web, _) = try await connected(one, .web)
            /// The reply has them, unless a node was slow to answer: then a push does.
            func expect(_ client: TestClient, _ result: ConnectResult, _ wanted: [Device]) async throws {
                if result.devices.map(\.device) != wanted { try await told(client, wanted) }
            }
            let (mobile, second) = try await connected(two, .mobile)
            try await expect(mobile, second, [.web, .mobile])
            try await told(web, [.web, .mobile])
            let (desktop, third) = try await connected(three, .desktop)
            try await expect(desktop, third, [.web, .mobile, .desktop])
            for client in [web, mobile] { try await told(client, [.web, .mobile, .desktop]) }
            try await mobile.drop()
            try await told(web, [.web, .desktop])
            #expect(try await three.api("POST", "/v1/users/dora/offline").status == 200)
        }
    }
}
