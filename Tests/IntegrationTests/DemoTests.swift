import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Rooms and tokens for people who try the program on their own machine.
    @Suite struct DemoTests {
        private struct Place: Decodable {
            var room: String
            var token: String
            var hostToken: String?
            var gateways: [String]
        }

        private static func place(_ answer: HTTPAnswer) throws -> Place {
            #expect(answer.status == 200, "\(answer.body)")
            return try JSONDecoder().decode(Place.self, from: Data(answer.body.utf8))
        }

        private static func client(of node: TestNode, _ token: String) async throws -> TestClient {
            let client = try await TestClient.open(port: node.clientPort, encoding: TestClient.standardEncoding)
            _ = try await client.connect(token: token)
            return client
        }

        @Test func `the first one is the host of a room, others are guests in it, and their tokens are for it alone`()
            async throws
        {
            try await TestNode.run(["demo": true]) { node in
                let made = try Self.place(try await node.page("POST", "/v1/demo"))
                let joined = try Self.place(try await node.page("POST", "/v1/demo", body: #"{"room":"\#(made.room)"}"#))
                #expect(joined.room == made.room && joined.hostToken == nil && !made.gateways.isEmpty)
                let other = try await node.createRoom("other")

                let hostToken = try #require(made.hostToken)
                let host = try await Self.client(of: node, hostToken)
                let room = try #require(RoomID(made.room))
                let hosting = try await host.enter(room)
                #expect(hosting.me.role == .creator)
                let guest = try await Self.client(of: node, joined.token)
                let visiting = try await guest.enter(room)
                #expect(visiting.me.role == .guest && visiting.me.profile.nick.hasPrefix("Guest "))
                await #expect(throws: ChatError.self) { _ = try await guest.enter(other) }
            }
        }

        @Test func `rooms of an app are not the demo's, and a room that there is not is made under its name`()
            async throws
        {
            try await TestNode.run(["demo": true]) { node in
                _ = try await node.createRoom("app-room")
                #expect(try await node.page("POST", "/v1/demo", body: #"{"room":"app-room"}"#).status == 404)
                let made = try Self.place(try await node.page("POST", "/v1/demo", body: #"{"room":"demo-0123abcd"}"#))
                #expect(made.room == "demo-0123abcd" && made.hostToken != nil)
                for room in ["my-show", "demo-x", "demo-0123ABCD", "demo-0123abcde"] {
                    #expect(
                        try await node.page("POST", "/v1/demo", body: #"{"room":"\#(room)"}"#).status == 404, "\(room)")
                }
                let again = try Self.place(try await node.page("POST", "/v1/demo", body: #"{"room":"demo-0123abcd"}"#))
                #expect(again.hostToken == nil)
                for body in ["{", "[]", #"{"room":"a b"}"#, #"{"room":7}"#, #"{"room":""}"#, "\u{0}"] {
                    #expect(try await node.page("POST", "/v1/demo", body: body).status == 400, "\(body)")
                }
                #expect(
                    try await node.page("POST", "/v1/demo", body: #"{"room":"\#(String(repeating: "x", count: 99))"}"#)
                        .status == 413)
            }
        }

        @Test func `of a hundred rooms the oldest in which nobody is goes, and an app's room of such a name does not`()
            async throws
        {
            try await TestNode.run(["demo": true]) { node in
                _ = try await node.createRoom("demo-00000000", creator: "owner")
                for number in 1...100 {
                    let id = "demo-" + String(0x1000_0000 + number, radix: 16)
                    _ = try await node.createRoom(id, creator: "demo-host-\(number)")
                }
                _ = try Self.place(try await node.page("POST", "/v1/demo"))
                #expect(try await node.api("GET", "/v1/rooms/demo-10000001").status == 404)
                #expect(try await node.api("GET", "/v1/rooms/demo-10000002").status == 200)
                #expect(try await node.api("GET", "/v1/rooms/demo-00000000").status == 200)
            }
        }

        @Test func `nobody else's page, no proxy and no other name gets in, and without the setting there is nothing`()
            async throws
        {
            try await TestNode.run(["demo": true]) { node in
                let port = node.clientPort
                #expect(try await node.page("POST", "/v1/demo", ["Origin": "http://localhost:\(port)"]).status == 200)
                #expect(try await node.page("POST", "/v1/demo", ["Origin": "http://evil.example"]).status == 404)
                #expect(try await node.page("POST", "/v1/demo", ["X-Forwarded-Host": "a"]).status == 404)
                #expect(try await node.page("POST", "/v1/demo", host: "evil.example:\(port)").status == 404)
                #expect(try await node.page("DELETE", "/v1/demo").status == 404)
                #expect(try await node.page("GET", "/v1/demo/kill").status == 404)
                #expect(try await node.page("POST", "/v1/demo/kill").status == 404, "nothing would start it again")
                let figures = try await node.page("GET", "/v1/demo")
                #expect(figures.status == 200 && figures.body.contains(#""kill":false"#), "\(figures.body)")
                var statuses: [Int] = []
                for _ in 0..<45 { statuses.append(try await node.page("GET", "/v1/demo").status) }
                #expect(statuses.contains(429), "its rate is bounded")
            }
            try await TestNode.run { node in
                var statuses: [Int] = []
                for path in ["/v1/demo", "/v1/demo/kill"] {
                    for method in ["POST", "GET"] { statuses.append(try await node.page(method, path).status) }
                }
                #expect(statuses == [404, 404, 404, 404])
            }
        }

        @Test func `where something starts it again, the demo ends the process as kill -9 does`() async throws {
            let file = FileManager.default.temporaryDirectory.path + "/demo-kill-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await TestNode.run(["demo": true, "demoKillFile": file]) { node in
                let pid = node.pid
                #expect(try await node.page("POST", "/v1/demo/kill", ["Origin": "http://evil.example"]).status == 404)
                #expect(!FileManager.default.fileExists(atPath: file))
                #expect(try await node.page("POST", "/v1/demo/kill").status == 200)
                try await poll("the end of the process") {
                    guard let state = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else {
                        return true
                    }
                    return state.contains(") Z ")
                }
                #expect(FileManager.default.fileExists(atPath: file), "the supervisor knows by it")
                await node.kill()
            }
        }

        @Test func `a node with a demo refuses to be reached from outside`() async throws {
            let node = try TestNode([
                "demo": true, "proxyTerminatesTls": true, "client": ["host": "0.0.0.0", "port": 0],
            ])
            await #expect(throws: (any Error).self) { try await node.start() }
        }

        @Test func `SIGHUP puts no proxy before a demo`() async throws {
            try await TestNode.run(["demo": true]) { node in
                try node.rewrite { $0["trustedProxies"] = ["127.0.0.1"] }
                #expect(try await node.reload().contains("trustedProxies must be empty"))
            }
        }

        @Test(arguments: ["ws://127.0.0.1:7400/v1/ws", "ws://[::1]:7400/v1/ws", "ws://LOCALHOST/v1/ws"])
        func `a node with a demo may advertise an address of loopback`(_ url: String) async throws {
            try await TestNode.run(["demo": true, "advertiseUrl": url]) { node in
                let status = try await node.page("GET", "/v1/demo").status
                #expect(status == 200)
            }
        }
    }

    /// The activity of every node at the moment.
    @Suite struct FiguresTests {
        @Test func `any node tells the figures of all, and which node is missing`() async throws {
            try await TestCluster.run(3) { cluster in
                try await cluster.start(3)
                let first = cluster.nodes[0]
                let room = try await first.createRoom("busy")
                let client = try await TestClient.connected(first, "ann")
                _ = try await client.enter(room)
                for number in 0..<20 { _ = try await client.send(room, "n\(number)") }
                struct Figures: Decodable {
                    struct Node: Decodable {
                        var node: String
                        var sessions: Int
                        var sendsPerSecond: Double
                        var deliveriesPerSecond: Double
                        var ackP99Ms: Double?
                        var memoryBytes: Int
                    }
                    var nodes: [Node]
                    var missing: [String]
                }
                func ask() async throws -> Figures {
                    try JSONDecoder().decode(
                        Figures.self, from: Data(try await first.api("GET", "/v1/figures").body.utf8))
                }
                try await poll("figures of all") {
                    let told = try await ask()
                    return told.nodes.count == 3 && told.missing.isEmpty
                        && told.nodes.contains { $0.sendsPerSecond > 0 && $0.ackP99Ms != nil }
                        && told.nodes.contains { $0.deliveriesPerSecond > 0 && $0.sessions >= 1 }
                        && told.nodes.allSatisfy { $0.memoryBytes > 0 }
                }
                await cluster.nodes[2].kill()
                try await poll("a missing node") { try await ask().missing == ["n3"] }
            }
        }
    }
}
