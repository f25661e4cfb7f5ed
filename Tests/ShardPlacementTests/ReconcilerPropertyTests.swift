import ChatModel
import Consensus
import Testing

@testable import ShardPlacement

/// Nodes come, die, come back, lose their disks, drain and are removed, while one group follows its placement. A step
/// is checked against the rules when it is made; when the events end the group must be where it belongs.
@Suite struct ReconcilerPropertyTests {
    private struct World {
        struct Node {
            var listed: PlacementNode
            var isUp = true
            var downSince: UInt64?
        }

        var random: Seed
        var nodes: [String: Node] = [:]
        var membership: GroupMembership
        var leader: ServerID?
        /// When a learner will have everything.
        var completeAt: [ServerID: UInt64] = [:]
        var reconciler = Reconciler(.quick)
        var now: UInt64 = 0
        var steps = 0
        let group: GroupID

        init(_ seed: UInt64) {
            random = Seed(seed)
            group = random.chance(30) ? .system : GroupID(UInt16.random(in: 0..<16, using: &random))
            let first = ServerID(node: "n0", store: 1)
            nodes["n0"] = Node(listed: PlacementNode(server: first))
            membership = GroupMembership(voters: [first])
            leader = first
            completeAt[first] = 0
        }

        var listed: [PlacementNode] { nodes.values.map(\.listed) }
        /// Kept, because to find it takes longer than all the rest.
        private(set) var placement = GroupPlacement(ranking: [], voterCount: 0)
        private var placed: Set<PlacementNode> = []

        mutating func place() {
            guard placed != Set(listed) else { return }
            placed = Set(listed)
            if let found = Placement(nodes: listed, shardCount: 16).group(group) { placement = found }
        }

        func isUp(_ server: ServerID) -> Bool {
            guard let node = nodes[server.node] else { return false }
            return node.isUp && node.listed.server == server
        }

        func isComplete(_ server: ServerID) -> Bool { completeAt[server].map { $0 <= now } ?? false }

        func hasMajority(_ voters: [ServerID]) -> Bool { voters.count(where: isUp) > voters.count / 2 }

        var view: GroupView {
            let own = leader ?? membership.voters[0]
            let peers = (membership.voters + membership.learners).filter { $0 != own }.map { server in
                PeerStatus(
                    id: server, isVoter: membership.voters.contains(server), matchIndex: 0, isActive: isUp(server),
                    isCaughtUp: isUp(server))
            }
            let dead = nodes.compactMapValues(\.downSince)
            return GroupView(
                own: own, membership: membership, isSettled: true, peers: peers, placement: placement,
                complete: Set((membership.voters + membership.learners).filter(isComplete)), nodes: listed,
                deadSince: dead)
        }

        mutating func happen() {
            let name = "n\(Int.random(in: 0..<7, using: &random))"
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<3:
                // A removed node comes back with a new store only.
                if nodes[name] == nil {
                    let store = UInt64.random(in: 2..<1 << 40, using: &random)
                    nodes[name] = Node(
                        listed: PlacementNode(
                            server: ServerID(node: name, store: store), holdsData: !random.chance(20)))
                }
            case 3, 4: setUp(name, false)
            case 5, 6, 7: setUp(name, true)
            case 8: nodes[name]?.listed.isDraining = true
            case 9: nodes[name]?.listed.isDraining = false
            case 10:
                // A disk is lost where the others can do without.
                if let node = nodes[name], hasMajority(membership.voters.filter { $0.node != name } + absent(name)) {
                    nodes[name]?.listed.server = ServerID(node: name, store: node.listed.server.store &+ 1)
                }
            default:
                if nodes.count > 1, hasMajority(membership.voters.filter { $0.node != name } + absent(name)),
                    nodes.contains(where: { $0.key != name && $0.value.listed.holdsData })
                {
                    nodes[name] = nil
                }
            }
        }

        /// Stands for the voters of a node as ones that are down.
        private func absent(_ name: String) -> [ServerID] {
            membership.voters.filter { $0.node == name }.map { ServerID(node: "", store: $0.store) }
        }

        private mutating func setUp(_ name: String, _ isUp: Bool) {
            let downSince = nodes[name]?.downSince ?? now
            nodes[name]?.isUp = isUp
            nodes[name]?.downSince = isUp ? nil : downSince
        }

        mutating func elect() {
            if let current = leader, isUp(current), membership.voters.contains(current),
                hasMajority(membership.voters)
            {
                return
            }
            reconciler = Reconciler(.quick)
            leader = hasMajority(membership.voters) ? membership.voters.filter(isUp).randomElement(using: &random) : nil
        }

        mutating func turn(_ comment: Comment) {
            now += 10
            place()
            elect()
            guard leader != nil else { return }
            let view = view
            guard let step = reconciler.next(view, now: now) else { return }
            steps += 1
            check(step, view, comment)
            switch step {
            case .transferLeadership(let server):
                leader = server
                reconciler = Reconciler(.quick)
            case .change(.addLearner(let server)):
                membership.learners.append(server)
                completeAt[server] = now + UInt64.random(in: 0..<300, using: &random)
            case .change(.promote(let server)):
                membership.learners.removeAll { $0 == server }
                membership.voters.append(server)
            case .change(.remove(let server)):
                membership.learners.removeAll { $0 == server }
                membership.voters.removeAll { $0 == server }
                completeAt[server] = nil
            }
        }

        /// The rules of ARCHITECTURE.md, "Placement", written down once more.
        private func check(_ step: Reconciler.Step, _ view: GroupView, _ comment: Comment) {
            let (voters, learners) = (membership.voters, membership.learners)
            switch step {
            case .transferLeadership(let server):
                #expect(server != view.own && voters.contains(server) && isUp(server) && isComplete(server), comment)
                #expect(nodes[server.node]?.listed.isDraining == false || view.placement.ranking.contains(server))
            case .change(.addLearner(let server)):
                #expect(!voters.contains(server) && !learners.contains(server), comment)
                #expect(nodes[server.node]?.listed.server == server, comment)
            case .change(.promote(let server)):
                #expect(learners.contains(server) && isUp(server) && isComplete(server), comment)
                #expect(hasMajority(voters + [server]), comment)
                #expect(voters.count <= view.placement.voterCount, "one more than wanted at most")
            case .change(.remove(let server)):
                #expect(server != view.own, comment)
                guard voters.contains(server) else { return }
                #expect(hasMajority(voters.filter { $0 != server }), comment)
                let node = nodes[server.node]
                let isGone = node?.listed.server != server
                let downFor = node?.downSince.map { now - $0 } ?? 0
                let isToLeave = { (name: String) in nodes[name]?.listed.isDraining ?? true }
                if !isGone, !isToLeave(server.node), isUp(server) || downFor < 6_000 {
                    let leaving = voters.filter { $0 != view.own && !view.placement.ranking.contains($0) }
                    #expect(!leaving.contains { isToLeave($0.node) }, "those who are to leave go first: \(comment)")
                }
                let isByOperator = node == nil || node?.listed.isDraining == true
                if !isByOperator {
                    #expect(voters.count > view.placement.voterCount, "below the wanted number: \(comment)")
                }
                if !isGone, !isByOperator, view.placement.voters.contains(server) {
                    #expect(downFor >= 6_000, "dead for too short a time: \(comment)")
                }
            }
        }

        var isConverged: Bool {
            let wanted = Set(placement.voters)
            return Set(membership.voters) == wanted && Set(membership.learners) == placement.learners
                && leader == placement.voters.first
        }
    }

    @Test(arguments: Seed.seeds(50))
    func `a group comes to its placement and breaks no rule on the way`(seed: UInt64) {
        var world = World(seed)
        for turn in 0..<400 {
            if world.random.chance(8) { world.happen() }
            if world.random.chance(3) { world.now += UInt64.random(in: 0..<8_000, using: &world.random) }
            world.turn("SEED=\(seed) turn \(turn)")
        }
        // Peace: what is down comes back, what drains is gone or stays as it is.
        for name in world.nodes.keys.sorted() {
            world.nodes[name]?.isUp = true
            world.nodes[name]?.downSince = nil
        }
        for turn in 0..<300 where !world.isConverged { world.turn("SEED=\(seed) peace \(turn)") }
        let hasLeader = world.leader != nil
        #expect(
            world.isConverged || !hasLeader,
            "SEED=\(seed): \(world.membership) led by \(String(describing: world.leader)), wanted \(world.placement)")
    }
}
