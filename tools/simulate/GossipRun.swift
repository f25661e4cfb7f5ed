import Simulation

/// Measures gossip among many nodes: how long a start of all, a join, a death and a departure take to be known
/// everywhere, and what a node sends while nothing happens.
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
        var scale = GossipScale(nodes: nodes + 2 * trials, seed: seed, weather: weather)
        for _ in 0..<nodes { scale.start() }
        let began = scale.run(atMost: .seconds(120)) { $0.isConverged }
        let start = scale.takeTraffic()
        print(
            "\(nodes) nodes, \(weather.lossPercent) % of packets lost, one way \(weather.delayMilliseconds) ms, seed \(seed)"
        )
        print(
            "all started at once, known everywhere after \(text(began)); by then sent a node: "
                + "\((start.packetBytes + start.exchangeBytes) / nodes / 1_000) KB")
        // News and suspicions of the start are gone then.
        scale.run(.seconds(60))
        _ = scale.takeTraffic()
        let rest = Duration.seconds(60)
        scale.run(rest)
        let idle = scale.takeTraffic()
        let bytes = idle.bytesPerNodeAndSecond(nodes: nodes, rest)
        print(
            "at rest, sent a node and second: \(Int(bytes)) bytes "
                + "(of it exchanges \(idle.exchangeBytes / nodes / 60)), \(idle.packets * 10 / nodes / 60) packets in 10 s"
        )

        var joins: [Duration?] = []
        var deaths: [Duration?] = []
        var firsts: [Duration?] = []
        var departures: [Duration?] = []
        var traffic = GossipScale.Traffic()
        for _ in 0..<trials {
            let joined = scale.start()
            let count = scale.runningCount
            joins.append(scale.run(atMost: .seconds(60)) { $0.believers(in: joined) == count - 1 })
            scale.run(.seconds(10))
            _ = scale.takeTraffic()
            scale.crash(joined)
            let all = scale.believers(in: joined)
            let first = scale.run(atMost: .seconds(60)) { $0.believers(in: joined) < all }
            firsts.append(first)
            let rest = scale.run(atMost: .seconds(60)) { $0.believers(in: joined) == 0 }
            deaths.append(first.flatMap { first in rest.map { first + $0 } })
            let one = scale.takeTraffic()
            traffic.packetBytes += one.packetBytes
            traffic.exchangeBytes += one.exchangeBytes
            scale.run(.seconds(10))
            let leaver = scale.start()
            scale.run(.seconds(10))
            scale.leave(leaver)
            departures.append(scale.run(atMost: .seconds(60)) { $0.believers(in: leaver) == 0 })
            scale.run(.seconds(10))
        }
        print("a join is known everywhere after \(text(joins))")
        print(
            "a death is declared by the first after \(text(firsts)), known everywhere after \(text(deaths)), "
                + "and costs \((traffic.packetBytes + traffic.exchangeBytes) / nodes / trials) bytes a node")
        print("a departure is known everywhere after \(text(departures))")
        print(
            "nodes that run: suspected \(scale.falseSuspicions) times, declared dead \(scale.falseDeaths) times; "
                + "packets over the bound: \(scale.tooLong)")
        let missing = (joins + deaths + departures + [began]).count { $0 == nil }
        return missing == 0 && scale.falseDeaths == 0 && scale.tooLong == 0 ? 0 : 1
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
