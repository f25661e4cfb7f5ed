import ChatModel
import Deflate
import EventLoop
import HTTPWebSocket
import RoomProtocol
import Synchronization
import Testing
import Wire

@testable import Gateway

/// Messages that become a thousand times as much as they came as: one connection may bring only so many of them, and the
/// others on its loop are served meanwhile.
@Suite(.timeLimit(.minutes(3))) struct InflationTests {
    private func run(
        inflatedBytesPerSecond: Double,
        _ body: (_ gateway: Gateway, _ greedy: RawClient, _ other: RawClient) async throws -> Void
    ) async throws {
        try await TestGateway.run(
            at: #require(NodeID("n1")), isCompressing: true, inflatedBytesPerSecond: inflatedBytesPerSecond
        ) { gateway, port, loop in
            let clients = try await (connect(port, loop), connect(port, loop))
            try await body(gateway, clients.0, clients.1)
        }
    }

    private func connect(_ port: Int, _ loop: EventLoop) async throws -> RawClient {
        let socket = try await RawClient(port: port, loop: loop)
        let handshake = WebSocketClientHandshake(
            nonce: [UInt8](repeating: 7, count: 16), subprotocols: ["chatroom.v1.json"])
        let headers = [HTTPHeader(name: "Sec-WebSocket-Extensions", value: "permessage-deflate")]
        socket.send(handshake.request(host: "127.0.0.1:\(port)", target: "/v1/ws", headers: headers))
        try await socket.waitFor("the handshake") { $0.text.contains("\r\n\r\n") }
        socket.send(frame(#"{"id":1,"connect":{"anonymous":true}}"#))
        try await socket.waitFor("the session") { $0.text.contains(#""session""#) }
        return socket
    }

    private func frame(_ text: String) -> [UInt8] {
        WebSocketFrameEncoder.frame(.text, Array(text.utf8), mask: [1, 2, 3, 4])
    }

    /// A ping that comes as a thousandth of what it becomes.
    private func longPing(_ id: Int) throws -> [UInt8] {
        let text = #"{"id":\#(id),"ping":{}}"# + String(repeating: " ", count: 1_000_000)
        let deflater = try #require(Deflater())
        let payload = try #require(Array(text.utf8).withUnsafeBytes { deflater.deflate($0) })
        #expect(payload.count < 10_000)
        var frame = WebSocketFrameEncoder.frame(.text, payload, mask: [1, 2, 3, 4])
        frame[0] = 0xC1
        return frame
    }

    private func answers(_ id: Int) -> (RawClient) -> Bool { { $0.text.contains(#""id":\#(id),"ping""#) } }

    @Test func `who has brought too much is read no further, and others are`() async throws {
        try await run(inflatedBytesPerSecond: 0.001) { gateway, greedy, other in
            greedy.send(try longPing(2) + longPing(3) + longPing(4))
            // The first is within what is there at once; the second leaves a debt.
            try await greedy.waitFor("the second answer", answers(3))
            for id in 5..<55 {
                other.send(frame(#"{"id":\#(id),"ping":{}}"#))
                try await other.waitFor("an answer", answers(id))
            }
            #expect(!answers(4)(greedy))
            let lane = try #require(gateway.shared.lanes.withLock { $0.first })
            let waiting = await lane.loop.run { lane.value.connections.values.map(\.isOverdrawn) }
            #expect(waiting.count { $0 } == 1)
        }
    }

    @Test func `who has paid goes on with what waits`() async throws {
        try await run(inflatedBytesPerSecond: 1e9) { _, greedy, _ in
            for id in 2..<12 { greedy.send(try longPing(id)) }
            for id in 2..<12 { try await greedy.waitFor("answer \(id)", answers(id)) }
            #expect(!greedy.hasEnded)
        }
    }
}
