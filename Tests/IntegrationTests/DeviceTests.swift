import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests.ClusterTests {
    /// A user's sessions at several nodes (PROTOCOL.md, "Devices").
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
