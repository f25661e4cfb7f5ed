import ChatModel
import Synchronization
import Testing
import WaitTestKit

@testable import Node

@Suite struct SettingTellerTests {
    /// A setting, who is told of it, and a gate at which tellings wait.
    private final class World: Sendable {
        struct State {
            var version: UInt64 = 0
            var isOpen = true
            /// The versions with which tellings began and ended.
            var begun: [UInt64] = []
            var ended: [UInt64] = []
        }

        let state = Mutex(State())
        let changes = Changes()

        func change(_ body: (inout State) -> Void) {
            state.withLock { body(&$0) }
            changes.note()
        }

        func wait(for what: String, until isSo: (State) -> Bool) async throws {
            try await changes.wait(for: what) { state.withLock { isSo($0) } ? () : nil }
        }

        func teller() -> SettingTeller {
            SettingTeller(version: { _ in self.state.withLock { $0.version } }) { _ in
                let version = self.state.withLock { $0.version }
                self.change { $0.begun.append(version) }
                try? await self.wait(for: "the gate") { $0.isOpen }
                self.change { $0.ended.append(version) }
            }
        }
    }

    @Test func `who asks while it is being told waits for the end`() async throws {
        let world = World()
        let teller = world.teller()
        world.change { ($0.version, $0.isOpen) = (1, false) }
        let first = Task { await teller.notify(.moderation) }
        try await world.wait(for: "the first telling") { $0.begun == [1] }
        let second = Task {
            await teller.notify(.moderation)
            return world.state.withLock { $0.ended }
        }
        // Nothing else can be waited for: a second asker that does not wait has returned long before this.
        for _ in 0..<100 { await Task.yield() }
        world.change { $0.isOpen = true }
        #expect(await second.value == [1])
        await first.value
        #expect(world.state.withLock { $0.begun } == [1], "told once")
    }

    @Test func `what changes while it is told is told again, after that`() async throws {
        let world = World()
        let teller = world.teller()
        world.change { ($0.version, $0.isOpen) = (1, false) }
        let first = Task { await teller.notify(.moderation) }
        try await world.wait(for: "the first telling") { $0.begun == [1] }
        world.change { $0.version = 2 }
        let askers = (0..<5).map { _ in Task { await teller.notify(.moderation) } }
        world.change { $0.isOpen = true }
        for asker in askers { await asker.value }
        await first.value
        let state = world.state.withLock { $0 }
        #expect(state.begun == [1, 2] && state.ended == [1, 2])
    }

    @Test func `settings do not wait for each other, and one that is not set is told once`() async throws {
        let world = World()
        let teller = world.teller()
        await teller.notify(.moderation)
        await teller.notify(.moderation)
        #expect(world.state.withLock { $0.ended } == [0])
        world.change { $0.isOpen = false }
        let webhook = Task { await teller.notify(.webhook) }
        try await world.wait(for: "the webhook's telling") { $0.begun.count == 2 }
        await teller.notify(.moderation)
        world.change { $0.isOpen = true }
        await webhook.value
    }
}
