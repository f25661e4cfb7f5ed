import Consensus

/// The next step of a group's leader towards the group's placement: one step at a time, and nothing that could cost an
/// acked command or the majority. Ask it every second or so; a new leader begins with a new value.
///
/// A server is first a learner, then a voter, and only then goes whom it replaces. A step that the group refuses is
/// asked for again later.
public struct Reconciler: Sendable {
    /// Times in the ticks of `now`.
    public struct Configuration: Sendable, Hashable {
        /// After this a dead voter is replaced without an operator; 10 minutes of 100 ms.
        public var replaceAfterTicks: UInt64 = 6_000
        /// For this long the preferred leader must have been able to lead before it is given the leadership, and a
        /// hand-over that failed is not tried again; 15 seconds of 100 ms. A node that has handed over because it stops
        /// serves its clients for 10 seconds at most, and is gone by then.
        public var stableTicks: UInt64 = 150
        /// How often that time doubles while hand-overs to the same server fail; up to 10 minutes.
        public var doublingsMax = 6

        public init() {}
    }

    /// One step.
    public enum Step: Hashable, Sendable {
        /// For `RaftGroup.proposeMembership(_:)`.
        case change(MembershipChange)
        /// For `RaftGroup.transferLeadership(to:)`.
        case transferLeadership(to: ServerID)
    }

    /// Times.
    public let configuration: Configuration
    /// Since when the preferred leader could have led.
    private var stable: (server: ServerID, since: UInt64)?
    private var handedOverAt: UInt64?
    /// The last heir, and how often in a row it was asked to lead. The asker still leads, so all of these have failed.
    private var handedOver: (to: ServerID, times: Int)?

    public init(configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// The step to take now; nil when there is none, or when it must wait.
    /// - Parameter now: a clock in ticks that never goes back, the one of `GroupView.deadSince`.
    public mutating func next(_ view: GroupView, now: UInt64) -> Step? {
        let wanted = wantedVoters(view, now: now)
        noteStability(of: wanted.first, view, now: now)
        guard view.isSettled, !wanted.isEmpty else { return nil }
        let heir = heir(view, wanted: wanted, now: now)
        if let change = change(view, wanted: wanted, now: now), heir == nil || !isForHeir(change, view, now: now) {
            return .change(change)
        }
        guard let heir, handedOverAt.map({ now >= $0 &+ pause(before: heir, view, wanted) }) ?? true else { return nil }
        handedOverAt = now
        handedOver = (heir, handedOver?.to == heir ? (handedOver?.times ?? 0) + 1 : 1)
        return .transferLeadership(to: heir)
    }

    /// A preferred leader that may not lead (its disk is full, its clock is wrong) lets the offer pass, and meanwhile nothing
    /// is proposed here. So it is asked less and less often; but a leader that has to go asks on.
    private func pause(before heir: ServerID, _ view: GroupView, _ wanted: [ServerID]) -> UInt64 {
        guard let handedOver, handedOver.to == heir, wanted.contains(view.own) else { return configuration.stableTicks }
        return configuration.stableTicks << UInt64(min(handedOver.times - 1, configuration.doublingsMax))
    }

    // MARK: Who should be in the group

    /// The placement's voters, with others in place of those who have been dead for long, as far as there are others.
    private func wantedVoters(_ view: GroupView, now: UInt64) -> [ServerID] {
        let (voters, others) = (view.placement.voters, view.placement.ranking.dropFirst(view.placement.voterCount))
        var spares = others.filter { !view.isDead($0) }
        // One who stands in already stays.
        spares = spares.filter(view.membership.voters.contains) + spares.filter { !view.membership.voters.contains($0) }
        var standIns = spares[...]
        var wanted: [ServerID] = []
        for voter in voters where !isDeadForLong(voter, view, now: now) { wanted.append(voter) }
        for voter in voters where isDeadForLong(voter, view, now: now) { wanted.append(standIns.popFirst() ?? voter) }
        return wanted
    }

    private func isDeadForLong(_ server: ServerID, _ view: GroupView, now: UInt64) -> Bool {
        guard view.isDead(server), let since = view.deadSince[server.node] else { return false }
        return now >= since &+ configuration.replaceAfterTicks
    }

    // MARK: Members

    private func change(_ view: GroupView, wanted: [ServerID], now: UInt64) -> MembershipChange? {
        let (voters, learners) = (view.membership.voters, view.membership.learners)
        if let learner = learners.first(where: { !wanted.contains($0) && !view.placement.learners.contains($0) }) {
            return .remove(learner)
        }
        let missing = wanted.filter { !voters.contains($0) }
        if let learner = missing.first(where: { mayBePromoted($0, view, missing: missing) }) {
            return .promote(learner)
        }
        if let surplus = surplus(view, wanted: wanted, missing: missing, now: now) { return .remove(surplus) }
        let following = view.placement.learners.subtracting(voters).sorted()
        let newcomer = (missing + following).first { !learners.contains($0) && view.deadSince[$0.node] == nil }
        return newcomer.map { .addLearner($0) }
    }

    private func mayBePromoted(_ server: ServerID, _ view: GroupView, missing: [ServerID]) -> Bool {
        guard view.membership.learners.contains(server), view.isReady(server) else { return false }
        guard hasMajority(view, view.membership.voters + [server]) else { return false }
        // Two voters stop when either does: from one to three at once, unless the third is not to be had.
        guard view.membership.voters.count == 1, view.placement.voterCount > 2 else { return true }
        return missing.allSatisfy { view.isReady($0) || view.isDead($0) }
    }

    /// A voter that may go now: those first that never come back, then those that an operator wants out, then the silent.
    ///
    /// From three voters to one there are two for a moment, and nothing can be changed any more when one of them is lost
    /// for good. It must not be one that is to be stopped soon in any case: while such a one is among the surplus, one
    /// that stays is not removed before it, however silent it is at the moment.
    private func surplus(_ view: GroupView, wanted: [ServerID], missing: [ServerID], now: UInt64) -> ServerID? {
        let voters = view.membership.voters
        let mayShrink = missing.allSatisfy(view.isDead)
        let surplus = voters.filter { !wanted.contains($0) && $0 != view.own }.filter { server in
            // Below the wanted number only an operator gets it, and only if a replacement is not to be had.
            voters.count > wanted.count || (mayShrink && voters.count > 1 && view.isToLeave(server))
        }
        func order(_ server: ServerID) -> Int {
            if view.isGone(server) { return 0 }
            if isDeadForLong(server, view, now: now) { return 1 }
            if view.isToLeave(server) { return 2 }
            return view.isActive(server) ? 4 : 3
        }
        let isOneToLeave = surplus.contains { view.isGone($0) || view.isToLeave($0) }
        return surplus.sorted { (order($0), $0) < (order($1), $1) }.first { server in
            hasMajority(view, voters.filter { $0 != server })
                && !(isOneToLeave && stays(server, view, now: now))
        }
    }

    /// A leader on its way out does not remove one who stays: it would be among the few that are left. Its heir removes it
    /// first.
    private func isForHeir(_ change: MembershipChange, _ view: GroupView, now: UInt64) -> Bool {
        guard case .remove(let server) = change, view.membership.voters.contains(server) else { return false }
        return view.isToLeave(view.own) && stays(server, view, now: now)
    }

    /// It is counted on: nobody wants it out, and it has not been dead for so long that nobody waits for it.
    private func stays(_ server: ServerID, _ view: GroupView, now: UInt64) -> Bool {
        !view.isGone(server) && !view.isToLeave(server) && !isDeadForLong(server, view, now: now)
    }

    private func hasMajority(_ view: GroupView, _ voters: [ServerID]) -> Bool {
        voters.count { view.isActive($0) } > voters.count / 2
    }

    // MARK: Leadership

    private mutating func noteStability(of preferred: ServerID?, _ view: GroupView, now: UInt64) {
        guard let preferred, preferred != view.own, view.couldLead(preferred),
            !view.reachingFewer.contains(preferred.node)
        else { return stable = nil }
        if stable?.server != preferred { stable = (preferred, now) }
    }

    private func heir(_ view: GroupView, wanted: [ServerID], now: UInt64) -> ServerID? {
        func canLead(_ server: ServerID) -> Bool {
            server != view.own && view.couldLead(server)
        }
        // Clients of a node that this one does not reach are deaf to what it leads, wherever the group belongs.
        let reaching = wanted.filter { canLead($0) && view.reachingMore.contains($0.node) }
        // One that was asked and leads nothing may not lead: another one is asked first.
        if let heir = reaching.first(where: { $0 != handedOver?.to }) ?? reaching.first { return heir }
        if wanted.contains(view.own) {
            guard let stable, now >= stable.since &+ configuration.stableTicks, canLead(stable.server) else {
                return nil
            }
            return stable.server
        }
        // A leader that does not belong here leaves when the others are complete, or an operator wants it out and there
        // is nobody to wait for.
        let missing = wanted.filter { !view.membership.voters.contains($0) }
        guard missing.isEmpty || (view.isToLeave(view.own) && missing.allSatisfy(view.isDead)) else { return nil }
        let heirs = wanted.filter(canLead)
        return heirs.first { !view.reachingFewer.contains($0.node) } ?? heirs.first
    }
}
