import Logging
import SimulatedSystem
import Synchronization

/// One room with viewers at many nodes: what its leader does for a message, and whether all viewers are shown everything
/// when relays and the leader die. Nodes are whole; viewers are counters of the simulated network (`sim_viewer`), each a
/// connection with a session, in the `Audience` of its node.
public final class SizeStory: Sendable {
    public struct Plan: Sendable {
        public var nodes = 20
        public var viewers = 10_000
        public var messages = 20
        public init() {}
    }

    /// What the leader does for one message.
    public struct Cost: Sendable {
        public var bytes = 0.0
        public var writes = 0.0
        public var processorMicroseconds = 0.0
        /// Of the node that has the most to do besides.
        public var gatewayMicroseconds = 0.0
    }

    private let plan: Plan
    private let cluster: SimulatedCluster
    private let trace: @Sendable (String) -> Void
    private let state = Mutex<(findings: [Complaint], report: [String])>(([], []))
    private static let viewersPlace: UInt8 = 250
    private static let room = "stage"

    public init(_ plan: Plan, directory: String, logger: Logger, trace: @escaping @Sendable (String) -> Void) throws {
        self.plan = plan
        self.trace = trace
        var layout = SimulatedCluster.Layout()
        (layout.nodes, layout.shards, layout.isCrowded) = (plan.nodes, 1, true)
        cluster = try SimulatedCluster(layout, directory: directory, logger: logger)
    }

    public var findings: [Complaint] { state.withLock { $0.findings } }
    public var report: [String] { state.withLock { $0.report } }

    private func complain(_ complaint: Complaint) { state.withLock { $0.findings.append(complaint) } }
    private func report(_ text: String) {
        trace(text)
        state.withLock { $0.report.append(text) }
    }

    public func run() async {
        do {
            try await notifyAll()
        } catch {
            complain(Complaint(broken: "the simulation itself has failed: \(error)"))
        }
        for failure in cluster.failures { complain(Complaint(.ended, failure)) }
    }

    private func notifyAll() async throws {
        try await cluster.create()
        for node in 0..<plan.nodes { try cluster.start(node) }
        for node in 0..<plan.nodes {
            guard try await cluster.ready(node, within: .seconds(120)) else {
                return complain(Complaint(.notReady, "n\(node + 1) was not ready: \(cluster.failures)"))
            }
        }
        guard try await cluster.replicated(within: .seconds(120)) else {
            return complain(Complaint(.notReplicated, "not replicated in 120 s"))
        }
        guard let answer = await cluster.call(0, "POST", "/v1/rooms", #"{"id":"stage","creator":"host"}"#),
            answer.status < 300, let leader = await leader(asking: 0)
        else { return complain(Complaint(.refused, "no room")) }
        trace("n\(leader + 1) leads")
        let gateways = (0..<plan.nodes).filter { $0 != leader }
        try await seat(gateways)
        guard try await present(plan.viewers, asking: leader) else {
            return complain(Complaint(.refused, "not all viewers are in the room"))
        }
        // What entering has brought is over.
        try await Task.sleep(for: .seconds(5))

        sim_measure()
        let cost = try await speak(from: leader)
        report(
            "\(plan.nodes) nodes, \(plan.viewers) viewers: a message costs the leader \(Int(cost.bytes)) bytes in "
                + "\(Double(Int(cost.writes * 10)) / 10) writes to nodes and \(Int(cost.processorMicroseconds)) µs; "
                + "the busiest gateway \(Int(cost.gatewayMicroseconds)) µs")
        try await settle(gateways, "at rest")

        guard plan.nodes > 3 else { return }
        var living = gateways
        // Whoever has sent nodes the most besides the leader is a relay, if there are any.
        let replicas = Set(await voters(asking: leader))
        let relays = gateways.filter { !replicas.contains($0) }.sorted { sent(by: $0) > sent(by: $1) }.prefix(2)
        for relay in relays {
            try await kill(relay, during: leader)
            living.removeAll { $0 == relay }
        }
        try await settle(living, "after \(relays.count) relays have died")

        try await kill(leader, during: leader)
        guard let next = try await nextLeader(after: leader, living) else {
            return complain(Complaint(.leadsNever, "nobody leads"))
        }
        trace("n\(next + 1) leads")
        _ = try await speak(from: next)
        try await settle(living, "after the leader has died")
    }

    // MARK: - Viewers

    private func seat(_ gateways: [Int]) async throws {
        let viewers = Viewers(place: Self.viewersPlace)
        for number in 0..<plan.viewers {
            viewers.add(at: UInt8(gateways[number % gateways.count] + 1), in: Self.room)
            // 100,000 a second, so that there is not more of what only time brings than of what viewers bring.
            if number % 1_000 == 999 { try await Task.sleep(for: .milliseconds(10)) }
        }
    }

    private func present(_ count: Int, asking node: Int) async throws -> Bool {
        let end = SimulatedTime.now + .seconds(120)
        while SimulatedTime.now < end {
            let answer = await cluster.call(node, "GET", "/v1/rooms/\(Self.room)")
            if answer.map({ String(decoding: $0.body, as: UTF8.self).contains("\"online\":\(count)") }) == true {
                return true
            }
            trace(answer.map { String(decoding: $0.body, as: UTF8.self) } ?? "no answer")
            try await Task.sleep(for: .seconds(1))
        }
        return false
    }

    /// Waits until all viewers of these nodes have been shown the same messages, without a hole.
    private func settle(_ gateways: [Int], _ when: String) async throws {
        let last = said.withLock { $0 }
        var late = gateways
        for _ in 0..<200 where !late.isEmpty {
            try await Task.sleep(for: .milliseconds(100))
            late.removeAll { node in
                let sum = sim_viewers_of(UInt8(node + 1))
                return sum.least == last && sum.greatest == last
            }
        }
        var viewers = UInt64(0)
        for node in gateways {
            let sum = sim_viewers_of(UInt8(node + 1))
            viewers += sum.connected - sum.ended
            if sum.least != last || sum.greatest != last || sum.missing > 0 || sum.repeated > 0 || sum.ended > 0 {
                let kind: Complaint.Kind =
                    sum.missing > 0 ? .notShown : sum.repeated > 0 ? .shownAgain : .deaf
                complain(
                    Complaint(
                        kind,
                        "\(when): viewers of n\(node + 1) were shown up to \(sum.least)…\(sum.greatest) of \(last); "
                            + "\(sum.missing) left out, \(sum.repeated) repeated, \(sum.ended) ended"))
            }
        }
        report(
            "\(when): \(viewers) viewers at \(gateways.count) nodes were shown \(last) messages, each once and in order"
        )
    }

    // MARK: - Messages

    private let said = Mutex<UInt32>(0)

    private func sent(by node: Int) -> UInt64 {
        (0..<plan.nodes).reduce(0) { $0 + sim_sent(UInt8(node + 1), UInt8($1 + 1)).bytes }
    }

    private func writes(by node: Int) -> UInt64 {
        (0..<plan.nodes).reduce(0) { $0 + sim_sent(UInt8(node + 1), UInt8($1 + 1)).writes }
    }

    private struct Figures {
        var at: Duration
        var bytes, writes: UInt64
        var times: [UInt64]
    }

    private func figures(of node: Int) -> Figures {
        Figures(
            at: SimulatedTime.now, bytes: sent(by: node), writes: writes(by: node),
            times: (0..<plan.nodes).map { cluster.host($0).map { sim_processor_time($0.number) } ?? 0 })
    }

    private func speak(from node: Int) async throws -> Cost {
        let pause = Duration.milliseconds(100)
        let first = figures(of: node)
        for _ in 0..<2 * plan.messages { try await Task.sleep(for: pause) }
        let second = figures(of: node)
        for _ in 0..<plan.messages {
            try await Task.sleep(for: pause)
            try await say(at: node)
        }
        try await Task.sleep(for: .milliseconds(500))
        let third = figures(of: node)
        // A message to very many takes simulated time. So much of what there is without messages is taken away as there is
        // in that time.
        let share = (third.at - second.at) / (second.at - first.at)
        func each(_ one: UInt64, _ two: UInt64, _ three: UInt64) -> Double {
            (Double(three - two) - Double(two - one) * share) / Double(plan.messages)
        }
        var cost = Cost()
        cost.bytes = each(first.bytes, second.bytes, third.bytes)
        cost.writes = each(first.writes, second.writes, third.writes)
        let times = (0..<plan.nodes).map { each(first.times[$0], second.times[$0], third.times[$0]) / 1_000 }
        cost.processorMicroseconds = times[node]
        cost.gatewayMicroseconds = times.indices.filter { $0 != node }.map { times[$0] }.max() ?? 0
        return cost
    }

    /// Until it is acked, under one ID.
    private func say(at node: Int) async throws {
        let number = said.withLock { said in
            said += 1
            return said
        }
        let text = Viewers.text(number) + " " + String(repeating: "x", count: 600)
        let body = #"{"type":"TEXT","text":"\#(text)","sender":"host","clientId":"m\#(number)"}"#
        for _ in 0..<100 {
            let answer = await cluster.call(node, "POST", "/v1/rooms/\(Self.room)/messages", body)
            if let answer, answer.status < 300 { return }
            if let answer { trace("\(answer.status) \(String(decoding: answer.body, as: UTF8.self))") }
            try await Task.sleep(for: .milliseconds(100))
        }
        complain(Complaint(.notAcked, "message \(number) was not acked"))
    }

    /// Kills a node while messages are on their way.
    private func kill(_ node: Int, during leader: Int) async throws {
        for number in 0..<10 {
            if number == 5 {
                trace("n\(node + 1) dies")
                cluster.kill(node, withMachine: true)
                if node == leader { return }
            }
            try await say(at: leader)
        }
    }

    // MARK: - Who leads

    private static func number(of node: String) -> Int? { Int(node.dropFirst()).map { $0 - 1 } }

    private func leader(asking node: Int) async -> Int? {
        await cluster.placements(asking: node).first?.leader.flatMap { Self.number(of: $0) }
    }

    private func voters(asking node: Int) async -> [Int] {
        await cluster.placements(asking: node).first?.replicas?.compactMap { Self.number(of: $0) } ?? []
    }

    private func nextLeader(after leader: Int, _ living: [Int]) async throws -> Int? {
        for _ in 0..<300 {
            for node in living.prefix(3) {
                if let next = await self.leader(asking: node), next != leader { return next }
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        return nil
    }
}
