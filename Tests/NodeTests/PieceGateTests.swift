import ChatModel
import Testing
import WaitTestKit

@testable import Node

@Suite(.timeLimit(.minutes(1))) struct PieceGateTests {
    /// Work that lasts until it is released.
    private actor Held {
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private(set) var begun = 0

        func hold() async {
            begun += 1
            await withCheckedContinuation { waiting.append($0) }
        }

        func release() {
            for one in waiting { one.resume() }
            waiting = []
        }
    }

    @Test func `a node that is slow holds up nothing that is for another one`() async throws {
        let gates = PieceGates(limit: 2)
        let (slow, quick) = (try #require(NodeID("slow")), try #require(NodeID("quick")))
        let held = Held()
        let waiting = (0..<3).map { _ in Task { await gates[slow].pass { await held.hold() } } }
        try await poll("two are under way") { await held.begun == 2 }
        // All of these pass, although what is for the slow one waits.
        for number in 0..<100 {
            let passed = await gates[quick].pass { number }
            #expect(passed == number)
        }
        #expect(await held.begun == 2)
        await held.release()
        try await poll("the third one has begun") { await held.begun == 3 }
        await held.release()
        for task in waiting { await task.value }
    }
}
