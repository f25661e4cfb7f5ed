import ChatModel
import Consensus
import RoomCore

/// What a script does to the nodes and sees of them; a node is named by its number.
extension ClusterSimulation {
    /// Everything asked for is done, and every group is where it belongs.
    package var isAtRest: Bool { isFinished }

    package func crashNode(_ number: Int) { crash(nodes[number]) }

    package func startNode(_ number: Int) {
        if !nodes[number].isUp { start(nodes[number]) }
    }

    /// Which messages of consensus are lost from now on, those under way too; nil: none. Asked when a message leaves and
    /// when it arrives.
    package func lose(_ isLost: ((RaftMessage) -> Bool)?) { loses = isLost }

    /// The running node that leads the group in the latest term.
    package func leader(of group: GroupID) -> Int? {
        nodes.filter { $0.isUp && $0.replicas[group]?.core.isLeader == true }
            .max { ($0.replicas[group]?.core.term ?? 0) < ($1.replicas[group]?.core.term ?? 0) }?.number
    }

    /// Gives a node's core a message as if the node that it names had sent it. What comes of it goes its way.
    package func inject(_ message: RaftMessage, at number: Int) {
        act(nodes[number], message.group) { $0.step(message) }
    }

    package func core(of group: GroupID, at number: Int) -> RaftGroup? { nodes[number].replicas[group]?.core }

    /// Proposes that many changes of the group's room. Returns what ``isApplied(_:of:)`` asks for.
    package func propose(_ count: Int, to group: GroupID, at number: Int) -> [Int] {
        let node = nodes[number]
        guard let replica = node.replicas[group], let user = UserID("u-\(number)") else { return [] }
        let numbers = (0..<count).map { place in
            let body = CommandBody.setMute(user, enable: place % 2 == 0, NotifyOptions(notify: false))
            proposals.append(
                .room(Command(id: nil, room: GroupState.room(of: group), actor: .system, body: body)))
            return proposals.count - 1
        }
        for proposal in numbers { _ = propose(proposal, replica, node) }
        act(node, group) { _ in }
        return numbers
    }

    /// Whether any replica has ever applied it.
    package func isApplied(_ proposal: Int, of group: GroupID) -> Bool {
        checkers.contains(proposal: proposal, in: group)
    }

    /// Checks what must hold at rest.
    package func end() { checkEnd() }
}
