/// The leadership of the system group as one node knows it at a moment: what a change waits for.
struct SystemLeadership: Equatable {
    var term: UInt64
    /// The node that leads; nil while none is known.
    var leader: String?
    /// Whether this node takes proposals.
    var takesProposals = false

    /// Whether a change that came to nothing under the former leadership may succeed under this one.
    func isWorthAnotherTry(after former: SystemLeadership) -> Bool {
        if takesProposals, !former.takesProposals { return true }
        return leader != nil && (term != former.term || leader != former.leader)
    }
}
