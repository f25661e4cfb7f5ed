import SimulatedSystem
import StorageTestKit
import Synchronization

extension ClusterStory {
    /// One fault after another, never two at a time, so that each may be survived without a loss.
    func disturb() async throws {
        // Its own: neither what hosts draw nor what their network does changes the story.
        var chance = SeededGenerator(seed: plan.seed)
        try await Task.sleep(for: .seconds(4))
        // No bot is to be looked for at the end that has just lost its node.
        let begun = SimulatedTime.now
        func isTime(for fault: Fault) -> Bool {
            let part = fault == .drain || fault == .remove ? 0.4 : 0.9
            return SimulatedTime.now - begun < .seconds(plan.seconds * part - 4)
        }
        for _ in 0..<plan.faultCount where !isOver.withLock({ $0 }) {
            let possible = plan.faults.filter {
                isTime(for: $0) && (plan.layout.nodes > 3 || ($0 != .drain && $0 != .remove))
            }
            guard let fault = possible.randomElement(using: &chance) else { return }
            let node = await victim(of: fault, &chance)
            trace("\(fault) n\(node + 1)")
            count("\(fault)")
            let isLate = Self.answeringFaults.contains(fault)
            let calls = Task { if fault != .transfer { try await self.callAlways(isLate: isLate) } }
            if plan.layout.slowMilliseconds != nil {
                // So that it comes while calls are under way.
                try await Task.sleep(for: .milliseconds(Int64.random(in: 500...1_500, using: &chance)))
            }
            try await act(fault, node, &chance)
            // Until it has been seen what comes of it.
            try await Task.sleep(for: .milliseconds(600))
            calls.cancel()
            _ = await calls.result
            trace("\(fault) n\(node + 1) is over")
            // Until what was lost has been made up for, so that the next fault is again the only one.
            guard try await hasRecovered(from: fault) else { return }
            try await Task.sleep(for: .milliseconds(Int64.random(in: 500...3_000, using: &chance)))
        }
    }

    /// Often a leader: nobody else has promised anything that can be broken. One that is lost for long leads a room of
    /// listeners, of whom some are at the same node.
    private func victim(of fault: Fault, _ chance: inout SeededGenerator) async -> Int {
        let any = Int.random(in: 0..<plan.layout.nodes, using: &chance)
        let shard = Int.random(in: 0..<plan.layout.shards, using: &chance)
        guard Bool.random(using: &chance) || fault == .lostNode else { return any }
        let leader =
            fault == .lostNode
            ? await leaderOfListeners(asking: any)
            : await cluster.placements(asking: any).first { $0.shard == shard }?.leader
        return leader.flatMap { Int($0.dropFirst()) }.map { $0 - 1 } ?? any
    }

    /// Each check says what it finds, whatever those before it have found.
    private func hasRecovered(from fault: Fault) async throws -> Bool {
        var isWell = true
        for node in 0..<plan.layout.nodes {
            guard try await !cluster.ready(node, within: .seconds(30)) else { continue }
            complain(.notReady, "n\(node + 1) is not ready 30 s after \(fault)")
            isWell = false
        }
        if try await !cluster.replicated(within: .seconds(60)) {
            complain(.notReplicated, "not replicated 60 s after \(fault): \(await cluster.shardsText(0))")
            isWell = false
        }
        try await everybodyHears(after: "after \(fault)")
        return isWell
    }

    private func act(_ fault: Fault, _ node: Int, _ chance: inout SeededGenerator) async throws {
        let other = (node + Int.random(in: 1..<plan.layout.nodes, using: &chance)) % plan.layout.nodes
        let (own, peer) = (UInt8(node + 1), UInt8(other + 1))
        let long = Duration.milliseconds(Int64.random(in: 200...15_000, using: &chance))
        let short = Duration.milliseconds(Int64.random(in: 20...3_000, using: &chance))
        switch fault {
        case .kill, .powerCut, .lostDisk:
            cluster.kill(node, withMachine: fault != .kill)
            try await Task.sleep(for: short)
            try cluster.start(node, from: fault == .lostDisk ? .nothing : .lastDisk)
        case .blackout:
            for node in 0..<plan.layout.nodes { cluster.kill(node, withMachine: true) }
            try await Task.sleep(for: short)
            for node in 0..<plan.layout.nodes { try cluster.start(node) }
        case .stop:
            try await cluster.stop(node)
            try await Task.sleep(for: short)
            try cluster.start(node)
        case .freeze:
            let host = cluster.host(node)
            host?.freeze()
            try await Task.sleep(for: long)
            host?.thaw()
        case .freezeTwo:
            let hosts = [cluster.host(node), cluster.host(other)]
            for host in hosts { host?.freeze() }
            try await Task.sleep(for: long)
            hosts[0]?.thaw()
            try await Task.sleep(for: short)
            hosts[1]?.thaw()
        case .isolate:
            let others =
                (0..<plan.layout.nodes).filter { $0 != node }.map { UInt8($0 + 1) }
                + [Self.swarmPlace, Self.listenersPlace, Self.tapsPlace, Self.moderatedPlace]
            for other in others { cut(own, other) }
            try await Task.sleep(for: long)
            for other in others { heal(own, other) }
        case .storm:
            sim_reset(own, Self.swarmPlace)
            sim_reset(own, Self.tapsPlace)
            sim_reset(own, Self.moderatedPlace)
        case .loss:
            sim_datagram_loss(300)
            try await Task.sleep(for: long)
            sim_datagram_loss(0)
        case .cut:
            cut(own, peer)
            try await Task.sleep(for: long)
            heal(own, peer)
        case .longCut:
            cut(own, peer)
            // A silent link ends after 5 s, and the leaders wait for 4 s and up to two looks of a second.
            try await Task.sleep(for: .seconds(13))
            try await everybodyHears(after: "while n\(node + 1) and n\(other + 1) do not reach each other")
            try await Task.sleep(for: long)
            try await everybodyHears(after: "later while n\(node + 1) and n\(other + 1) do not reach each other")
            heal(own, peer)
        case .cutOneWay:
            sim_cut(own, peer, 1)
            try await Task.sleep(for: long)
            sim_cut(own, peer, 0)
        case .flap:
            for _ in 0..<Int.random(in: 3...15, using: &chance) {
                cut(own, peer)
                try await Task.sleep(for: .milliseconds(Int64.random(in: 50...2_000, using: &chance)))
                heal(own, peer)
                if Bool.random(using: &chance) { sim_reset(own, peer) }
                try await Task.sleep(for: .milliseconds(Int64.random(in: 50...2_000, using: &chance)))
            }
        case .fullDisk: try await disk(sim_disk_full, node, long)
        case .failingDisk:
            try await disk(sim_disk_failing, node, short)
            // After a sync that failed a node trusts its disk no more until it is started again.
            cluster.kill(node)
            try cluster.start(node)
        case .hangingDisk: try await disk(sim_disk_hanging, node, long)
        case .slowDisk:
            if let host = cluster.host(node) { sim_sync_time(host.number, 20_000_000) }
            try await Task.sleep(for: long)
            if let host = cluster.host(node) { sim_sync_time(host.number, plan.layout.syncNanoseconds) }
        case .olderDisk:
            cluster.kill(node)
            try cluster.keepCopy(of: node)
            try cluster.start(node)
            try await Task.sleep(for: short)
            cluster.kill(node, withMachine: true)
            try cluster.start(node, from: .copy)
        case .drain: try await takeOut(node, asking: other, isDrained: true)
        case .remove: try await takeOut(node, asking: other, isDrained: false)
        case .lostNode:
            let living = (0..<plan.layout.nodes).filter { $0 != node }
            // Sessions that an earlier fault has ended, and whose grace is not over, were known to the leader of then and to
            // this one: two nodes that die within a grace may take them along.
            try await everybodyIsCounted(at: Array(0..<plan.layout.nodes), "before n\(node + 1) dies")
            // Leaders that are new have told other replicas by then who is at their nodes.
            try await Task.sleep(for: .milliseconds(1_500))
            let counted = await countListeners(asking: living[0])
            cluster.kill(node, withMachine: true)
            try await nobodyVanishes(counted, asking: living[0], "after n\(node + 1) has died")
            try await everybodyIsCounted(at: living, "while n\(node + 1) is away")
            try cluster.start(node)
        case .transfer: try await transfer(&chance)
        case .reset: sim_reset(own, peer)
        case .skew:
            if let host = cluster.host(node) {
                sim_skew(host.number, Int64.random(in: -5_000_000_000...5_000_000_000, using: &chance))
            }
        }
    }

    /// The node is taken out of the cluster, and comes again without its data.
    private func takeOut(_ node: Int, asking other: Int, isDrained: Bool) async throws {
        let path = "/v1/cluster/nodes/n\(node + 1)"
        if isDrained {
            guard await asked("POST", "\(path)/drain", "", of: other) else { return }
            let end = SimulatedTime.now + .seconds(60)
            while await cluster.placements(asking: other).contains(where: {
                $0.replicas?.contains("n\(node + 1)") ?? true
            }) {
                guard SimulatedTime.now < end else {
                    return complain(.notDrained, "n\(node + 1) is not drained in 60 s")
                }
                try await Task.sleep(for: .milliseconds(200))
            }
            try await cluster.stop(node)
        } else {
            cluster.kill(node)
        }
        guard await asked("POST", "\(path)/remove", "", of: other),
            await asked("POST", "\(path)/readmit", "", of: other)
        else { return }
        try cluster.start(node, from: .nothing)
    }

    private func cut(_ one: UInt8, _ other: UInt8) {
        sim_cut(one, other, 1)
        sim_cut(other, one, 1)
    }

    private func heal(_ one: UInt8, _ other: UInt8) {
        sim_cut(one, other, 0)
        sim_cut(other, one, 0)
    }

    private func disk(_ state: sim_disk, _ node: Int, _ duration: Duration) async throws {
        guard let host = cluster.host(node) else { return }
        sim_disk(host.number, state)
        try await Task.sleep(for: duration)
        sim_disk(host.number, sim_disk_sound)
    }
}
