import ChatModel
import Testing

@testable import Swim

/// Many nodes with loss, delay, duplication, reordering, partitions, crashes, restarts, joins and departures.
@Suite struct SimulationTests {
    private static func ids(_ count: Int) -> [NodeID] { (0..<count).map(GossipSimulation.id) }

    /// A cluster in which everybody knows everybody.
    private static func cluster(
        _ count: Int, seed: UInt64, weather: GossipSimulation.Weather = GossipSimulation.Weather(),
        configuration: GossipConfiguration = GossipConfiguration()
    ) throws -> GossipSimulation {
        var simulation = GossipSimulation(seed: seed, configuration: configuration)
        simulation.weather = weather
        for id in ids(count) {
            simulation.start(id, joins: id == ids(1)[0] ? [] : [ids(1)[0]])
            simulation.run(.milliseconds(20))
        }
        let hasJoined = simulation.run(atMost: .seconds(60)) { $0.isConverged }
        try #require(hasJoined, "seed \(seed): \(count) nodes did not find together")
        return simulation
    }

    private static let bad = GossipSimulation.Weather(loss: 0.05, duplication: 0.1, delayMilliseconds: 1...120)

    /// A crash is certain to be known by then: somebody probes it within a few periods, the suspicion runs its full
    /// length, and the news spreads.
    private static func deathBound(_ members: Int) -> Duration {
        let configuration = GossipConfiguration()
        return configuration.probeInterval * 20
            + configuration.suspicionMin(members: members) * configuration.suspicionMaxTimeoutMult
    }

    // MARK: - Healthy

    @Test(arguments: [3, 7, 20, 50], Seeds.make(1))
    func `nodes that join through one of them find each other, and nobody is held for dead`(count: Int, seed: UInt64)
        throws
    {
        var simulation = try Self.cluster(count, seed: seed, weather: Self.bad)
        simulation.run(.seconds(60))
        #expect(simulation.isConverged, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    @Test func `an idle cluster sends a bounded number of packets`() throws {
        var simulation = try Self.cluster(20, seed: 1)
        simulation.run(.seconds(30))
        let before = simulation.packets
        simulation.run(.seconds(60))
        // A ping and its answer per node and period, and a little for what push-pull brings.
        #expect(simulation.packets - before <= 20 * 60 * 2 + 100)
        #expect(simulation.violations == [])
    }

    @Test(arguments: Seeds.make(3))
    func `what a node says about itself reaches everybody`(seed: UInt64) throws {
        var simulation = try Self.cluster(15, seed: seed, weather: Self.bad)
        for round in 1...5 as ClosedRange<UInt64> {
            for id in Self.ids(15) {
                simulation.with(id) { membership, _ in
                    var own = membership.own
                    own.load = UInt16(round)
                    own.leads = [ShardLead(shard: ShardID(3), term: round)]
                    membership.update(own)
                }
            }
            // News reaches all but about one in two thousand; push-pull brings the rest.
            #expect(simulation.run(atMost: .seconds(120)) { $0.isConverged }, "seed \(seed)")
        }
        #expect(simulation.violations == [], "seed \(seed)")
    }

    // MARK: - Crashes and departures

    @Test(arguments: [3, 10, 40], Seeds.make(1))
    func `a crash is known to everybody within the bound, and only that`(count: Int, seed: UInt64) throws {
        var simulation = try Self.cluster(count, seed: seed, weather: Self.bad)
        let victim = Self.ids(count)[count / 2]
        simulation.crash(victim)
        #expect(simulation.run(atMost: Self.deathBound(count)) { $0.isConverged }, "seed \(seed)")
        #expect(simulation.failures(of: victim).count == count - 1, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    @Test(arguments: [1, 9] as [UInt64], Seeds.make(2))
    func `a node that starts again is known with its new store, whatever its incarnation`(
        incarnation: UInt64, seed: UInt64
    ) throws {
        var simulation = try Self.cluster(8, seed: seed, weather: Self.bad)
        let node = Self.ids(8)[4]
        simulation.with(node) { membership, _ in
            var own = membership.own
            for load in 1...3 as ClosedRange<UInt16> {
                own.load = load
                membership.update(own)
            }
        }
        simulation.run(.seconds(5))
        simulation.crash(node)
        simulation.run(.seconds(2))
        simulation.start(node, incarnation: incarnation, store: 2, joins: [Self.ids(1)[0]])
        #expect(simulation.run(atMost: .seconds(60)) { $0.isConverged }, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    @Test(arguments: Seeds.make(3))
    func `who leaves is known to have left and not to have failed`(seed: UInt64) throws {
        var simulation = try Self.cluster(12, seed: seed, weather: Self.bad)
        let leaver = Self.ids(12)[7]
        simulation.with(leaver) { $0.leave(now: $1) }
        #expect(
            simulation.run(atMost: .seconds(6)) { simulation in
                simulation.notifications.contains { $0.observer == leaver && $0.what == .leaveComplete }
            }, "seed \(seed)")
        simulation.crash(leaver)
        #expect(simulation.run(atMost: .seconds(40)) { $0.isConverged }, "seed \(seed)")
        #expect(simulation.departures(of: leaver).count == 11, "seed \(seed)")
        #expect(simulation.failures(of: leaver).isEmpty, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    @Test(arguments: [3, 5, 10], Seeds.make(3))
    func `a death is known everywhere within 5 seconds, with connections that tell of it and without`(
        count: Int, seed: UInt64
    ) throws {
        let weather = GossipSimulation.Weather(loss: 0.005, delayMilliseconds: 1...20)
        for tells in [true, false] {
            var simulation = try Self.cluster(count, seed: seed, weather: weather)
            simulation.run(.seconds(20))
            let victim = Self.ids(count)[Int(seed % UInt64(count))]
            simulation.crash(victim)
            if tells {
                for other in Self.ids(count) where other != victim {
                    simulation.with(other) { $0.onNodeLost(victim, now: $1) }
                }
            }
            // Looked at every 500 ms.
            #expect(simulation.run(atMost: .seconds(tells ? 4 : 5)) { $0.isConverged }, "seed \(seed), told \(tells)")
            #expect(simulation.failures(of: victim).count == count - 1, "seed \(seed)")
            #expect(simulation.violations == [], "seed \(seed)")
        }
    }

    @Test(arguments: [3, 5], Seeds.make(3))
    func `a process that does not run for seconds holds nobody else for dead, and short stalls kill nobody`(
        count: Int, seed: UInt64
    ) throws {
        var simulation = try Self.cluster(count, seed: seed)
        var random = SplitMix64(seed: seed)
        let ids = Self.ids(count)
        simulation.forbidsFalseDeaths = false
        for _ in 0..<30 {
            // A long one: the others may hold it for dead, but it must not hold one of them for dead.
            simulation.stall(ids[0], for: .milliseconds(Int.random(in: 1_000...9_000, using: &random)))
            simulation.run(.milliseconds(Int.random(in: 100...5_000, using: &random)))
        }
        #expect(simulation.violations == [], "seed \(seed)")
        for other in ids.dropFirst() { #expect(simulation.failures(of: other).isEmpty, "seed \(seed)") }
        simulation.run(.seconds(30))
        #expect(simulation.run(atMost: .seconds(60)) { $0.isConverged }, "seed \(seed)")
        // Everybody, for less than a suspicion takes.
        simulation.forbidsFalseDeaths = true
        for _ in 0..<200 {
            let node = ids[Int.random(in: 0..<count, using: &random)]
            simulation.stall(node, for: .milliseconds(Int.random(in: 50...1_500, using: &random)))
            simulation.run(.milliseconds(Int.random(in: 50...800, using: &random)))
        }
        #expect(simulation.violations == [], "seed \(seed)")
    }

    // MARK: - Partitions

    @Test(arguments: Seeds.make(3))
    func `two nodes that cannot reach each other, one way or both, are not held for dead`(seed: UInt64) throws {
        var simulation = try Self.cluster(6, seed: seed)
        let ids = Self.ids(6)
        simulation.blocked = [[ids[0], ids[1]], [ids[2], ids[3]], [ids[3], ids[2]]]
        simulation.run(.seconds(120))
        #expect(simulation.isConverged, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    @Test(arguments: [true, false], Seeds.make(2))
    func `a node that hears nobody, or is heard by nobody, comes back when it is reachable again`(
        isDeaf: Bool, seed: UInt64
    ) throws {
        var simulation = try Self.cluster(9, seed: seed)
        simulation.forbidsFalseDeaths = false
        let ids = Self.ids(9)
        for other in ids where other != ids[5] {
            simulation.blocked.insert(isDeaf ? [other, ids[5]] : [ids[5], other])
        }
        simulation.run(.seconds(60))
        #expect(simulation.failures(of: ids[5]).count >= 8, "seed \(seed)")
        simulation.blocked = []
        simulation.forbidsFalseDeaths = false
        #expect(simulation.run(atMost: .seconds(120)) { $0.isConverged }, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    @Test(arguments: [4, 20], Seeds.make(1))
    func `two halves that held each other for dead find together again`(count: Int, seed: UInt64) throws {
        var simulation = try Self.cluster(count, seed: seed)
        simulation.forbidsFalseDeaths = false
        let ids = Self.ids(count)
        for left in ids[..<(count / 2)] {
            for right in ids[(count / 2)...] { simulation.blocked.formUnion([[left, right], [right, left]]) }
        }
        simulation.run(.seconds(120))
        #expect(simulation.nodes.values.allSatisfy { $0.membership.alive.count == count / 2 }, "seed \(seed)")
        simulation.blocked = []
        #expect(simulation.run(atMost: .seconds(120)) { $0.isConverged }, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    // MARK: - Anything

    @Test(arguments: Seeds.make(3))
    func `after any faults everybody agrees on who is there`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let count = Int.random(in: 3...20, using: &random)
        let ids = Self.ids(count)
        var simulation = try Self.cluster(count, seed: random.next())
        simulation.forbidsFalseDeaths = false
        var incarnation: UInt64 = 1
        for _ in 0..<25 {
            let node = ids[Int.random(in: 0..<count, using: &random)]
            let other = ids[Int.random(in: 0..<count, using: &random)]
            switch Int.random(in: 0..<7, using: &random) {
            case 0: simulation.crash(node)
            case 1:
                incarnation += UInt64.random(in: 0...2, using: &random)
                if simulation.nodes[node] == nil {
                    simulation.start(node, incarnation: incarnation, store: incarnation, joins: [ids[0], ids[1]])
                }
            case 2: simulation.blocked.insert([node, other])
            case 3: simulation.blocked = []
            case 4:
                simulation.weather = GossipSimulation.Weather(
                    loss: .random(in: 0...0.4, using: &random), duplication: .random(in: 0...0.5, using: &random),
                    delayMilliseconds: 1 ... .random(in: 2...800, using: &random))
            case 5:
                simulation.with(node) { membership, _ in
                    var own = membership.own
                    own.load &+= 1
                    membership.update(own)
                }
            default: break
            }
            simulation.run(.milliseconds(Int.random(in: 0...15_000, using: &random)))
        }
        simulation.blocked = []
        simulation.weather = GossipSimulation.Weather()
        for id in ids[..<2] where simulation.nodes[id] == nil {
            simulation.start(id, incarnation: incarnation + 1, store: 99, joins: Array(ids[..<2]))
        }
        #expect(simulation.run(atMost: .seconds(240)) { $0.isConverged }, "seed \(seed)")
        #expect(simulation.violations == [], "seed \(seed)")
    }

    // MARK: - The checkers see what they are for

    @Test func `without refutations a running node is held for dead`() throws {
        var simulation = try Self.cluster(6, seed: 5)
        simulation.sabotage = .noRefutation
        simulation.weather = GossipSimulation.Weather(loss: 0.45)
        simulation.run(.seconds(300))
        #expect(simulation.violations.contains { $0.contains("for dead") })
    }

    @Test func `news without end is noticed`() throws {
        var simulation = try Self.cluster(6, seed: 5)
        simulation.sabotage = .endlessNews
        simulation.run(.seconds(120))
        #expect(simulation.violations.contains { $0.contains("sent more than") })
    }

    @Test func `an incarnation that somebody else raised is noticed`() throws {
        var simulation = try Self.cluster(6, seed: 5)
        simulation.sabotage = .raisesOthers
        simulation.with(Self.ids(1)[0]) { membership, _ in
            var own = membership.own
            own.load = 5
            membership.update(own)
        }
        simulation.run(.milliseconds(500))
        #expect(simulation.violations.contains { $0.contains("has incarnation") })
    }

    @Test func `halves that do not look for each other stay apart`() throws {
        var simulation = try Self.cluster(4, seed: 5)
        simulation.forbidsFalseDeaths = false
        let ids = Self.ids(4)
        for left in ids[..<2] {
            for right in ids[2...] { simulation.blocked.formUnion([[left, right], [right, left]]) }
        }
        simulation.run(.seconds(120))
        simulation.blocked = []
        simulation.sabotage = .noReconnect
        #expect(!simulation.run(atMost: .seconds(120)) { $0.isConverged })
    }

    @Test func `a crash that nobody tells of is not known within the bound`() throws {
        var simulation = try Self.cluster(10, seed: 5)
        simulation.sabotage = .silentLeave
        simulation.with(Self.ids(10)[3]) { $0.leave(now: $1) }
        simulation.run(.seconds(6))
        simulation.crash(Self.ids(10)[3])
        _ = simulation.run(atMost: Self.deathBound(10)) { $0.isConverged }
        #expect(simulation.departures(of: Self.ids(10)[3]).isEmpty)
        #expect(!simulation.failures(of: Self.ids(10)[3]).isEmpty)

        var dumb = try Self.cluster(
            10, seed: 5,
            configuration: {
                var configuration = GossipConfiguration()
                configuration.suspicionMult = 4_000
                return configuration
            }())
        dumb.crash(Self.ids(10)[3])
        #expect(!dumb.run(atMost: Self.deathBound(10)) { $0.isConverged })
    }
}
