import ChatModel
import Foundation
import HTTPWebSocket
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// How many connections there may be, how long they may be silent, and how they end.
    @Suite struct ConnectionTests {
        private static let url = "wss://elsewhere.example/v1/ws"

        /// Expects a client to be sent away: `reconnect` with a window and URLs, then 4429.
        private func expectTurnedAway(_ client: TestClient, from start: Int = 0) async throws {
            let push = try await whenToReturn(client, from: start)
            #expect(push.minMs == 500 && push.maxMs == 8000)
        }

        /// What a client is told that is sent away, which must name URLs and then close with 4429.
        @discardableResult
        private func whenToReturn(_ client: TestClient, from start: Int = 0) async throws -> ReconnectPush {
            let push = try await client.item("reconnect", from: start) { item -> ReconnectPush? in
                if case .push(.reconnect(let push)) = item { push } else { nil }
            }
            #expect(push.gateways == [Self.url])
            #expect(try await client.closing() == 4429)
            return push
        }

        private func settings(_ limits: [String: Int], _ more: [String: Any] = [:]) -> [String: Any] {
            ["limits": limits, "advertiseUrl": Self.url].merging(more) { $1 }
        }

        @Test(arguments: ["connections", "connectionsPerAddress"])
        func `the fourth connection of three finds no place until one goes`(_ limit: String) async throws {
            try await TestNode.run(settings([limit: 3], ["loops": 2])) { node in
                var clients: [TestClient] = []
                for user in ["a", "b", "c"] { clients.append(try await TestClient.connected(node, user)) }
                let fourth = try await TestClient.open(port: node.clientPort)
                try await expectTurnedAway(fourth)
                let isNodeFull = limit == "connections"
                for (step, isFull) in [("connections", isNodeFull), ("address", !isNodeFull), ("user", false)] {
                    #expect(try await putOff(at: step, by: node) == (isFull ? 1 : 0), "\(step)")
                }
                #expect(try await node.metric("chatroom_connections_max ") == (isNodeFull ? 3 : 18_000))
                if isNodeFull {
                    let line = try await node.errorLine(containing: "the node has all connections that it may have")
                    #expect(line.contains("limit=3"), "\(line)")
                }
                try await clients[0].drop()
                try await until(node, connections: 2)
                let fifth = try await TestClient.connected(node, "d")
                _ = try await fifth.ask(.ping).get()
            }
        }

        /// How many clients the node has put off at a step.
        private func putOff(at step: String, by node: TestNode) async throws -> Double {
            try await node.metric("chatroom_admission_put_off_total{", labels: "step=\"\(step)\"")
        }

        /// Waits until the node knows of that many connections.
        private func until(_ node: TestNode, connections: Int) async throws {
            try await poll("\(connections) connections") {
                try await node.metric("chatroom_connections ") == Double(connections)
            }
        }

        @Test func `a user has so many connections, and a resumed session takes no further one`() async throws {
            try await TestNode.run(settings(["connectionsPerUser": 2], ["loops": 2])) { node in
                let room = try await node.createRoom("limited")
                let first = try await TestClient.connected(node, "ann")
                try await first.enter(room)
                let second = try await TestClient.connected(node, "ann")
                let third = try await TestClient.open(port: node.clientPort)
                _ = await third.begin(.connect(ConnectRequest(token: try node.token("ann"))))
                try await expectTurnedAway(third)
                #expect(try await putOff(at: "user", by: node) == 1)
                #expect(try await putOff(at: "connections", by: node) == 0)
                _ = try await TestClient.connected(node, "bob")
                // Her own session, taken over, frees the place that it takes.
                let session = await first.session
                for _ in 0..<4 {
                    let again = try await TestClient.open(port: node.clientPort)
                    let result = try await again.connect(token: node.token("ann"), session: session)
                    #expect(result.resumed)
                }
                _ = try await second.ask(.ping).get()
                // Anonymous ones are not one user.
                for _ in 0..<4 {
                    let nobody = try await TestClient.open(port: node.clientPort)
                    _ = try await nobody.connect(ConnectRequest(anonymous: true))
                }
            }
        }

        @Test func `a storm of connects is spread out`() async throws {
            try await TestNode.run(settings(["connectsPerSecond": 2], ["loops": 1])) { node in
                for user in ["a", "b"] { _ = try await TestClient.connected(node, user) }
                var turnedAway = 0
                // As many as one second may admit while this runs are admitted; the others are sent away.
                for number in 0..<20 {
                    let client = try await TestClient.open(port: node.clientPort)
                    let id = await client.begin(.connect(ConnectRequest(token: try node.token("u\(number)"))))
                    if case .success? = try? await client.reply(to: id) { continue }
                    try await whenToReturn(client)
                    turnedAway += 1
                }
                #expect(turnedAway > 0)
            }
        }

        @Test func `a storm of handshakes is spread out, each to a later time`() async throws {
            try await TestNode.run(settings(["handshakesPerSecond": 2])) { node in
                var windows: [ReconnectPush] = []
                let start = ContinuousClock.now
                for number in 0..<12 {
                    let client = try await TestClient.open(port: node.clientPort)
                    let id = await client.begin(.connect(ConnectRequest(token: try node.token("u\(number)"))))
                    if case .success? = try? await client.reply(to: id) { continue }
                    windows.append(try await whenToReturn(client))
                }
                // Two seconds' worth and the burst found a place; each of the others is told half a second more.
                let passed = Int64((ContinuousClock.now - start) / .milliseconds(1))
                #expect(Int64(windows.count) >= 12 - 2 - passed / 500 - 1)
                if let last = windows.last {
                    #expect(last.minMs >= Int64(windows.count) * 500 - passed - 2)
                }
                #expect(windows.allSatisfy { $0.maxMs >= $0.minMs + 500 })
            }
        }

        @Test func `a storm of enters gets 503, each with another time, by node and by room`() async throws {
            for key in ["entersPerSecond", "roomEntersPerSecond"] {
                try await TestNode.run(settings([key: 4])) { node in
                    let room = try await node.createRoom("r")
                    var waits: [Int64] = []
                    let client = try await TestClient.connected(node, "ann")
                    let start = ContinuousClock.now
                    // Entering again is an enter, too.
                    for _ in 0..<18 {
                        guard case .failure(let refusal) = try await client.ask(.enter(EnterRequest(room: room))) else {
                            continue
                        }
                        #expect(refusal.code == .unavailable)
                        waits.append(try #require(refusal.retryAfterMs))
                    }
                    let passed = Int64((ContinuousClock.now - start) / .milliseconds(1))
                    #expect(Int64(waits.count) >= 18 - 4 - passed / 250 - 1)
                    // A quarter of a second apart, less the time that has passed, of which two sides round.
                    if let last = waits.last { #expect(last >= Int64(waits.count) * 250 - passed - 2) }
                }
            }
        }

        @Test func `addresses behind a trusted proxy are told apart, and others are not believed`() async throws {
            func open(_ node: TestNode, _ address: String) async throws -> TestClient {
                let headers = [HTTPHeader(name: "X-Forwarded-For", value: address)]
                return try await TestClient.open(port: node.clientPort, headers: headers)
            }
            let trusting = settings(["connectionsPerAddress": 1], ["trustedProxies": ["127.0.0.0/8"]])
            try await TestNode.run(trusting) { node in
                let one = try await open(node, "198.51.100.1")
                let two = try await open(node, "198.51.100.2")
                try await expectTurnedAway(try await open(node, "198.51.100.2"))
                try await expectTurnedAway(try await open(node, "203.0.113.9, 198.51.100.2"))
                let three = try await open(node, "198.51.100.2, 198.51.100.3")
                for client in [one, two, three] { _ = try await client.connect(token: node.token("ann")) }
                // Operators see the clients, not the proxy.
                let sessions = try await node.api("GET", "/v1/users/ann/sessions").fields()["sessions"]
                #expect(
                    // Those that have begun in the same millisecond come in any order.
                    (sessions as? [[String: Any]])?.compactMap { $0["address"] as? String }.sorted()
                        == ["198.51.100.1", "198.51.100.2", "198.51.100.3"])
            }
            try await TestNode.run(settings(["connectionsPerAddress": 1])) { node in
                let one = try await open(node, "198.51.100.1")
                try await expectTurnedAway(try await open(node, "198.51.100.2"))
                _ = try await one.connect(token: node.token("ann"))
            }
        }

        // MARK: - Silence

        @Test func `an unfinished handshake is cut, and a finished one without connect closes with 4408`() async throws
        {
            // Long enough for a slow machine to finish the one handshake and to ask; all wait for the end together.
            try await TestNode.run(["session": ["connectSeconds": 5]]) { node in
                let client = try await TestClient.open(port: node.clientPort)
                #expect(try await client.refusal(of: .ping).code == .unauthorized)
                var sockets: [TestSocket] = []
                for text in ["", "GET /v1/ws HT", "GET /v1/ws HTTP/1.1\r\n" + HostileInputTests.upgrade] {
                    let socket = TestSocket()
                    try await socket.open(port: node.clientPort)
                    await socket.write(Array(text.utf8))
                    sockets.append(socket)
                }
                #expect(try await client.closing() == 4408)
                #expect(await client.items.count == 1)
                for socket in sockets { #expect(try await socket.receivedUntilClosed().isEmpty) }
            }
        }

        @Test func `who answers no ping is dropped, and who does is not`() async throws {
            try await TestNode.run(["session": ["heartbeatSeconds": 1]]) { node in
                let alive = try await TestClient.connected(node, "alive")
                let dead = try await TestClient.connected(node, "dead")
                await dead.stopAnsweringPings()
                #expect(try await dead.closing() == 4408)
                let pings = await dead.pingCount
                #expect((1...3).contains(pings), "a ping a second for 2.5 seconds")
                try await alive.pings(pings + 3)
                _ = try await alive.ask(.ping).get()
            }
        }

        // MARK: - Ends

        @Test(arguments: ClientEncoding.allCases)
        func `a draining node names where to go`(_ encoding: ClientEncoding) async throws {
            try await TestNode.run(["advertiseUrl": Self.url], encoding: encoding) { node in
                let client = try await TestClient.open(port: node.clientPort)
                let connected = try await client.connect(token: node.token("ann"))
                #expect(connected.gateways == [Self.url])
                node.signal(SIGTERM)
                let push = try await client.item("reconnect") { item -> ReconnectPush? in
                    if case .push(.reconnect(let push)) = item { push } else { nil }
                }
                #expect(push.gateways == [Self.url] && push.minMs < push.maxMs)
                #expect(try await client.closing() == 1001)
            }
        }

        // MARK: - SIGHUP

        /// Sends so many messages in one frame, which is taken at one moment, whatever the machine's speed. The error
        /// with which the last one must be refused.
        private func refusal(
            ofLastOf count: UInt32, by client: TestClient, in room: RoomID, from first: UInt32
        ) async throws -> ChatError {
            var frame: [UInt8] = []
            for id in first..<first + count {
                if !frame.isEmpty { frame.append(UInt8(ascii: "\n")) }
                ClientRequest(id: id, operation: .text(room, "message \(id)")).appendJSON(to: &frame)
            }
            await client.write(.text, frame)
            guard case .failure(let error) = try await client.reply(to: first + count - 1) else {
                throw TestFailure("the last of \(count) was not refused")
            }
            return error
        }

        @Test func `SIGHUP takes other limits and keys, and refuses wrong ones as a whole`() async throws {
            let limits = ["connections": 50, "connectionsPerUser": 1]
            try await TestNode.run(["limits": limits, "session": ["changesPerSecond": 1, "changesBurst": 2]]) { node in
                let room = try await node.createRoom("tuned")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                try await ann.enter(room)
                try await ann.send(room, "first")
                // One more than the burst.
                #expect(try await refusal(ofLastOf: 3, by: ann, in: room, from: 10_000).code == .tooOften)
                let refused = try await TestClient.open(port: node.clientPort)
                _ = await refused.begin(.connect(ConnectRequest(token: try node.token("ann"))))
                #expect(try await refused.closing() == 4429)

                try node.rewrite { $0["limits"] = ["connectionsPerUser": 0] }
                #expect(try await node.reload().contains("limits.connectionsPerUser"))
                #expect(try await refusal(ofLastOf: 3, by: ann, in: room, from: 20_000).code == .tooOften)

                try node.rewrite {
                    $0["limits"] = ["connections": 60, "connectionsPerUser": 2]
                    $0["session"] = ["changesPerSecond": 1000, "changesBurst": 1000, "graceSeconds": 7]
                    $0["rooms"] = ["viewerBudget": 60]
                }
                let other = "another secret that only these tests know"
                try node.write(
                    [
                        "admin": [["id": "admin", "secret": TestNode.adminKey]],
                        "token": [["kid": "new", "algorithm": "HS256", "use": "client", "secret": other]],
                    ], to: node.keysPath, mode: 0o600)
                #expect(try await node.metric("chatroom_connections_max ") == 50)
                #expect(try await node.reload().contains("read again"))
                #expect(try await node.metric("chatroom_connections_max ") == 60)
                let waiting = try await node.errorLine(containing: "wait for the next start")
                #expect(waiting.contains("settings=rooms.viewerBudget, session.graceSeconds"), "\(waiting)")
                for number in 1...20 { try await ann.send(room, "message \(number)") }
                var token = TestToken()
                token.kid = "new"
                token.secret = other
                let second = try await TestClient.open(port: node.clientPort)
                try await second.connect(token: token.signed())
                let old = try await TestClient.open(port: node.clientPort)
                #expect(
                    try await old.refusal(of: .connect(ConnectRequest(token: try node.token("bob")))).code
                        == .unauthorized)
            }
        }

        // MARK: - Fairness

        @Test(arguments: ClientEncoding.allCases)
        func `whoever brings much at once gets all of it answered, in order`(_ encoding: ClientEncoding) async throws {
            try await TestNode.run(["loops": 1], encoding: encoding) { node in
                let busy = try await TestClient.connected(node, "busy")
                let calm = try await TestClient.connected(node, "calm")
                let count: UInt32 = 20_000
                var bytes: [UInt8] = []
                for id in 1000..<1000 + count {
                    var request: [UInt8] = []
                    let ping = ClientRequest(id: id, operation: .ping)
                    if encoding == .json { ping.appendJSON(to: &request) } else { ping.appendProtobuf(to: &request) }
                    WebSocketFrameEncoder.append(encoding.opcode, request, to: &bytes)
                    WebSocketFrameEncoder.append(.ping, [7], to: &bytes)
                }
                await busy.socket.write(bytes)
                for _ in 0..<10 { _ = try await calm.ask(.ping).get() }
                _ = try await busy.reply(to: 1000 + count - 1).get()
                let ids = await busy.items.compactMap { item -> UInt32? in
                    if case .reply(let id?, .success(.ping)) = item { id } else { nil }
                }
                #expect(ids == Array(1000..<1000 + count))
                try await busy.pongs(Int(count))
                // And one message that is as long as a message may be.
                var longest: [UInt8] = []
                let request = ClientRequest(id: 7, operation: .ping)
                if encoding == .json {
                    request.appendJSON(to: &longest)
                    longest += [UInt8](repeating: 0x20, count: 1 << 20 - longest.count)
                } else {
                    // One request with a field that no version knows, which fills it up.
                    request.appendProtobuf(to: &longest)
                    let content = Array(longest.dropFirst())
                    let padding = 1 << 20 - content.count - 8
                    func varint(_ value: Int) -> [UInt8] {
                        value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F | 0x80)] + varint(value >> 7)
                    }
                    let unknown = varint(1000 << 3 | 2) + varint(padding) + [UInt8](repeating: 0, count: padding)
                    longest = varint(content.count + unknown.count) + content + unknown
                    #expect((1 << 20 - 8...1 << 20).contains(longest.count))
                }
                await busy.write(encoding.opcode, longest)
                _ = try await busy.reply(to: 7).get()
                _ = try await calm.ask(.ping).get()
            }
        }
    }
}

extension WebSocketFrameEncoder {
    fileprivate static func append(_ opcode: WebSocketOpcode, _ payload: [UInt8], to bytes: inout [UInt8]) {
        payload.withUnsafeBytes { append(opcode, $0, mask: [1, 2, 3, 4], to: &bytes) }
    }
}
