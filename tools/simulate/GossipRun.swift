import SwimTestKit

/// Measures gossip among many nodes: how long a start of all, a join, a death and a departure take to be known
/// everywhere, and what a node sends while nothing happens. Half of the deaths are of processes, whose connections to
/// the others end, and half are of machines, which fall silent.
struct GossipRun {
    private var nodes = 1_000
    private var trials = 10
    private var seed: UInt64 = 1
    private var weather = GossipScale.Weather()

    init?(_ words: [String]) {
        guard let given = numbers(words, names: ["--nodes", "--trials", "--seed", "--loss"]) else { return nil }
        nodes = given["--nodes"].map { Int($0) } ?? nodes
        trials = given["--trials"].map { Int($0) } ?? trials
        seed = given["--seed"] ?? seed
        weather.lossPercent = given["--loss"].map { Int($0) } ?? weather.lossPercent
        guard (3...10_000).contains(nodes), (1...100).contains(trials), weather.lossPercent <= 50 else { return nil }
    }

    func run() -> Int32 {
        var scale = GossipScale(nodes: nodes + 3 * trials, seed: seed, weather: weather)
        for _ in 0..<nodes { scale.start() }
        let began = scale.run(atMost: .seconds(120)) { $0.isConverged }
        let start = scale.takeTraffic()
        print(
            "\(nodes) nodes, \(weather.lossPercent) % of packets lost, one way \(weather.delayMilliseconds) ms, seed \(seed)"
        )
        print(
            "all started at once, known everywhere after \(text(began)); by then sent a node: "
                + "\((start.packetBytes + start.exchangeBytes) / nodes / 1_000) KB")
        // By then all exchange what they know as seldom as ever.
        scale.run(.seconds(600))
        _ = scale.takeTraffic()
        let rest = Duration.seconds(300)
        scale.run(rest)
        let idle = scale.takeTraffic()
        let bytes = idle.bytesPerNodeAndSecond(nodes: nodes, rest)
        print(
            "at rest, sent a node and second: \(Int(bytes)) bytes "
                + "(of it exchanges \(idle.exchangeBytes / nodes / 300)), \(idle.packets * 10 / nodes / 300) packets in 10 s"
        )

        var joins: [Duration?] = []
        var deaths = Deaths()
        var silentDeaths = Deaths()
        var departures: [Duration?] = []
        for _ in 0..<trials {
            let joined = scale.start()
            let count = scale.runningCount
            joins.append(scale.run(atMost: .seconds(60)) { $0.believers(in: joined) == count - 1 })
            scale.run(.seconds(10))
            deaths.crash(joined, &scale, endsLinks: true)
            let other = scale.start()
            scale.run(.seconds(10))
            silentDeaths.crash(other, &scale, endsLinks: false)
            let leaver = scale.start()
            scale.run(.seconds(10))
            scale.leave(leaver)
            departures.append(scale.run(atMost: .seconds(60)) { $0.believers(in: leaver) == 0 })
            scale.run(.seconds(10))
        }
        print("a join is known everywhere after \(text(joins))")
        for (what, deaths) in [("process", deaths), ("machine", silentDeaths)] {
            print(
                "the death of a \(what) is declared by the first after \(text(deaths.firsts)), known everywhere after "
                    + "\(text(deaths.times)), and costs \(deaths.bytes / nodes / trials) bytes a node")
        }
        print("a departure is known everywhere after \(text(departures))")
        print(
            "nodes that run: suspected \(scale.falseSuspicions) times, declared dead \(scale.falseDeaths) times; "
                + "packets over the bound: \(scale.tooLong)")
        let missing = (joins + deaths.times + silentDeaths.times + departures + [began]).count { $0 == nil }
        return missing == 0 && scale.falseDeaths == 0 && scale.tooLong == 0 ? 0 : 1
    }

    /// The deaths of one kind.
    private struct Deaths {
        /// Until somebody declares it.
        var firsts: [Duration?] = []
        /// Until it is known everywhere.
        var times: [Duration?] = []
        var bytes = 0

        mutating func crash(_ number: Int, _ scale: inout GossipScale, endsLinks: Bool) {
            // Not always at the same place between two probes.
            scale.run(.milliseconds(137 * (times.count % 15)))
            _ = scale.takeTraffic()
            let all = scale.believers(in: number)
            scale.crash(number, endsLinks: endsLinks)
            let first = scale.run(atMost: .seconds(60)) { $0.believers(in: number) < all }
            firsts.append(first)
            let rest = scale.run(atMost: .seconds(60)) { $0.believers(in: number) == 0 }
            times.append(first.flatMap { first in rest.map { first + $0 } })
            let traffic = scale.takeTraffic()
            bytes += traffic.packetBytes + traffic.exchangeBytes
            scale.run(.seconds(10))
        }
    }

    private func text(_ time: Duration?) -> String {
        time.map { "\(Double(Int($0 / .milliseconds(1))) / 1_000) s" } ?? "never"
    }

    private func text(_ times: [Duration?]) -> String {
        let sorted = times.compactMap { $0 }.sorted()
        guard sorted.count == times.count, let first = sorted.first, let last = sorted.last else {
            return "never (once)"
        }
        return "\(text(sorted[sorted.count / 2])) (least \(text(first)), most \(text(last)), \(times.count) trials)"
    }
}
