import ChatModel
import Gossip
import RoomLink
import Sharding

/// Calls and publications between nodes.
extension ClusterSimulation {
    private func link(_ a: Int, _ b: Int) -> SimulatedLink { links[min(a, b) * nodes.count + max(a, b)] }

    private var pairs: [(Int, Int)] {
        nodes.indices.flatMap { a in nodes.indices.filter { a < $0 }.map { (a, $0) } }
    }

    func makeLinks() { links = (0..<nodes.count * nodes.count).map { _ in SimulatedLink() } }

    /// Dropped when the other is not reached: with the next connection all that matters is said anew.
    func sendOverLink(_ message: SimulatedLink.Message, from node: SimulatedNode, to: Int) {
        if node.number == to { return add(.local(message, at: to, run: node.run), in: .milliseconds(1)) }
        let link = link(node.number, to)
        guard link.ends.contains(node.number) else { return }
        checkers.holds(link.countUnderWay(to: to), atMost: Self.underWayMax, "parcels under way from \(node.name)")
        // TCP repeats what is lost.
        let delay = random.milliseconds(1...12) + (random.chance(lossPercent) ? .milliseconds(200) : .zero)
        let arrival = link.put(message, to: to, at: now + delay)
        add(.arrival(from: node.number, to: to, number: link.number), in: arrival - now)
    }

    func arrival(from: Int, to: Int, number: Int) {
        let link = link(from, to)
        guard link.number == number, link.ends.contains(to), nodes[to].isUp else { return }
        // Nothing is acknowledged either.
        guard !blocked.contains([from, to]), !blocked.contains([to, from]) else {
            return add(.arrival(from: from, to: to, number: number), in: .milliseconds(40))
        }
        if let message = link.take(to: to) { hear(message, from: from, at: nodes[to]) }
    }

    func hear(_ message: SimulatedLink.Message, from: Int, at node: SimulatedNode) {
        switch message {
        case .calls(let calls): for call in calls { receive(call, at: node) }
        case .node(let message): hear(message, from: from, at: node)
        }
    }

    // MARK: - Coming and going

    func checkLinks() {
        add(.linkCheck, in: .milliseconds(250))
        for (a, b) in pairs {
            let link = link(a, b)
            let works =
                [a, b].allSatisfy { nodes[$0].isUp && nodes[$0].stoppedAt == nil }
                && !blocked.contains([a, b]) && !blocked.contains([b, a])
            link.silentChecks = works ? 0 : link.silentChecks + 1
            if link.silentChecks > Self.silentChecksMax || (works && link.ends.count == 1) {
                // Each side notices for itself.
                for end in link.ends.sorted() where nodes[end].stoppedAt == nil && random.chance(60) {
                    linkEnded(at: nodes[end], with: end == a ? b : a)
                }
            } else if works, link.ends.isEmpty, random.chance(60) {
                link.begin(a, b)
                count("links")
                for (end, other) in [(a, b), (b, a)] { linkBegan(at: nodes[end], with: other) }
            }
        }
    }

    private func linkBegan(at node: SimulatedNode, with other: Int) {
        let notices = Self.groups.compactMap { notice(of: $0, at: node) }
        if !notices.isEmpty { sendOverLink(.node(.leads(notices)), from: node, to: other) }
    }

    func linkEnded(at node: SimulatedNode, with other: Int) {
        guard node.isUp, link(node.number, other).ends.remove(node.number) != nil else { return }
        node.lane.bodies.lost(id(of: other))
        isLost(other, nil, at: node)
        gossip(node) { $0.mayBeGone(SimulatedGossip.id(other), now: $1) }
        for group in Self.groups { lose(other, group, at: node) }
        endTurn(node)
    }

    /// The process is gone, and its ends with it.
    func dropLinks(of node: SimulatedNode) {
        for other in nodes.indices where other != node.number { link(node.number, other).ends.remove(node.number) }
    }

    /// 2 seconds and more: longer than an election takes, as in earnest.
    private static let silentChecksMax = 8
    private static let underWayMax = 2_000
}
