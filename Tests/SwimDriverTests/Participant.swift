import ChatModel
import EventLoop
import Swim
import SwimDriver
import Testing
import WaitTestKit

/// A driver and what it told, on a loop.
final class Watched {
    var driver: MembershipDriver?
    private(set) var notifications: [GossipNotification] = []
    private var waiters: [(isMet: (Watched) -> Bool, resume: () -> Void)] = []

    func notice(_ notification: GossipNotification) {
        notifications.append(notification)
        resumeWaiters()
    }

    func wait(until isMet: @escaping (Watched) -> Bool, resume: @escaping () -> Void) {
        waiters.append((isMet, resume))
        resumeWaiters()
    }

    private func resumeWaiters() {
        let met = waiters.filter { $0.isMet(self) }
        waiters.removeAll { $0.isMet(self) }
        for waiter in met { waiter.resume() }
    }

    func record(_ node: NodeID) -> GossipRecord? { driver?.records.first { $0.member.node == node } }

    /// Those that are held for alive, this one included.
    var alive: Set<NodeID> {
        Set(driver?.records.filter { $0.status == .alive }.map(\.member.node) ?? [])
    }
}

/// A member of a cluster as a test sees it, from outside of the loop.
struct Participant: Sendable {
    let id: NodeID
    let address: GossipAddress
    let box: LoopBound<Watched>

    /// Periods so short that a test takes a second; nothing depends on their being kept.
    static var quick: MembershipConfiguration {
        var configuration = MembershipConfiguration()
        configuration.gossip.probeInterval = .milliseconds(50)
        configuration.gossip.probeTimeout = .milliseconds(20)
        configuration.gossip.gossipInterval = .milliseconds(10)
        configuration.gossip.pushPullInterval = .milliseconds(200)
        configuration.gossip.reconnectInterval = .milliseconds(100)
        configuration.timerInterval = .milliseconds(1)
        return configuration
    }

    static func key(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: KeyRing.keyBytes) }

    static func start(
        _ name: String, on loop: EventLoop, seeds: [GossipAddress] = [], keys: [UInt8] = [1], store: UInt64 = 1,
        configuration: MembershipConfiguration = quick
    ) async throws -> Participant {
        let id = try #require(NodeID(name))
        let ring = try #require(KeyRing(keys.map(key)))
        let started = await loop.run { () -> Result<(GossipAddress, LoopBound<Watched>), MembershipError> in
            let watched = Watched()
            do throws(MembershipError) {
                let driver = try MembershipDriver(
                    loop: loop, configuration: configuration, keys: ring, seeds: seeds,
                    wallClockMilliseconds: { wallClock },
                    describe: {
                        GossipMember(node: id, store: store, gossipAddress: $0, clientAddress: $0, version: "1.0")
                    },
                    observe: { watched.notice($1) })
                watched.driver = driver
                return .success((driver.address, LoopBound(onLoop: watched, loop: loop)))
            } catch {
                return .failure(error)
            }
        }
        let (address, box) = try started.get()
        return Participant(id: id, address: address, box: box)
    }

    /// Some wall clock, in milliseconds: all that matters is that everybody's is the same and moves.
    static var wallClock: Int64 { 1_700_000_000_000 + Int64((ContinuousClock.now - origin) / .milliseconds(1)) }

    private static let origin = ContinuousClock.now

    /// Runs `body` on the loop.
    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable (Watched) -> Value) async -> Value {
        await box.loop.run { body(box.value) }
    }

    /// Waits for a notification after which `isMet` holds, or returns at once if it does. What never comes is an issue.
    func wait(until isMet: @escaping @Sendable (Watched) -> Bool) async {
        do {
            try await withDeadline("a notification of \(id)") {
                await withCheckedContinuation { continuation in
                    box.loop.execute { box.value.wait(until: isMet) { continuation.resume() } }
                }
            }
        } catch { Issue.record(error) }
    }

    /// Waits until it has refused something. There is no event for that, so it is asked again and again.
    func waitForRefusal() async throws {
        try await poll("a refusal of \(id)") { await run { $0.driver?.refusedCount ?? 0 } > 0 }
    }

    /// Ends it as a crash would.
    func kill() async { await run { $0.driver?.close() } }
}

/// Runs `body` with a loop that has started, and ends the loop afterwards, which closes what is open on it.
func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop(name: "membership")
    loop.start()
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(loop))
    } catch {
        result = .failure(error)
    }
    loop.shutdown()
    await loop.joined()
    try result.get()
}
