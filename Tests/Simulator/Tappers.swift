import BotSwarmCore
import ChatModel
import EventLoop
import Foundation
import SimulatedSystem
import Synchronization

/// Clients that tap, each on a tally of its own: so that what one of them does not know of its taps, because its node has
/// died, explains nothing about another's.
final class Tappers: Sendable {
    static let keys = (0..<6).map { "taps-\($0)" }

    private let accounts = Mutex<[String: TapAccount]?>(nil)

    /// They tap until the story's taps are to end.
    init(at place: UInt8, _ gateways: [WebSocketAddress], _ target: SwarmTarget, _ story: ClusterStory) {
        SimulatedHost(place: place).run("taps") { [self] in
            guard let room = RoomID(ClusterStory.tapsRoom), let signer = target.signer,
                let loop = try? EventLoop(name: "taps")
            else { return }
            loop.start()
            let plan = TapPlan(
                room: room, keys: Self.keys, members: Self.keys.count, requestsPerSecond: 1, delta: 3,
                answeredPercent: 100, rampPerSecond: 100)
            let listener = TapListener(
                mark: { story.amendments.withLock { $0.count } },
                entered: { story.lookForAmended(in: [$0], "to somebody who has entered", upTo: $1, isAll: false) })
            let lane = await loop.run {
                let lane = TapLane(
                    loop: loop, gateways: gateways, signer: signer, plan: plan, tag: "sim", listener: listener
                ) { Int64(Date().timeIntervalSince1970) }
                lane.start()
                lane.tap(true)
                return LoopBound(onLoop: lane, loop: loop)
            }
            while !story.tapsEnd.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(100)) }
            await loop.run { lane.value.tap(false) }
            let end = SimulatedTime.now + .seconds(45)
            while await loop.run({ lane.value.waiting }) > 0, SimulatedTime.now < end {
                try? await Task.sleep(for: .milliseconds(100))
            }
            let told = await loop.run {
                lane.value.stop()
                return lane.value.accounts
            }
            accounts.withLock { $0 = told }
        }
    }

    /// By the key of the tally, when nothing is on its way any more.
    func settled() async throws -> [String: TapAccount] {
        while true {
            if let told = accounts.withLock({ $0 }) { return told }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
