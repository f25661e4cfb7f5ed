import ChatModel
import EventLoop
import Synchronization
import Testing
import Transport
import WaitTestKit

@testable import Gateway

/// The states of a client's connection: alone, and over a socket.
@Suite(.timeLimit(.minutes(3))) struct ConnectionStatesTests {
    @Test func `reading stops once and goes on once`() {
        var intake = ClientConnection.Intake.reading
        let stops = [intake.pause(), intake.pause()]
        #expect(stops == [true, false])
        #expect(intake == .paused)
        let goesOn = [intake.resume(), intake.resume()]
        #expect(goesOn == [true, false])
        #expect(intake == .reading)
    }

    @Test func `nothing but the end of a hold lets a held connection go on`() {
        var intake = ClientConnection.Intake.reading
        let endsWithoutHold = intake.endHold()
        #expect(!endsWithoutHold)
        let stops = [intake.hold(), intake.hold(), intake.pause()]
        #expect(stops == [true, false, false])
        let goesOn = intake.resume()
        #expect(!goesOn)
        #expect(intake == .held)
        let ends = [intake.endHold(), intake.endHold()]
        #expect(ends == [true, false])
        // The connection asks what else forbids it to read before it goes on.
        #expect(intake == .paused)
    }

    @Test func `a connection that is paused already is held without being stopped again`() {
        var intake = ClientConnection.Intake.paused
        let stops = intake.hold()
        #expect(!stops)
        #expect(intake == .held)
    }

    @Test func `a request that comes byte by byte opens, and a close frame ends`() async throws {
        try await withClient { client, _ in
            for byte in RawClient.upgrade { client.send([byte]) }
            try await client.waitFor("the answer") { $0.text.hasSuffix("\r\n\r\n") }
            #expect(client.text.hasPrefix("HTTP/1.1 101 "))
            let head = client.bytes.count
            // Masked with zeros: 1000.
            client.send([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
            try await client.waitFor("the end") { $0.hasEnded }
            #expect(Array(client.bytes[head...]) == [0x88, 0x02, 0x03, 0xE8])
        }
    }

    @Test func `a request that is none is answered, and what comes behind it is not read`() async throws {
        try await withClient { client, _ in
            client.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8) + RawClient.upgrade)
            try await client.waitFor("the end") { $0.hasEnded }
            #expect(!client.text.contains(" 101 "))
            #expect(client.text.split(separator: "HTTP/1.1 ").count == 1)
        }
    }

    @Test func `what a connection holds is counted until it has gone`() async throws {
        try await withClient { client, gateway in
            client.send(RawClient.upgrade)
            try await client.waitFor("the answer") { $0.text.hasSuffix("\r\n\r\n") }
            let lane = try #require(gateway.shared.lanes.withLock { $0.first })
            let held = { @Sendable in await lane.loop.run { lane.value.buffers.ownBytes } }
            // The head of a frame of 200 bytes, and 100 of them.
            client.send([0x81, 0xFE, 0, 200, 0, 0, 0, 0] + [UInt8](repeating: 0x20, count: 100))
            try await poll("the bytes") { await held() >= 100 }
            client.close()
            try await client.waitFor("the end") { $0.hasEnded }
            try await poll("the lane to count nothing") { await held() == 0 }
        }
    }

    private func withClient(_ body: @escaping (RawClient, Gateway) async throws -> Void) async throws {
        try await TestGateway.run(at: try #require(NodeID("n1"))) { gateway, port, loop in
            try await body(try await RawClient(port: port, loop: loop), gateway)
        }
    }
}
