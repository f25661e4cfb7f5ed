import ChatModel
import SessionCore
import StorageTestKit
import Testing

/// One user with sessions at several nodes, each of which asks as fast as it may.
@Suite struct UserOfManyNodesTests {
    /// What it asks for, how much of that a second gives to all sessions of a user, and the burst.
    enum Greed: CaseIterable {
        case changes
        case reads
        case bytes
        case combines

        var cost: RateCost {
            switch self {
            case .changes: .change(bytes: 10)
            case .reads: .read
            case .bytes: .change(bytes: 100 * 1024)
            case .combines: .change(bytes: 1024, copies: Limits.pageBytes)
            }
        }

        var amount: Double {
            switch self {
            case .changes, .reads: 1
            case .bytes: 100 * 1024
            case .combines: Double(1024 + Limits.pageBytes)
            }
        }

        func ofUser(_ limits: RateLimits) -> (rate: Double, burst: Double) {
            switch self {
            case .changes: (3 * limits.changesPerSecond, 3 * limits.changesBurst)
            case .reads: (3 * limits.readsPerSecond, 3 * limits.readsBurst)
            case .bytes, .combines: (3 * limits.bytesPerSecond, 3 * limits.bytesBurst)
            }
        }
    }

    private struct Node {
        var users: UserRates
        var sessions: [Rates]
        /// When it tells the others, within each second.
        var phase: UInt64
        var taken = 0.0
    }

    private struct Telling {
        var at: UInt64
        var to: Int
        var uses: [UserUse]
    }

    private static let seconds = 60.0
    private let limits = RateLimits()

    /// What each node has let through in a minute.
    /// - Parameters:
    ///   - asking: so many of the nodes have sessions of the user.
    ///   - pause: milliseconds that the user waits after each second and a half in which it has asked.
    private func run(
        _ greed: Greed, nodes count: Int, asking: Int, pause: UInt64 = 0, _ generator: inout SeededGenerator
    ) throws -> [Double] {
        let user = try #require(UserID("ann"))
        var nodes = (0..<count).map { _ in
            Node(
                users: UserRates(limits), sessions: Array(repeating: Rates(limits, nowMilliseconds: 0), count: 5),
                phase: UInt64.random(in: 0..<100, using: &generator) * 10)
        }
        var onTheWay: [Telling] = []
        for now in stride(from: UInt64(0), to: UInt64(Self.seconds * 1000), by: 10) {
            for telling in onTheWay where telling.at <= now {
                nodes[telling.to].users.take(elsewhere: telling.uses, nowMilliseconds: now)
            }
            onTheWay.removeAll { $0.at <= now }
            for index in nodes.indices {
                if index < asking, now % (1500 + pause) < 1500 {
                    ask(greed.cost, of: user, at: now, &nodes[index], worth: greed.amount)
                }
                guard now % 1000 == nodes[index].phase else { continue }
                guard let uses = nodes[index].users.takeUses(nowMilliseconds: now)?.noteworthy else { continue }
                for other in nodes.indices where other != index {
                    let late = UInt64.random(in: 0...200, using: &generator)
                    onTheWay.append(Telling(at: now + late, to: other, uses: uses))
                }
            }
        }
        return nodes.map(\.taken)
    }

    private func ask(_ cost: RateCost, of user: UserID, at now: UInt64, _ node: inout Node, worth amount: Double) {
        for index in node.sessions.indices {
            while node.users.take(cost, of: user, and: &node.sessions[index], nowMilliseconds: now) == nil {
                node.users.settle(
                    cost, copied: .max, of: user, and: &node.sessions[index], nowMilliseconds: now)
                node.taken += amount
            }
        }
    }

    @Test(arguments: Greed.allCases, 2...6)
    func `all nodes together let through little more than one does`(greed: Greed, count: Int) throws {
        for seed in SeededGenerator.seeds(5) {
            var generator = SeededGenerator(seed: seed)
            let taken = try run(greed, nodes: count, asking: count, &generator).reduce(0, +)
            let (rate, burst) = greed.ofUser(limits)
            // Before a node hears of the others, it gives the burst, and what flows in until then.
            let unheard = Double(count) * (burst + 1.3 * rate)
            #expect(taken <= 1.1 * rate * Self.seconds + unheard, "SEED=\(seed)")
            // Nor less than it may, by much.
            #expect(taken >= 0.8 * rate * Self.seconds, "SEED=\(seed)")
        }
    }

    @Test(arguments: Greed.allCases, [UInt64(2000), 4000, 6000])
    func `pauses between bursts give no more, at three nodes`(greed: Greed, pause: UInt64) throws {
        for seed in SeededGenerator.seeds(5) {
            var generator = SeededGenerator(seed: seed)
            let taken = try run(greed, nodes: 3, asking: 3, pause: pause, &generator).reduce(0, +)
            let (rate, burst) = greed.ofUser(limits)
            #expect(taken <= 1.2 * rate * Self.seconds + 3 * (burst + 1.3 * rate), "SEED=\(seed)")
        }
    }

    @Test(arguments: Greed.allCases)
    func `who asks at one node of several has all that a user may have`(greed: Greed) throws {
        var generator = SeededGenerator(seed: 1)
        let alone = try run(greed, nodes: 1, asking: 1, &generator)
        #expect(try run(greed, nodes: 3, asking: 1, &generator) == alone + [0, 0])
        let (rate, burst) = greed.ofUser(limits)
        #expect(alone[0] >= 0.95 * (rate * Self.seconds + burst) - greed.amount)
    }
}
