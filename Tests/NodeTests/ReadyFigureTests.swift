import Telemetry
import Testing
import WaitTestKit

@testable import Node

@Suite struct ReadyFigureTests {
    private let metrics = MetricsRegistry()

    private var shown: String? {
        metrics.render().split(separator: "\n").first { $0.hasPrefix("chatroom_ready ") }.map(String.init)
    }

    @Test func `it shows what the node answers`() async {
        let ready = ReadyFigure(in: metrics, within: .seconds(60))
        await ready.update { true }
        #expect(shown == "chatroom_ready 1")
        await ready.update { false }
        #expect(shown == "chatroom_ready 0")
    }

    @Test func `a node that does not answer in time is not ready, and is asked anew when it has answered`() async throws
    {
        let ready = ReadyFigure(in: metrics, within: .milliseconds(1))
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        await ready.update {
            for await _ in gates {}
            end.finish()
            return true
        }
        #expect(shown == "chatroom_ready 0")
        await ready.update {
            Issue.record("asked while an answer is awaited")
            return true
        }
        #expect(shown == "chatroom_ready 0")
        gate.finish()
        for await _ in ends {}
        // The first question ends a moment after its answer.
        try await poll("an answer to another question") {
            await ready.update { true }
            return shown == "chatroom_ready 1"
        }
    }
}
