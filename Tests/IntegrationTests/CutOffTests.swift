import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests.ClusterTests {
    /// A node that reaches nobody any more, as its clients see it.
    @Suite struct CutOff {
        @Test func `clients of a node that is cut off are asked to move, to the others, and stay until they can`()
            async throws
        {
            try await TestCluster.run(3) { cluster in
                try await cluster.start(3)
                let room = try await cluster.room("cut")
                let (alone, others) = (cluster.nodes[0], cluster.nodes[1...])
                let viewer = try await TestClient.entered(alone, "viewer", room)
                let ports = others.map(\.clientPort)
                func isOther(_ address: String) -> Bool { URL(string: address)?.port.map(ports.contains) == true }
                for node in others { await node.kill() }
                let asked = try await viewer.item("reconnect") { item -> ReconnectPush? in
                    if case .push(.reconnect(let push)) = item { push } else { nil }
                }
                #expect(asked.cause == .drain && asked.maxMs <= 3_000)
                #expect(asked.gateways.count == 2 && asked.gateways.allSatisfy(isOther), "\(asked)")
                // Nobody is there to move to: the connection goes on.
                _ = try await viewer.ask(.ping).get()
                let late = try await TestClient.open(port: alone.clientPort)
                _ = await late.begin(.connect(ConnectRequest(token: try alone.token("late"))))
                let sent = try await late.item("reconnect") { item -> ReconnectPush? in
                    if case .push(.reconnect(let push)) = item { push } else { nil }
                }
                #expect(sent.gateways.count == 2 && sent.gateways.allSatisfy(isOther), "\(sent)")
                #expect(try await late.closing() == 4429)
                // Now there is: as their clients do, they take the session up while its connection is there.
                try await cluster.mend(3)
                let session = await viewer.session
                let back = try await TestClient.open(port: cluster.nodes[1].clientPort)
                #expect(try await back.connect(token: cluster.nodes[1].token("viewer"), session: session).resumed)
                #expect(try await viewer.closing() == 4410)
            }
        }
    }
}
